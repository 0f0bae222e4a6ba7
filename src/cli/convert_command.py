"""`rlconnect convert`: a copy of a checkpoint in our own format, without a pickle in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import Json, print_json

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..core.vault.convert import Conversion


def convert(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH", help="A checkpoint: a folder, a checkpoint-<n> file, .zip or URL."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder or .zip to make.")],
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", metavar="ID", help="Only this policy or module; repeatable."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All policies, which is the default.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a copy of a checkpoint in our own format: no pickle in it, every array bit for bit.

    The copy is read back and compared before it is put in place. What it does not hold, code of
    the author above all, is listed.
    """
    from ..core.vault.convert import convert as written

    found = written(path, out, policies=None if everything or not policy else policy)
    if as_json:
        print_json(found.as_data())
        return
    from .theme import console

    out_ = console()
    for line in convert_page(found):
        out_.print(line, soft_wrap=True)


def convert_page(found: Conversion) -> list[RenderableType]:
    """What was written, what was not kept, and how to open it."""
    from rich.text import Text

    from ..core.vault.description import short_path
    from ..core.visible import visible
    from .scan_table import shell_path

    names = ", ".join(visible(name) for name in found.names[:12]) or "no policy"
    lines: list[RenderableType] = [
        Text.assemble(("wrote ", "good"), visible(found.out, 4000), f" ({found.size:,} bytes)"),
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
    shown = visible(shell_path(short_path(found.out)), 4000)
    lines += [Text("next", "label"), Text(f"  rlconnect inspect {shown}", "command")]
    return lines


_MOST_LINES = 20
