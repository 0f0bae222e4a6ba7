"""What a teacher would do at each step, asked while a student plays and kept in its episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from typing_extensions import override

from ...core.arrays.batching import batch as batched
from ...core.columns import Columns
from ...core.errors import PieceError
from ...core.types import Array
from ...v2.config.connector_builders import custom_pieces
from ...v2.connectors.connector import ConnectorV2
from ...v2.connectors.module_to_env.unbatch_to_individual_items import UnBatchToIndividualItems
from ..actor.actor import Actor

TEACHER_INPUTS: Final = "teacher_action_dist_inputs"
"""The column with the inputs of the teacher's distribution of actions."""

TEACHER_VALUES: Final = "teacher_values"
"""The column with what the teacher thinks a step is worth; 0 where it has no values."""

_SHARPNESS: Final = 0.01
"""What action values are divided by, so that the best action has nearly all of the probability."""

_Q_VALUES: Final = ("q_values", "qf_preds")


class Teacher:
    """Answers for the last observations of episodes, each with its own memory.

    Args:
        actor: What acts; it sees what the environment gives.

    Attributes:
        has_values: Whether it says what steps are worth; None before the first answer.
    """

    def __init__(self, actor: Actor) -> None:
        self.actor = actor
        self.has_values: bool | None = None
        self._answers: dict[Any, tuple[Array, float]] = {}
        self._silence: tuple[Array, float] = (np.zeros(0, np.float32), 0.0)

    def ask(self, episodes: Sequence[Any]) -> None:
        """Let it look at the last observation of episodes; those that ended are forgotten.

        Raises:
            PieceError: It gives neither inputs of a distribution nor action values.
        """
        ended = [episode.id_ for episode in episodes if episode.is_done]
        if ended:
            self.actor.reset(ended)
            for id_ in ended:
                self._answers.pop(id_, None)
        running = [episode for episode in episodes if not episode.is_done]
        if not running:
            return
        seen = batched([episode.get_observations(-1) for episode in running])
        ids = [episode.id_ for episode in running]
        _, fetches = self.actor.act_and_fetch(seen, env_ids=ids)
        inputs = _inputs(fetches)
        values = fetches.get(Columns.VF_PREDS)
        self.has_values = values is not None
        worth = np.zeros(len(ids), np.float32) if values is None else np.asarray(values)
        self._silence = np.zeros_like(inputs[0]), 0.0
        self._answers.update(zip(ids, zip(inputs, worth.tolist(), strict=True), strict=True))

    def answer(self, id_: Any) -> tuple[Array, float]:
        """What it said of an episode's last observation; nothing of one that ended."""
        return self._answers.get(id_, self._silence)


class _OfTeacher(ConnectorV2):
    """A piece with a teacher.

    Args:
        teacher: The teacher.
    """

    def __init__(self, teacher: Teacher) -> None:
        super().__init__()
        self.teacher = teacher


class AskTeacher(_OfTeacher):
    """Shows a teacher what the environment gave; comes before all other pieces."""

    @override
    def __call__(
        self, *, batch: dict[str, Any], episodes: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        self.teacher.ask(episodes)
        return batch


class KeepAnswers(_OfTeacher):
    """Puts a teacher's answers beside a module's outputs: runners keep them in episodes."""

    @override
    def __call__(
        self, *, batch: dict[str, Any], episodes: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        for episode in episodes:
            inputs, worth = self.teacher.answer(episode.id_)
            for name, item in ((TEACHER_INPUTS, inputs), (TEACHER_VALUES, np.float32(worth))):
                self.add_batch_item(batch, name, item, episode)
        return batch


def with_teacher(config: Any, teacher: Teacher) -> None:
    """Let what samples by a config ask a teacher at every step; the config is changed."""
    before = config.copy(copy_frozen=False)

    def asking(*arguments: Any) -> list[Any]:
        pieces = custom_pieces(before, "env_to_module_connector", arguments)
        return [AskTeacher(teacher), *pieces]

    def keeping(*arguments: Any) -> list[Any]:
        pieces = custom_pieces(before, "module_to_env_connector", arguments)
        apart = [place for place, piece in enumerate(pieces) if _takes_apart(piece)]
        place = apart[-1] + 1 if apart else 0
        return [*pieces[:place], KeepAnswers(teacher), *pieces[place:]]

    config.env_runners(
        num_env_runners=0, env_to_module_connector=asking, module_to_env_connector=keeping
    )


def _takes_apart(piece: Any) -> bool:
    return isinstance(piece, UnBatchToIndividualItems)


def _inputs(fetches: dict[str, Any]) -> Array:
    if Columns.ACTION_DIST_INPUTS in fetches:
        return np.asarray(fetches[Columns.ACTION_DIST_INPUTS], np.float32)
    for name in _Q_VALUES:
        if name in fetches:
            values = np.asarray(fetches[name], np.float32)
            return np.asarray((values - values.max(-1, keepdims=True)) / np.float32(_SHARPNESS))
    raise PieceError(
        "the teacher does not say how likely its actions are",
        expected="inputs of a distribution, or action values",
        found=", ".join(fetches) or "actions alone",
        hint="teach by the checkpoint that it was exported from.",
    )
