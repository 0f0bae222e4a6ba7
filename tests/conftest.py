"""What every test runs under: one thread a process, a fixed random seed, no flaky examples.

Without torch, a test that imports it is skipped, and one that ends in the library's own word that
torch is missing; that word is asked for: an ImportError out of the library's code fails.
"""

import os
import sys
from importlib.abc import MetaPathFinder
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch or numpy is loaded

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from packaging.version import Version
from rlconnect.core.errors import MissingExtraError
from rlconnect.core.importing import lazy_names
from rlconnect.core.importing.torch_needed import has_torch

TESTS = str(Path(__file__).parent)
LAZY_NAMES = lazy_names.__file__

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
    """Skips the test, or the module of tests, whose own lines import torch or what needs it."""

    def find_spec(self, fullname, path, target=None):
        if fullname == "torch" and _imported_by_a_test(sys._getframe(1)):
            pytest.skip("torch is not installed", allow_module_level=True)


def _imported_by_a_test(frame):
    """Whether a line of a test asks for the module, be it through modules that import modules."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith((TESTS, "<doctest ")):
            return True
        is_import = "importlib" in code.co_filename or code.co_filename == LAZY_NAMES
        if not is_import and code.co_name != "<module>":
            return False
        frame = frame.f_back
    return False


if not has_torch():
    sys.meta_path.insert(0, _NoTorch())


def pytest_collectreport(report):
    """A module of tests that was skipped halfway is not there for others to import from."""
    if report.skipped:
        sys.modules.pop(report.nodeid.removesuffix(".py").replace("/", "."), None)


def _tells_of_torch(error):
    """Whether the library says that torch is missing, where it is."""
    return isinstance(error, MissingExtraError) and "needs torch" in error.summary


def _without_torch():
    """Skip what the library says it needs torch for."""
    try:
        return (yield)
    except MissingExtraError as missing:
        if has_torch() or not _tells_of_torch(missing):
            raise
        pytest.skip(missing.summary)


pytest_runtest_setup = pytest.hookimpl(wrapper=True)(_without_torch)
pytest_runtest_call = pytest.hookimpl(wrapper=True)(_without_torch)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Skip the module of tests that the library says it needs torch for."""
    report = yield
    raised = report.call.excinfo.value if report.failed else None
    if not has_torch() and _tells_of_torch(getattr(raised, "__cause__", None)):
        report.outcome, report.longrepr = "skipped", (str(collector.path), 1, str(raised.__cause__))
    return report


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator that gives the same numbers in every run."""
    return np.random.default_rng(2024)


def pytest_collection_modifyitems(items):
    """Skip what is marked for a newer torch, or `gpu` on a machine without one."""
    for item in items:
        for mark in item.iter_markers("torch"):
            if not has_torch():
                item.add_marker(pytest.mark.skip(reason="torch is not installed"))
            elif mark.args and Version(version("torch")) < Version(mark.args[0]):
                item.add_marker(pytest.mark.skip(reason=f"torch is older than {mark.args[0]}"))
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if not torch.cuda.is_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))
