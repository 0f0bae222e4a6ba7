"""The cells of the matrix install what pyproject.toml promises."""

import re

import pytest
from packaging.requirements import Requirement

from tests.matrix.cells import CELLS, PROJECT, ROOT, STEPS, answered_otherwise, lowest, requirements

WORKFLOW = ROOT / ".github" / "workflows" / "matrix.yml"


def test_the_lowest_cell_has_every_bound_as_it_is_stated():
    """Each direct dependency is there, at its lower bound and no other version."""
    wanted = map(Requirement, requirements(CELLS["lowest"]))
    bounds = {Requirement(line).name: line for line in PROJECT["dependencies"]}

    found = {each.name: str(each.specifier) for each in wanted}

    assert {name: found[name] for name in bounds} == {
        name: "==" + line.split(">=")[1].partition(";")[0] for name, line in bounds.items()
    }


def test_a_requirement_without_a_bound_is_refused():
    """Nobody could hold it to what it promises."""
    with pytest.raises(SystemExit, match="states no lower bound"):
        lowest("numpy")


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["FAIL a.case: one", "FAIL b.case: two", "7 passed, 2 failed"], {"a.case", "b.case"}),
        (["9 passed, 0 failed"], set()),
        (["FAIL a.case: one", "7 passed, 2 failed"], {"an unfinished log"}),
        (["FAIL a.case: one", "Segmentation fault"], {"an unfinished log"}),
        ([], {"an unfinished log"}),
    ],
)
def test_a_scoreboard_is_forgiven_only_what_it_names(lines, found):
    """A log that ends before its count, or counts more than it names, is forgiven nothing."""
    assert answered_otherwise(lines) == found


def test_only_one_cell_lacks_torch():
    """It lacks torch, and what brings torch along."""
    names = {Requirement(line).name for line in requirements(CELLS["no-torch"])}

    assert not names & {"torch", "onnx", "onnxruntime", "onnxscript"}
    assert [name for name, cell in CELLS.items() if not cell.has_torch] == ["no-torch"]


def test_the_workflow_runs_every_cell():
    """With the interpreter the cell wants, on Windows and macOS too."""
    text = WORKFLOW.read_text(encoding="utf-8")
    rows = re.findall(r'\{os: (\S+), cell: (\S+), python: "(\S+)"\}', text)

    assert {cell for _, cell, _ in rows} == {*CELLS}
    assert all(CELLS[cell].python == python for _, cell, python in rows)
    assert {os.split("-")[0] for os, _, _ in rows} == {"ubuntu", "windows", "macos"}


def test_the_workflow_runs_what_a_checkout_runs():
    """Its commands are those of the Makefile; nothing in it is of one machine."""
    text = WORKFLOW.read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = re.findall(r"- run: ([^#\n]+)", text)
    assert any(each.strip() == "bash .ci/run" for each in commands)
    commands += (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    makes = [each for each in commands if each.startswith("make ")]
    targets = [word for each in makes for word in each.split()[1:] if not word.startswith("-")]

    assert "tests/matrix/cells.py" in makefile
    assert {"lint", "types", "test"} <= {*targets}
    assert all(f"\n{target}:" in makefile for target in targets)
    assert not re.search(r"https?://|--(extra-)?index-url|/home/|/root/|/opt/|[A-Z]:\\\\", text)
    steps = {step for each in re.findall(r"--only (\S+)", text) for step in each.split(",")}
    assert steps <= {*STEPS}


def test_the_workflow_is_one_document():
    """Read as YAML it has what a workflow has."""
    yaml = pytest.importorskip("yaml")

    held = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))

    assert {"name", "jobs", "permissions"} <= {*held}
    for job in held["jobs"].values():
        assert {"runs-on", "steps"} <= {*job}
        assert all(len({"uses", "run"} & {*step}) == 1 for step in job["steps"])
        assert {*([job["needs"]] if "needs" in job else [])} <= {*held["jobs"]}
