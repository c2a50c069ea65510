//! The colours of functions, by name alone: a function has the same colour in every view of every run.
//!
//! MPI has twelve tones of blue; the rest is green, yellow, brown, pink or violet. The tones were picked one by one,
//! each as far as possible (in OKLab, and as seen with deuteranopia and protanopia) from the previous ones and from the
//! colours of abnormal executions; all are visible on both canvases. If there are more functions than tones, some share
//! a tone.

use callgrove_model::FunctionName;
use egui::Color32;

/// Tones of MPI functions.
const MPI: [Color32; 12] = [
    Color32::from_rgb(0x00, 0x72, 0xB2),
    Color32::from_rgb(0x56, 0xB4, 0xE9),
    Color32::from_rgb(0xC9, 0xCF, 0xF2),
    Color32::from_rgb(0x7F, 0x7E, 0xE4),
    Color32::from_rgb(0x66, 0x8D, 0x9D),
    Color32::from_rgb(0x53, 0x55, 0x74),
    Color32::from_rgb(0x4E, 0x47, 0xA8),
    Color32::from_rgb(0x99, 0x9B, 0xBD),
    Color32::from_rgb(0x96, 0xBF, 0xD0),
    Color32::from_rgb(0x5D, 0x70, 0x8C),
    Color32::from_rgb(0x6A, 0x9C, 0xFB),
    Color32::from_rgb(0x55, 0x81, 0xC1),
];
/// Tones of all other functions.
const OTHER: [Color32; 20] = [
    Color32::from_rgb(0x00, 0x9E, 0x73),
    Color32::from_rgb(0xCC, 0x79, 0xA7),
    Color32::from_rgb(0xF5, 0xC7, 0x10),
    Color32::from_rgb(0x7D, 0xED, 0x9F),
    Color32::from_rgb(0x66, 0x58, 0x0C),
    Color32::from_rgb(0x65, 0xC2, 0x81),
    Color32::from_rgb(0x1B, 0x73, 0x5B),
    Color32::from_rgb(0x9D, 0xDA, 0xC4),
    Color32::from_rgb(0xCD, 0xDC, 0x74),
    Color32::from_rgb(0x80, 0x48, 0x93),
    Color32::from_rgb(0x9B, 0xD0, 0x78),
    Color32::from_rgb(0x7E, 0xAB, 0x89),
    Color32::from_rgb(0x97, 0x58, 0x73),
    Color32::from_rgb(0x7D, 0x5B, 0x40),
    Color32::from_rgb(0xA8, 0x86, 0xCF),
    Color32::from_rgb(0x79, 0xCA, 0xAF),
    Color32::from_rgb(0xD1, 0xB6, 0xF3),
    Color32::from_rgb(0x55, 0x87, 0x6A),
    Color32::from_rgb(0x9D, 0x51, 0xA7),
    Color32::from_rgb(0xF2, 0xA1, 0xCB),
];
/// Seed of the hash: the smallest number for which the most time-consuming MPI functions, and the functions of the
/// demo's trees, all have different colours.
const SEED: u32 = 1_532_382;

/// Returns the colour of a function with a full or short name.
pub(super) fn color_of(name: &str) -> Color32 {
    let name = FunctionName::parse(name);
    let tones = if name.is_mpi() { &MPI[..] } else { &OTHER[..] };
    tones[hash(name.short) as usize % tones.len()]
}

