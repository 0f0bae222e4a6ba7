"""`rlconnect convert`: a checkpoint in our own format, or recorded data in another form."""

from __future__ import annotations

import warnings
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from .options import PATH, Chosen, DryRun, Json, place_for
from .printing import print_json, show_lines

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..core.vault.convert import Conversion

_MOST_LINES: Final = 20


class DataForm(str, Enum):
    """What recorded data may be written as."""

    parquet = "parquet"
    json = "json"
    minari = "minari"


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
        _convert_data(path, out, to.value, as_json=as_json)
        return
    from ..core.vault.convert import convert as written

    with place_for(out, dry_run=dry_run) as place:
        conversion = replace(written(path, place, policies=chosen.ids), out=str(out))
    if as_json:
        print_json(conversion.as_data())
        return
    show_lines(*convert_page(conversion, dry_run=dry_run))


def _convert_data(path: str, out: Path, form: str, *, as_json: bool) -> None:
    """Write the data at a path in another form, and say how much it was."""
    from rich.text import Text

    from ..core.text.visible import visible
    from ..offline import DamagedDataWarning, open_dataset
    from .theme import progress_line

    data = open_dataset(path)
    done = 0
    with progress_line("steps") as shown, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", DamagedDataWarning)

        def progress(steps: int) -> None:
            nonlocal done
            done += steps
            shown(done, None)

        data.write(out, form, progress=progress)
    lost = [str(one.message) for one in warned if issubclass(one.category, DamagedDataWarning)]
    if as_json:
        print_json(
            {"out": str(out), "from": data.format, "to": form, "steps": done, "damaged": lost}
        )
        return
    show_lines(
        f"wrote {visible(str(out), 4000)}: {done:,} steps of {data.format} as {form}",
        *(Text(f"  {visible(line, 4000)}", "warn") for line in lost),
    )


def convert_page(conversion: Conversion, *, dry_run: bool = False) -> list[RenderableType]:
    """What was written, what was not kept, and how to open it."""
    from rich.text import Text

    from ..core.text.shell import shell_path
    from ..core.text.visible import visible
    from ..core.vault.next_steps import short_path

    names = ", ".join(visible(name) for name in conversion.names[:12]) or "no policy"
    lines: list[RenderableType] = [
        Text.assemble(
            ("would write " if dry_run else "wrote ", "good"),
            visible(conversion.out, 4000),
            f" ({conversion.size:,} bytes)",
        ),
        Text(f"  holds {names}; no pickle in it"),
        Text(f"  {conversion.arrays:,} arrays read back and compared, bit for bit"),
    ]
    if conversion.not_kept:
        lines.append(Text("  not kept:", "warn"))
    for problem in conversion.not_kept[:_MOST_LINES]:
        lines.append(Text(f"    {visible(problem.what)}", "warn"))
        lines.append(Text(f"      in {visible(problem.where)}", "label"))
    if len(conversion.not_kept) > _MOST_LINES:
        lines.append(
            Text(f"    and {len(conversion.not_kept) - _MOST_LINES} more: see --json", "label")
        )
    if not dry_run:
        shown = visible(shell_path(short_path(conversion.out)), 4000)
        lines += [Text("next", "label"), Text(f"  rlconnect inspect {shown}", "command")]
    return lines
