#!/usr/bin/env python3
"""thin.py ORIGINAL_FOLDER: writes Hack-Regular.ttf and Ubuntu-Light.ttf without what the user interface does not read.

Needs fontTools 4.68. README.md says what is left out, and why.
"""

import pathlib
import sys

from fontTools import subset
from fontTools.ttLib import TTFont

# Tables of instructions, of widths at single sizes, and of signatures.
DROPPED = ["DSIG", "LTSH", "TTFA", "VDMX", "gasp", "hdmx"]
# Substitutions and positions that a text gets without asking for them. The others cannot be chosen in the window.
FEATURES = [
    *("ccmp", "locl", "rlig", "liga", "clig", "calt", "rclt"),
    *("frac", "numr", "dnom", "kern", "mark", "mkmk"),
]
# The licence of Ubuntu demands another name for a changed font.
NAMES = {
    "Hack-Regular": {},
    "Ubuntu-Light": {1: "Ubuntu Light derivative Callgrove", 4: "Ubuntu Light derivative Callgrove", 6: "Ubuntu-Light-derivative-Callgrove"},
}


def thin(original: pathlib.Path, output: pathlib.Path, names: dict[int, str]) -> None:
    """Writes a font with all characters of the original."""
    font = TTFont(original, recalcTimestamp=False)
    options = subset.Options(
        hinting=False,
        glyph_names=False,
        notdef_outline=True,
        layout_features=FEATURES,
        name_IDs=[0, 1, 2, 4, 6, 13, 14],
        recalc_timestamp=False,
    )
    options.drop_tables += DROPPED
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=font.getBestCmap())
    subsetter.subset(font)
    for record in font["name"].names:
        if record.nameID in names:
            record.string = names[record.nameID]
    font.save(output)


if __name__ == "__main__":
    fonts = pathlib.Path(__file__).parent / "fonts"
    for name, renamed in NAMES.items():
        thin(pathlib.Path(sys.argv[1]) / f"{name}.ttf", fonts / f"{name}.ttf", renamed)
