"""`rlconnect convert`: a checkpoint in our own format, or recorded data in another form."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from .options import PATH, Chosen, DryRun, Json
from .printing import print_json, show_lines
from .recorded_data import DataForm, convert_data

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..core.vault.convert import Conversion


def convert(
    path: Annotated[str, PATH],
    target: Annotated[
        Path | None, typer.Argument(metavar="[OUT]", help="The same as --out.", show_default=False)
    ] = None,
    *,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The folder or .zip to make.")
    ] = None,
    to: Annotated[
        DataForm | None,
        typer.Option("--to", help="PATH is recorded data, written in this form."),
    ] = None,
    chosen: Chosen,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Write a copy of a checkpoint in our own format: no pickle in it, every array bit for bit.

    The copy is read back and compared before it is put in place. What it does not hold, code of
    the author above all, is listed.

    With `--to` PATH is recorded data (RLlib's samples of any release, Minari's): it is written as
    episodes in Parquet, as JSON lines of the old stack, or as a dataset of Minari. Interrupted, the
    same command goes on.
    """
    out = out or target
    if out is None:
        raise typer.BadParameter("name what is to be made: --out DIR")
    if to is not None:
        if dry_run or chosen.ids:
            raise typer.BadParameter("--to takes neither --dry-run nor --policy")
        convert_data(path, out, to.value, as_json=as_json)
        return
    from ..core.vault.convert import convert as written

    with TemporaryDirectory() as folder:
        target = Path(folder, out.name) if dry_run else out
        found = replace(written(path, target, policies=chosen.ids), out=str(out))
    if as_json:
        print_json(found.as_data())
        return
    show_lines(*convert_page(found, dry_run=dry_run))


def convert_page(found: Conversion, *, dry_run: bool = False) -> list[RenderableType]:
    """What was written, what was not kept, and how to open it."""
    from rich.text import Text

    from ..core.text.shell import shell_path
    from ..core.text.visible import visible
    from ..core.vault.next_steps import short_path

    names = ", ".join(visible(name) for name in found.names[:12]) or "no policy"
    lines: list[RenderableType] = [
        Text.assemble(
            ("would write " if dry_run else "wrote ", "good"),
            visible(found.out, 4000),
            f" ({found.size:,} bytes)",
        ),
        Text(f"  holds {names}; no pickle in it"),
        Text(f"  {found.arrays:,} arrays read back and compared, bit for bit"),
    ]
    if found.not_kept:
        lines.append(Text("  not kept:", "warn"))
    for problem in found.not_kept[:_MOST_LINES]:
        lines.append(Text(f"    {visible(problem.what)}", "warn"))
        lines.append(Text(f"      in {visible(problem.where)}", "label"))
    if len(found.not_kept) > _MOST_LINES:
        lines.append(Text(f"    and {len(found.not_kept) - _MOST_LINES} more: see --json", "label"))
    if not dry_run:
        shown = visible(shell_path(short_path(found.out)), 4000)
        lines += [Text("next", "label"), Text(f"  rlconnect inspect {shown}", "command")]
    return lines


_MOST_LINES = 20
