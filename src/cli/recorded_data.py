"""Recorded data in commands: all of it in another form."""

from __future__ import annotations

import warnings
from enum import Enum
from pathlib import Path

from ..core.text.visible import visible
from .printing import print_json, show_lines


class DataForm(str, Enum):
    """What recorded data may be written as."""

    parquet = "parquet"
    json = "json"
    minari = "minari"


def convert_data(path: str, out: Path, form: str, *, as_json: bool) -> None:
    """Write the data at a path in another form, and say how much it was."""
    from rich.text import Text

    from ..offline import DamagedDataWarning, open_dataset
    from .progress import progress_line

    data = open_dataset(path)
    done = 0
    with progress_line("steps") as shown, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", DamagedDataWarning)

        def progress(steps: int) -> None:
            nonlocal done
            done += steps
            shown(done, None)

        data.write(out, form, progress=progress)
    lost = [str(each.message) for each in told if issubclass(each.category, DamagedDataWarning)]
    if as_json:
        print_json(
            {"out": str(out), "from": data.format, "to": form, "steps": done, "damaged": lost}
        )
        return
    show_lines(
        f"wrote {visible(str(out), 4000)}: {done:,} steps of {data.format} as {form}",
        *(Text(f"  {visible(each, 4000)}", "warn") for each in lost),
    )
