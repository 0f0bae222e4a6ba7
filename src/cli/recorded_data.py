"""Recorded data in commands: observations of it, and all of it in another form."""

from __future__ import annotations

import warnings
from enum import Enum
from pathlib import Path
from typing import Any, Final

from ..core.errors import ConfigError
from ..core.text.visible import visible


class DataForm(str, Enum):
    """What recorded data may be written as."""

    parquet = "parquet"
    json = "json"
    minari = "minari"


_OURS: Final = (".npy", ".npz", ".msgpack")


def observations_in(data: Path | None) -> Any:
    """What `verify(observations=...)` takes for a file or folder of `--data`; None for none.

    Raises:
        CheckpointError: Nothing can be read there.
        ConfigError: It holds episodes of several agents.
    """
    if data is None or data.suffix in _OURS or (data.is_dir() and any(data.glob("*.msgpack"))):
        return data
    from ..offline import open_dataset

    courses = []
    for episode in open_dataset(data).episodes():
        if hasattr(episode, "agent_episodes"):
            raise ConfigError(
                f"{data} holds episodes of several agents",
                hint="give those of one agent, as an .npz of its observations.",
            )
        courses.append([episode.get_observations(place) for place in range(len(episode) + 1)])
    return courses


def convert_data(path: str, out: Path, form: str, *, as_json: bool) -> None:
    """Write the data at a path in another form, and say how much it was."""
    from ..offline import DamagedDataWarning, open_dataset
    from .options import print_json
    from .progress import progress_line
    from .theme import console

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
    page = console()
    what = f"{done:,} steps of {data.format} as {form}"
    page.print(f"wrote {visible(str(out), 4000)}: {what}", soft_wrap=True)
    for each in lost:
        page.print(f"  {visible(each, 4000)}", style="warn", soft_wrap=True)