/// Returns FNV-1a with a final mix, the same on every machine and in every version.
fn hash(name: &str) -> u32 {
    let folded = name.bytes().fold(SEED, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let mixed = (folded ^ (folded >> 16)).wrapping_mul(0x85EB_CA6B);
    mixed ^ (mixed >> 13)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::theme::Theme;

    /// Linear red, green and blue, 0 to 1.
    type Light = [f32; 3];

    /// Colour perception with the two common kinds of colour blindness (Machado, Oliveira and Fernandes 2009, doi
    /// 10.1109/TVCG.2009.113, severity 1).
    const DEUTERANOPIA: [Light; 3] = [
        [0.367_322, 0.860_646, -0.227_968],
        [0.280_085, 0.672_501, 0.047_413],
        [-0.011_820, 0.042_940, 0.968_881],
    ];
    const PROTANOPIA: [Light; 3] = [
        [0.152_286, 1.052_583, -0.204_868],
        [0.114_503, 0.786_281, 0.099_216],
        [-0.003_882, -0.048_116, 1.051_998],
    ];

    fn light(color: Color32) -> Light {
        let rgba = egui::Rgba::from(color);
        [rgba.r(), rgba.g(), rgba.b()]
    }

    fn seen(by: &[Light; 3], light: Light) -> Light {
        by.map(|row| (row[0] * light[0] + row[1] * light[1] + row[2] * light[2]).clamp(0.0, 1.0))
    }

    /// Returns OKLab coordinates (Ottosson 2020), whose distances are about proportional to perceived ones.
    fn oklab([r, g, b]: Light) -> [f32; 3] {
        let l = (0.412_221_47 * r + 0.536_332_54 * g + 0.051_445_99 * b).cbrt();
        let m = (0.211_903_5 * r + 0.680_699_5 * g + 0.107_396_96 * b).cbrt();
        let s = (0.088_302_46 * r + 0.281_718_84 * g + 0.629_978_7 * b).cbrt();
        [
            0.210_454_26 * l + 0.793_617_8 * m - 0.004_072_047 * s,
            1.977_998_5 * l - 2.428_592_2 * m + 0.450_593_7 * s,
            0.025_904_037 * l + 0.782_771_77 * m - 0.808_675_77 * s,
        ]
    }

    fn distance(a: Light, b: Light) -> f32 {
        let [a, b] = [a, b].map(oklab);
        a.iter()
            .zip(b)
            .map(|(a, b)| (a - b).powi(2))
            .sum::<f32>()
            .sqrt()
    }

    #[test]
    fn a_function_has_one_colour_by_full_and_short_name() {
        let full = "LAMMPS_NS::PairEAM::compute(int, int) [{/lammps/src/pair_eam.cpp} {145,0}]";
        assert_eq!(color_of(full), color_of("PairEAM::compute"));
        assert_eq!(color_of("MPI_Wait()"), color_of("MPI_Wait"));
        // Golden values: a changed colour could not be matched with older pictures.
        assert_eq!(color_of("MPI_Wait"), MPI[3]);
        assert_eq!(color_of("PairEAM::compute"), OTHER[0]);
    }

    #[test]
    fn mpi_is_blue_and_its_common_functions_differ() {
        let names = [
            "MPI_Send",
            "MPI_Recv",
            "MPI_Isend",
            "MPI_Irecv",
            "MPI_Wait",
            "MPI_Waitall",
            "MPI_Allreduce",
            "MPI_Bcast",
            "MPI_Barrier",
            "MPI_Sendrecv",
            "MPI_Reduce",
            "MPI Collective Sync",
        ];
        let colors: BTreeSet<_> = names.iter().map(|name| color_of(name).to_array()).collect();
        assert_eq!(colors.len(), names.len());
        for [r, _, b, _] in colors {
            assert!(b > r, "{r} {b} is blue");
        }
    }

    #[test]
    fn tones_are_distinct_and_none_is_close_to_abnormal() {
        let all: Vec<Color32> = MPI.into_iter().chain(OTHER).collect();
        for (at, &tone) in all.iter().enumerate() {
            for &other in &all[..at] {
                let apart = distance(light(tone), light(other));
                assert!(apart > 0.05, "{tone:?} and {other:?}: {apart}");
            }
            for is_dark in [true, false] {
                let abnormal = light(Theme::new(is_dark, None).abnormal());
                let tone = light(tone);
                assert!(distance(tone, abnormal) > 0.15, "{tone:?}");
                for by in [&DEUTERANOPIA, &PROTANOPIA] {
                    let apart = distance(seen(by, tone), seen(by, abnormal));
                    assert!(apart > 0.08, "{tone:?}: {apart}");
                }
            }
        }
    }
}
