"""Ray Core for what runs in its processes; without Ray all of it is skipped."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """Ray Core on this machine, for all tests of a file."""
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()
