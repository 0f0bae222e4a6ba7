"""How many env runners a group has, and how they are."""

from __future__ import annotations

from typing import Any


class RunnerCounts:
    """Counts a group's env runners; RLlib's older names for a count give the same number.

    Attributes:
        local_env_runner: The runner in this process, or None.
    """

    local_env_runner: Any = None
    _actors: Any = None

    def num_runners(self) -> int:
        """How many there are, the local one included."""
        return (self.local_env_runner is not None) + self.num_remote_env_runners()

    def num_remote_env_runners(self) -> int:
        """How many run beside."""
        return 0 if self._actors is None else len(self._actors)

    def num_healthy_remote_env_runners(self) -> int:
        """How many of those that run beside are alive."""
        return 0 if self._actors is None else int(self._actors.num_healthy)

    def num_healthy_env_runners(self) -> int:
        """How many are alive, the local one included."""
        return (self.local_env_runner is not None) + self.num_healthy_remote_env_runners()

    def healthy_env_runner_ids(self) -> list[int]:
        """Give the indices of those that run beside and are alive."""
        return [] if self._actors is None else list(self._actors.indices)

    def num_remote_worker_restarts(self) -> int:
        """How often a remote runner was replaced."""
        return 0 if self._actors is None else int(self._actors.num_restarts)

    def num_env_runners_dropped_lifetime(self) -> int:
        """How many remote runners were given up."""
        return 0 if self._actors is None else int(self._actors.num_dropped)

    def num_in_flight_async_reqs(self, tag: str | None = None) -> int:
        """How many calls wait for an answer; none between two samples."""
        return 0

    def fault_tolerance(self) -> dict[str, int]:
        """Give what results tell of runners that were lost."""
        return {
            "num_healthy_workers": self.num_healthy_remote_env_runners(),
            "num_remote_worker_restarts": self.num_remote_worker_restarts(),
            "num_env_runners_dropped_lifetime": self.num_env_runners_dropped_lifetime(),
        }

    def in_flight(self) -> dict[str, int]:
        """Give what results tell of calls that wait."""
        return {"actor_manager_num_outstanding_async_reqs": self.num_in_flight_async_reqs()}

    num_remote_workers = num_remote_env_runners
    num_healthy_remote_workers = num_healthy_remote_env_runners
    num_healthy_workers = num_healthy_env_runners
    healthy_worker_ids = healthy_env_runner_ids
