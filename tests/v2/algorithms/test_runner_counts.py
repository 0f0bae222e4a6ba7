"""What a group of env runners tells of how many there are."""

from __future__ import annotations

from types import SimpleNamespace

from rlconnect.v2.algorithms.env_runner_group import RunnerCounts


def test_a_group_counts_its_runners_under_all_names() -> None:
    """The local runner counts among all; those beside count by what the actors tell."""
    group = RunnerCounts()
    nobody = group.fault_tolerance(), group.num_runners(), group.healthy_worker_ids()
    group.local_env_runner = object()
    group._actors = _Actors(
        indices=[1, 3], num_healthy=2, num_restarts=4, num_dropped=1, num_failures=3
    )

    assert nobody == (
        {
            "num_healthy_workers": 0,
            "num_remote_worker_restarts": 0,
            "num_env_runners_dropped_lifetime": 0,
            "num_env_runner_failures_lifetime": 0,
        },
        0,
        [],
    )
    assert group.num_runners() == group.num_healthy_env_runners() == 3
    assert group.num_healthy_workers() == 3
    assert group.num_remote_workers() == group.num_healthy_remote_workers() == 2
    assert group.healthy_env_runner_ids() == [1, 3]
    assert list(group.fault_tolerance().values()) == [2, 4, 1, 3]


class _Actors(SimpleNamespace):
    def __len__(self) -> int:
        return len(self.indices)
