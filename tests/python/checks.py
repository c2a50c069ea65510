"""Checks of the installed package callgrove. Started by tests/python.rs: checks.py EXAMPLE ROWS.CSV FOLDER."""

import csv
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import warnings

import duckdb
import pandas
import polars
import pyarrow

import callgrove

EXAMPLE, ROWS, FOLDER = sys.argv[1:4]
FUNCTION = "PairEAM::compute"
FOLDER = pathlib.Path(FOLDER)


def as_text(value):
    """The text of a value in a file of comma-separated values."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def check_rank(run):
    """Every library of tables reads the rows that `callgrove analyze --format csv` prints."""
    with open(ROWS, newline="") as file:
        header, *expected = csv.reader(file)
    table = run.rank()
    assert table.columns == header, (table.columns, header)
    assert len(table) == len(expected)
    rows = pyarrow.table(table).to_pylist()
    numeric = {"score", "p_value"}
    for row, line in zip(rows, expected, strict=True):
        for (name, value), text in zip(row.items(), line, strict=True):
            if name in numeric and value is not None:
                assert float(text) == value, (name, value, text)
            else:
                assert as_text(value) == text, (name, value, text)
    as_polars = polars.DataFrame(table)
    assert as_polars.to_dicts() == rows
    ranked = table
    as_duckdb = duckdb.sql("from ranked").fetchall()
    assert ranked is table
    assert as_duckdb == [tuple(row.values()) for row in rows]
    as_pandas = pandas.DataFrame.from_arrow(table) if hasattr(pandas.DataFrame, "from_arrow") else table.to_pandas()
    assert as_pandas.tree.tolist() == [row["tree"] for row in rows]
    assert as_pandas.score.tolist() == [row["score"] for row in rows]
    metadata = pyarrow.table(table).schema.metadata
    assert metadata[b"callgrove.table"] == b"trees" and metadata[b"callgrove.unit.entry_us"] == b"us"
    assert table.units == {"entry_us": "us", "exit_us": "us"}
    assert table.name == "trees" and "trees: " in repr(table) and "<table>" in table._repr_html_()
    return rows


def check_contents(run):
    """Calls, messages and events agree with each other."""
    calls = pyarrow.table(run.calls())
    assert calls.num_rows == run.num_calls == len(run.calls())
    assert run.calls().units["duration_ns"] == "ns"
    on_rank = pyarrow.table(run.calls(rank=1))
    assert 0 < on_rank.num_rows < calls.num_rows and set(on_rank["rank"].to_pylist()) == {1}
    named = pyarrow.table(run.calls(function=FUNCTION))
    executions = pyarrow.table(run.executions(FUNCTION))
    assert named.num_rows == executions.num_rows == len(run.calls(function=FUNCTION))
    assert sorted(named["duration_ns"].to_pylist()) == sorted(executions["duration_ns"].to_pylist())
    messages = run.messages()
    assert pyarrow.table(messages).num_rows == len(messages) > 0 and messages.units["size_bytes"] == "bytes"
    events = pyarrow.table(run.events())
    assert events.num_rows == len(run.events()) <= 2 * calls.num_rows
    times = events["Timestamp (ns)"].to_pylist()
    assert times == sorted(times)
    stacks = {}
    for kind, name, thread, rank in zip(*(events[it].to_pylist() for it in ["Event Type", "Name", "Thread", "Process"])):
        stack = stacks.setdefault((rank, thread), [])
        if kind == "Enter":
            stack.append(name)
        else:
            assert stack.pop() == name
    # A stream is made anew for each reader.
    table = run.messages()
    assert pyarrow.table(table).equals(pyarrow.table(table))


def check_answers(run, rows):
    incidents = pyarrow.table(run.incidents())
    assert incidents.num_rows > 0 and incidents.schema.metadata[b"callgrove.unit.delay_us"] == b"us"
    assert len(run.causes(all=True)) == len(rows) >= len(run.causes())
    assert len(run.patterns()) > 0
    tree = run.tree(rows[0]["tree"])
    assert tree.event_id == rows[0]["event_id"] and run.tree(tree.event_id).name == tree.name
    text = str(tree)
    assert rows[0]["tree"] in text and tree.reasons[0] in text and " ms" in text, text
    lines = pyarrow.table(tree.table()).to_pylist()
    assert lines[0]["inclusive_ns"] == tree.duration_ns and len(lines) == len(tree)
    assert "4 ranks" in repr(run) and " calls, " in repr(run)
    for call, words in [
        (lambda: run.tree("#9-9"), "no judged execution is #9-9"),
        (lambda: run.calls(function="no such function"), "no such function"),
        (lambda: run.rank("no such function"), "no such function"),
    ]:
        try:
            call()
        except callgrove.Error as error:
            assert words in str(error), error
        else:
            raise AssertionError(words)


def check_labels(rows):
    """Labels survive a process that is killed, and the model file is one of the commands'."""
    tree = rows[0]["tree"]
    kill = f"""
import os, signal, callgrove
run = callgrove.open({EXAMPLE!r}, {FUNCTION!r})
run.label({tree!r}, "normal")
os.kill(os.getpid(), signal.SIGKILL)
"""
    killed = subprocess.run([sys.executable, "-c", kill], check=False)
    assert killed.returncode == -signal.SIGKILL, killed
    with callgrove.open(EXAMPLE, FUNCTION) as run:
        assert run.labels() == {tree: "normal"}, run.labels()
        assert run.train() == 1
        after = pyarrow.table(run.rank()).to_pylist()
        labelled = [row for row in after if row["tree"] == tree]
        assert labelled[0]["label"] == "normal" and not labelled[0]["abnormal"]
        run.label(tree, None)
        assert run.labels() == {}
        run.save_model(FOLDER / "model.json")
        assert (FOLDER / "model.json").stat().st_size > 0
        try:
            run.label(tree, "odd")
        except ValueError as error:
            assert "odd" in str(error)
        else:
            raise AssertionError("a wrong label was accepted")
    try:
        run.rank()
    except callgrove.Error as error:
        assert "closed" in str(error)
    with callgrove.open(EXAMPLE, FUNCTION, labels="read") as reading:
        try:
            reading.label(tree, "normal")
        except callgrove.Error as error:
            assert "labels=" in str(error)
        else:
            raise AssertionError("a label was accepted that is not stored")


