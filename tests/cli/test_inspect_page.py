"""The page on one checkpoint fits the terminal; what is to be copied is never wrapped."""

import dataclasses
import io

import pytest
from rich.console import Console
from rlconnect.cli.inspect_page import inspect_page, next_lines, weights_table
from rlconnect.cli.theme import THEME
from rlconnect.core.vault import ForeignReference, Problem
from rlconnect.core.vault.description import describe_checkpoint

from ..core.vault.recorded import MULTI_AGENT, NEW_ALGORITHM, PENDULUM, RECORDINGS, open_once


def page(checkpoint, width, **options):
    """The page as printed on a terminal of a width."""
    out = Console(file=io.StringIO(), width=width, theme=THEME, highlight=False)
    out.print(inspect_page(checkpoint, describe_checkpoint(checkpoint), width=width, **options))
    return out.file.getvalue()


@pytest.mark.parametrize("width", [60, 80, 100, 140])
@pytest.mark.parametrize("name", [PENDULUM, MULTI_AGENT, NEW_ALGORITHM])
def test_the_page_fits(name, width):
    """No line is longer than the terminal, with or without the table of weights."""
    text = page(open_once(RECORDINGS / name), width, with_weights=True)

    assert max(map(len, text.splitlines())) <= width


def test_commands_are_one_line_each():
    """However long a path is, its command is printed unbroken."""
    steps = [{"command": f"rlconnect inspect {'x' * 300} --json", "purpose": "see it"}]
    out = Console(file=io.StringIO(), width=80, theme=THEME)

    for line in next_lines(steps):
        out.print(line, soft_wrap=True)

    assert f"    {steps[0]['command']}" in out.file.getvalue().splitlines()


def test_a_new_stack_page_shows_its_pipelines():
    """Pieces in order and filter statistics are on the page, and whose code it names."""
    text = page(open_once(RECORDINGS / NEW_ALGORITHM), 140)

    assert "obs → MeanStdFilter → AddObservationsFromEpisodesToBatch" in text
    assert "over 70 observations" in text
    assert "warehouse_pieces.normalise" in text


def test_long_lists_are_cut_and_counted():
    """Hundreds of references and problems do not bury the page; --json has them all."""
    checkpoint = dataclasses.replace(
        open_once(RECORDINGS / PENDULUM),
        foreign=tuple(ForeignReference(f"shop.C{i}", "class or function", "x") for i in range(99)),
        problems=tuple(Problem(f"f{i}", "is odd", "look", "damaged") for i in range(99)),
        skipped=tuple(f"s{i}" for i in range(99)),
    )

    text = page(checkpoint, 100)

    assert text.count("and 87 more: see --json") == 3
    assert len(text.splitlines()) < 120


def test_numbers_nobody_can_write_out_are_told():
    """A counter of twenty thousand bits is told by its size."""
    checkpoint = dataclasses.replace(
        open_once(RECORDINGS / PENDULUM), training_iteration=1 << 20_000
    )

    assert "an integer of 20,001 bits iterations" in page(checkpoint, 100)


@pytest.mark.parametrize(("width", "is_told"), [(95, False), (96, True)])
def test_wide_terminals_show_mean_and_spread(width, is_told):
    """The column and its numbers come together, and only where there is room."""
    weights = next(iter(open_once(RECORDINGS / PENDULUM).acting.values())).weights
    table = weights_table(weights, width=width)

    assert ("mean ± spread" in [column.header for column in table.columns]) is is_told
    for column in table.columns:
        assert all(str(cell) for cell in column.cells)
    assert any("±" in str(cell) for c in table.columns for cell in c.cells) is is_told
