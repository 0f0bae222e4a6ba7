"""A dataset in another form: which writer makes it, and what of the data it is given."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from ...core.errors import ConfigError
from ...core.vault.own.atomic import replaced_file
from ...legacy.batches.multi_agent_batch import MultiAgentBatch
from ...legacy.batches.sample_batch import SampleBatch
from ...v2.episodes.single_agent import SingleAgentEpisode
from ...v2.recorded.episode_parquet import write_episode_file
from ..damaged import Damage
from ..readers.of_episodes import batch_of, batch_of_episode, is_number
from ..readers.old_episodes import NEXT_INFOS
from ..readers.old_reader import OldReader, parts_of
from .batch_lines import line_of
from .files import Folder, Progress
from .minari_files import write_minari

FORMATS: Final = ("parquet", "json", "minari")
STEPS_A_FILE: Final = 50_000


def write(
    reader: object,
    files: list[Any],
    episodes: Iterable[Any],
    path: Path,
    format: str,
    *,
    compress_columns: Collection[str] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write all of the data; see `Dataset.write`."""
    if format not in FORMATS:
        raise ConfigError(f"no format {format!r}", expected=", ".join(map(repr, FORMATS)))
    folder = Folder(path, {"format": format, "of": files})
    if format == "minari":
        write_minari(path, episodes, f"converted/{path.name}-v0", progress)
    elif format == "parquet":
        name = "episodes-{:06d}.parquet"
        folder.fill(name, episodes, write_episode_file, _rows_of, len, STEPS_A_FILE, progress)
    else:

        def write_lines(file: Path, batches: list[Any]) -> None:
            with replaced_file(file) as fresh:
                Path(fresh).write_bytes(
                    b"".join(line_of(batch, compress_columns) for batch in batches)
                )

        def steps_of(batch: Any) -> int:
            return int(batch.count)

        name, batches = "output-{:06d}.json", _batches(reader, episodes)
        folder.fill(name, batches, write_lines, _lines_of, steps_of, STEPS_A_FILE, progress)
    folder.finish()
    return path


def _batches(reader: object, episodes: Iterable[Any]) -> Iterator[SampleBatch | MultiAgentBatch]:
    """As they were recorded; ids that are texts stay texts."""
    if isinstance(reader, OldReader):
        damage = Damage()
        for batch, infos_come_after in reader.lines(damage):
            yield _with_later_infos(batch) if infos_come_after else batch
        damage.warn()
        return
    for number, episode in enumerate(episodes):
        batch = batch_of(episode, number, _with_last_info)
        id_ = str(episode.id_)
        if not is_number(id_):
            for part in parts_of(batch):
                part["eps_id"] = [id_] * len(part)
        yield batch


def _with_last_info(episode: SingleAgentEpisode, number: int) -> SampleBatch:
    batch = batch_of_episode(episode, number)
    last = episode.get_infos(len(episode))
    if last or episode.multi_agent_episode_id is not None:  # all agents of a policy alike
        batch[NEXT_INFOS] = [*[{}] * (len(episode) - 1), last]
    return batch


def _with_later_infos(batch: SampleBatch | MultiAgentBatch) -> SampleBatch | MultiAgentBatch:
    """A batch of before Ray 2.3, whose infos are those after the steps, as one of today."""
    for part in parts_of(batch):
        if "infos" in part:
            after = list(part["infos"])
            ids = part["eps_id"].tolist() if "eps_id" in part else [0] * len(after)
            part["infos"] = [
                after[row - 1] if row and ids[row] == ids[row - 1] else {}
                for row in range(len(after))
            ]
            part[NEXT_INFOS] = after
    return batch


def _rows_of(file: Path) -> int:
    from pyarrow import parquet

    return int(parquet.read_metadata(file).num_rows)


def _lines_of(file: Path) -> int:
    with file.open("rb") as lines:
        return sum(1 for _ in lines)
