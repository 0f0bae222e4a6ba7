"""What a replay buffer tells of itself, by RLlib's keys."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping
from typing import Any

from ...core.columns import DEFAULT_AGENT_ID, DEFAULT_MODULE_ID
from ..metrics import names
from ..metrics.metrics_logger import MetricsLogger

Parts = Mapping[Hashable, float]
"""Numbers by agent, or by module."""


class BufferCounts:
    """Counts what comes, goes and is drawn: in all, by agent and by module.

    Args:
        window: Over how many adds and samples means are taken.

    Example:
        >>> counts = BufferCounts()
        >>> counts.log("steps_added", 5, has_lifetime=True)
        >>> counts.reduce(compile=True)["num_agent_steps_added"]
        {'default_agent': 5}
    """

    def __init__(self, window: int = 100) -> None:
        self._window = window
        self._logger = MetricsLogger()
        self._sums: dict[tuple[str, bool], float] = {}
        self._notes: dict[tuple[str, ...], deque[float]] = {}

    def log(
        self,
        what: str,
        whole: float,
        by_agent: Parts | None = None,
        by_module: Parts | None = None,
        *,
        has_lifetime: bool = False,
    ) -> None:
        """Add to sums.

        Args:
            what: "episodes_added", "steps_sampled" and so on.
            whole: The number in all.
            by_agent: That of each agent; the whole for the only one.
            by_module: That of each module.
            has_lifetime: Whether a sum that lasts is kept, too.
        """
        if by_agent is None and by_module is None:
            key = what, has_lifetime
            self._sums[key] = self._sums.get(key, 0) + whole
        else:
            self._log(what, whole, by_agent, by_module, has_lifetime)

    def _log(
        self,
        what: str,
        whole: float,
        by_agent: Parts | None,
        by_module: Parts | None,
        has_lifetime: bool,
    ) -> None:
        is_of_envs = what.startswith("steps")
        keys = [("num_env_" if is_of_envs else "num_") + what, "num_agent_" + what]
        keys.append("num_module_" + what)
        for key, part, value in _parts(keys, whole, by_agent, by_module):
            self._logger.log_value(part or key, value, reduce="sum")
            if has_lifetime:
                lasting = f"{key}_lifetime"
                path = (lasting, part[1]) if part else lasting
                self._logger.log_value(path, value, reduce="lifetime_sum")

    def note(
        self,
        keys: tuple[str, ...],
        whole: float,
        by_agent: Parts | None = None,
        by_module: Parts | None = None,
    ) -> None:
        """Add to means.

        Args:
            keys: That of the whole, of agents and of modules; or the first alone.
            whole: The number in all.
            by_agent: That of each agent; the whole for the only one.
            by_module: That of each module.
        """
        if by_agent is None and by_module is None:
            if keys not in self._notes:
                self._notes[keys] = deque(maxlen=self._window)
            self._notes[keys].append(whole)
        else:
            self._note(keys, whole, by_agent, by_module)

    def _note(
        self,
        keys: tuple[str, ...],
        whole: float,
        by_agent: Parts | None,
        by_module: Parts | None,
    ) -> None:
        for key, part, value in _parts(keys, whole, by_agent, by_module):
            self._logger.log_value(part or key, value, reduce="mean", window=self._window)

    def reduce(self, **settings: Any) -> dict[str, Any]:
        """Give what was counted, as of `MetricsLogger.reduce`."""
        sums, self._sums = self._sums, {}
        for (what, has_lifetime), total in sums.items():
            self._log(what, total, None, None, has_lifetime)
        notes, self._notes = self._notes, {}
        for keys, values in notes.items():
            for value in values:
                self._note(keys, value, None, None)
        return self._logger.reduce(**settings)


N_STEP_KEYS = (names.ACTUAL_N_STEP, names.AGENT_ACTUAL_N_STEP, names.MODULE_ACTUAL_N_STEP)
UTILIZATION_KEYS = (
    names.ENV_STEP_UTILIZATION,
    names.AGENT_STEP_UTILIZATION,
    names.MODULE_STEP_UTILIZATION,
)


def _parts(
    keys: Any, total: float, by_agent: Parts | None, by_module: Parts | None
) -> list[tuple[str, Any, float]]:
    parts: list[tuple[str, Any, float]] = [(keys[0], None, total)]
    of_one = ({DEFAULT_AGENT_ID: total}, {DEFAULT_MODULE_ID: total})
    for key, by_id, one in zip(keys[1:], (by_agent, by_module), of_one, strict=False):
        parts += [(key, (key, id_), value) for id_, value in (by_id or one).items()]
    return parts
