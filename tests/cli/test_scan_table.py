"""The table of checkpoints fits the terminal, whatever its width, and loses no verdict."""

import io

import pytest
from rich.console import Console
from rlconnect.cli.app import main
from rlconnect.cli.scan_table import ScanRow, lines_below, scan_rows, scan_table
from rlconnect.cli.theme import LEVEL_STYLES, THEME
from rlconnect.core.text.shell import shell_path

from ..core.vault.recorded import PENDULUM, RECORDINGS, WORKER, copy_of

LONG = "results/PPO_2023-05-01/PPO_MultiAgentWarehouse-v0_1a2b3_00000_0_lr=0.0001/checkpoint_000123"


def rows():
    """One row for each verdict, with long paths and names."""
    return [
        ScanRow(
            f"/runs/{LONG}_{i}",
            "PPO, 12 policies",
            "3.0.0.dev0",
            "1.1",
            "",
            12,
            10**9,
            level,
            level,
            "my.envs:Warehouse-v0",
            12,
            10**6,
            "2023-05-01 12:00",
        )
        for i, level in enumerate(LEVEL_STYLES)
    ]


def page(renderable, width):
    """What is printed on a terminal of a width."""
    out = Console(file=io.StringIO(), width=width, theme=THEME)
    out.print(renderable)
    return out.file.getvalue()


@pytest.mark.parametrize("width", [60, 80, 90, 100, 140, 200])
def test_the_table_fits(width):
    """No line is longer than the terminal, no verdict cut, no path lost."""
    text = page(scan_table("/runs", rows(), width=width), width)

    assert max(map(len, text.splitlines())) <= width
    assert all(level in text for level in LEVEL_STYLES)
    assert "".join(text.split()).count("checkpoint_000123") == len(LEVEL_STYLES)


def test_a_wide_terminal_shows_more():
    """Environment, training, date, layout and size come with the room for them."""
    narrow, middle, wide = (page(scan_table("/runs", rows(), width=w), w) for w in (80, 100, 180))

    assert "layout" not in narrow
    assert "steps" in middle
    assert "1,000,000,000" in wide
    assert "Warehouse-v0" in wide
    assert "2023-05-01 12:00" in wide


def test_reasons_stand_below_the_table():
    """Whatever is not complete says why, under its path; the command to copy is one line."""
    lines = [str(line) for line in lines_below("/runs", rows())]

    told = "\n".join(lines)
    assert told.count("checkpoint_000123") == len(LEVEL_STYLES) - 2 + 1
    assert lines[-1] == f"    rlconnect inspect /runs/{LONG}_0"


def test_nothing_found_is_said():
    """An empty list is a sentence, not an empty table."""
    assert "no checkpoint below /runs" in page(scan_table("/runs", []), 80)
    assert list(lines_below("/runs", [])) == []


def test_paths_are_quoted_for_the_shell():
    """Spaces, quotes and leading dashes are safe to paste."""
    assert shell_path("a b") == "'a b'"
    assert shell_path("-rf") == "./-rf"


def test_every_recording_is_found():
    """All checkpoints below a folder are found once, none of their parts by itself."""
    found = scan_rows(RECORDINGS, show_progress=False)

    paths = [row.path for row in found]
    assert len(paths) == len(set(paths)) == 38
    assert {row.level for row in found} == {
        "complete",
        "state only",
        "needs code",
        "weights only",
    }
    assert not any(a != b and a.startswith(f"{b}/") for a in paths for b in paths)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """What rlconnect writes: a migrated policy, and actors of one and of several."""
    from rlconnect import Actor, load, migrate

    folder = tmp_path_factory.mktemp("saved")
    policy = load(RECORDINGS / PENDULUM).only
    migrate(RECORDINGS / PENDULUM, out=folder / "migrated")
    triple = load(folder / "migrated").only
    Actor.from_policy({"old": policy, "new": triple}).save(folder / "several")
    Actor.from_policy({"new": triple}).save(folder / "one")
    return folder


def test_what_we_write_is_one_row_each(saved):
    """A migrated policy and a saved actor are one checkpoint, not a list of their parts."""
    found = {row.path.rpartition("/")[2]: row for row in scan_rows(saved, show_progress=False)}

    assert sorted(found) == ["migrated", "one", "several"]
    assert {row.level for row in found.values()} == {"complete"}
    assert found["several"].acting == 2


def test_a_saved_actor_shows_its_players(saved, capsys):
    """`inspect` tells of each player by its name, whichever stack it is of."""
    assert main(["inspect", str(saved / "several")]) == 0

    shown = capsys.readouterr().out
    assert "policy old" in shown
    assert "module new" in shown
    assert "Ray that left no version" not in shown


def test_checkpoints_below_checkpoints_are_listed(tmp_path):
    """Trials below a checkpoint, in its parts too, and older files beside the newest."""
    outer = copy_of(PENDULUM, tmp_path)
    copy_of(PENDULUM, outer / "tune" / "PPO_x")
    copy_of(PENDULUM, outer / "policies" / "extra")
    worker = copy_of(WORKER, tmp_path / "worker")
    (file,) = worker.glob("checkpoint-*[0-9]")
    file.with_name("checkpoint-1").write_bytes(file.read_bytes())

    rows = {row.path: row for row in scan_rows(tmp_path, show_progress=False)}

    held = {path.removeprefix(f"{tmp_path}/") for path in rows}
    assert held == {
        "checkpoint",
        "checkpoint/policies/extra/checkpoint",
        "checkpoint/tune/PPO_x/checkpoint",
        "worker/checkpoint",
        "worker/checkpoint/checkpoint-0",
    }
    assert rows[str(outer)].iterations is not None
    assert all(row.date.startswith("20") for row in rows.values())


def test_nothing_is_drawn_where_nobody_watches(monkeypatch, tmp_path):
    """rich 13.7 ends even a disabled progress bar with an empty line."""
    monkeypatch.setattr("rlconnect.cli.scan_table.Progress", None)

    assert scan_rows(tmp_path) == []
