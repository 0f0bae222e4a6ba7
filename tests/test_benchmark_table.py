"""What the pages say of speed is what was measured last."""

import importlib
import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def table(monkeypatch):
    """`benchmarks/table.py`, as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    yield importlib.import_module("table")
    for name in [
        each
        for each in sys.modules
        if each in ("table", "regressions") or each.startswith("measure")
    ]:
        monkeypatch.delitem(sys.modules, name)


def test_page_and_chart_are_of_the_results(table):
    """`python benchmarks/table.py --draw` would change neither."""
    results = json.loads(table.RESULTS.read_text(encoding="utf-8"))

    assert table.PLACE.search(table.PAGE.read_text(encoding="utf-8"))[0] == table.table(results)
    assert table.CHART.read_text(encoding="utf-8") == table.chart.ratio_bars(results["rows"])
    assert [*results["rows"]] == [name for name, *_ in table.ROWS]
    assert "pictures/benchmarks.svg" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_without_ray_its_column_is_left_out(table):
    """And it is said why."""
    seconds = {"rlconnect": {"median": 0.002}, "numpy": {"median": 0.001}}
    row = {**table.facts_of(seconds), "command": "python benchmarks/legacy.py"}
    machine = {"processor": "", "cores": 2, "python": "3.11"}
    told = table.table({"date": "", "machine": machine, "rounds": 1, "rows": {"a step": row}})

    assert "| what | ours | limit |" in told
    assert "| a step | 2 ms | 0.5 x |" in told
    assert "Ray is left out: `RLC_RAY_PYTHON`" in told


def test_bars_are_as_long_as_their_logarithms(table):
    """From ours, at 1: ten times as long is as far as from ten to a hundred."""
    rows = {
        name: {"ray": ratio, "limit": None}
        for name, ratio in (("a", 10.0), ("b", 100.0), ("c", 0.1))
    }
    drawn = ElementTree.fromstring(table.chart.ratio_bars(rows))

    bars = [each for each in drawn.iter() if each.tag.endswith("rect")][1:]
    one, two, less = (float(each.get("width")) for each in bars)
    assert two == pytest.approx(2 * one, abs=0.2)
    assert less == pytest.approx(one, abs=0.2)
    assert float(bars[2].get("x")) < float(bars[0].get("x"))


def test_rows_are_cases_of_the_benchmarks(table):
    """Each names a script that is there, and a case of it."""
    for _, script, case in table.ROWS:
        text = (ROOT / "benchmarks" / f"{script}.py").read_text(encoding="utf-8")
        module = re.search(r"contest\.run\(args, \"(\w+)\"", text)
        if module is None:
            assert f'"{case}"' in text
        else:
            assert case in importlib.import_module(f"measure.{module[1]}").NAMES


def test_a_row_is_lost_where_every_round_took_longer(table, monkeypatch, capsys):
    """One quick round, and it is the machine; rows that one side cannot run are passed over."""
    regressions = importlib.import_module("regressions")
    monkeypatch.setattr(sys, "argv", ["regressions.py", "--against", "v0"])
    monkeypatch.setattr(regressions, "taken_out", lambda revision, folder: None)
    monkeypatch.setattr(regressions.old_policies, "write", lambda *given: None)
    found = {"iteration of PPO": [1.2, 1.3, 1.15], "LSTM": [1.4, 1.5, 1.05], "sampling in 64": None}

    def ratios(case, *given):
        name = next(row for row, _, its in table.ROWS if its == case)
        return next((each for key, each in found.items() if key in name), [1.0])

    monkeypatch.setattr(regressions, "ratios", ratios)

    assert regressions.main() == 1
    told = capsys.readouterr()
    assert told.err == "more than 10 % slower in each round: one iteration of PPO\n"
    assert "only one of both" in told.out
    found["iteration of PPO"] = [1.0]
    assert regressions.main() == 0
