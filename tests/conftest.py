"""What every test runs under: one thread a process, a fixed random seed, no flaky examples.

Without torch, whatever imports it is skipped; `test_small_installation.py` holds what is promised
there.
"""

import os
import sys
from importlib.abc import MetaPathFinder
from importlib.metadata import version

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch or numpy is loaded

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from packaging.version import Version
from rlconnect.core.importing.torch_needed import has_torch

settings.register_profile(
    "suite",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")


class _NoTorch(MetaPathFinder):
    """Skips the test, or the module of tests, that imports torch."""

    def find_spec(self, fullname, path, target=None):
        if fullname == "torch":
            pytest.skip("torch is not installed", allow_module_level=True)


if not has_torch():
    sys.meta_path.insert(0, _NoTorch())


def pytest_collectreport(report):
    """A module of tests that was skipped halfway is not there for others to import from."""
    if report.skipped:
        sys.modules.pop(report.nodeid.removesuffix(".py").replace("/", "."), None)


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator that gives the same numbers in every run."""
    return np.random.default_rng(2024)


def pytest_collection_modifyitems(items):
    """Skip what is marked for a newer torch, or `gpu` on a machine without one."""
    for item in items:
        for mark in item.iter_markers("torch"):
            if has_torch() and Version(version("torch")) < Version(mark.args[0]):
                item.add_marker(pytest.mark.skip(reason=f"torch is older than {mark.args[0]}"))
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if not torch.cuda.is_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))