def check_progress():
    """Progress is reported, another thread runs meanwhile, and exceptions of the callback come out."""
    seen = []
    callgrove.open(EXAMPLE, FUNCTION, labels="ignore", progress=lambda stage, part: seen.append((stage, part))).close()
    assert seen and all(stage and 0 <= part <= 1 for stage, part in seen), seen
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    begin = time.monotonic()
    callgrove.open(EXAMPLE, FUNCTION, labels="ignore").close()
    duration = time.monotonic() - begin
    stop.set()
    counter.join()
    # With the lock held, the other thread would not run at all.
    assert counted[0] >= 5 or duration < 0.02, (counted, duration)

    def fail(stage, part):
        raise LookupError(stage)

    try:
        callgrove.open(EXAMPLE, FUNCTION, labels="ignore", progress=fail)
    except LookupError:
        pass
    else:
        raise AssertionError("the exception of the callback was lost")


def check_interrupt():
    """Ctrl+C raises KeyboardInterrupt, and the process goes on."""
    # A process in the background of a shell ignores the signal from its start, and Python then sets no handler.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt(stage, part):
        os.kill(os.getpid(), signal.SIGINT)

    try:
        callgrove.open(EXAMPLE, FUNCTION, labels="ignore", progress=interrupt)
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("SIGINT did not interrupt")
    callgrove.open(EXAMPLE, FUNCTION, labels="ignore").close()


def check_errors():
    try:
        callgrove.open(FOLDER / "missing")
    except FileNotFoundError as error:
        assert "missing" in str(error)
    else:
        raise AssertionError("a missing run was opened")
    (FOLDER / "text.txt").write_text("no trace")
    try:
        callgrove.open(FOLDER / "text.txt")
    except callgrove.Error as error:
        assert "text.txt" in str(error)
    else:
        raise AssertionError("a text was opened as a run")
    damaged = FOLDER / "damaged.csv"
    damaged.write_text(
        "Timestamp (ns),Event Type,Name,Process,Thread\n0,Enter,f,0,0\n5,Leave,f,0,0\n6,Leave,g,0,0\n7,Enter,f,0,0\n9,Leave,f,0,0\n"
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        callgrove.open(damaged, labels="ignore").close()
    assert any(issubclass(it.category, callgrove.DataWarning) for it in caught), caught


def main():
    run = callgrove.open(EXAMPLE, FUNCTION, labels="ignore")
    rows = check_rank(run)
    check_contents(run)
    check_answers(run, rows)
    run.to_perfetto(FOLDER / "run.pftrace")
    assert (FOLDER / "run.pftrace").stat().st_size > 0
    run.close()
    check_labels(rows)
    check_progress()
    check_interrupt()
    check_errors()
    print("all checks passed")


main()
