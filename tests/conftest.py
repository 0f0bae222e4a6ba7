"""What every test runs under: one thread a process, a fixed random seed, no flaky examples.

Without torch, a test is skipped that is marked `torch`, that uses what it imported of torch or of
what needs it, or that ends in the library's own word that torch is missing. That word is asked for:
an ImportError out of the library's code fails.
"""

import builtins
import functools
import gc
import os
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

from .in_memory import write_in_memory

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch or numpy is loaded

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from packaging.version import Version
from rlconnect.core.errors import MissingExtraError
from rlconnect.core.importing.torch_needed import has_torch

TESTS = str(Path(__file__).parent)
write_in_memory()

settings.register_profile(
    "suite",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")
# Or the constants of all modules that happen to be imported are among the examples, after six
# seconds of reading them: what a test draws would depend on the tests before it.
providers.is_local_module_file = lambda path: False


class _Missing:
    """Stands for torch, or what needs it, in a module of tests: whatever uses it is skipped."""

    def _skip(self, *_, **__):
        pytest.skip("torch is not installed", allow_module_level=True)

    __call__ = __getitem__ = __iter__ = __or__ = __enter__ = _skip
    __instancecheck__ = __subclasscheck__ = _skip

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    __name__ = "missing"

    def __repr__(self):
        return "missing"

    def __mro_entries__(self, bases):
        is_first = next(each for each in bases if isinstance(each, _Missing)) is self
        return (_MissingBase,) if is_first else ()


class _MissingBase:
    """The base of a class that needs torch."""

    def __new__(cls, *_, **__):
        pytest.skip("torch is not installed", allow_module_level=True)


def _import_without_torch(name, globals=None, locals=None, fromlist=(), level=0):
    """What a line of a test imports; `_Missing` where that needs torch. Others are left alone."""
    if not sys._getframe(1).f_code.co_filename.startswith((TESTS, "<doctest ")):
        return IMPORT(name, globals, locals, fromlist, level)
    try:
        return IMPORT(name, globals, locals, fromlist, level)
    except ImportError as error:
        if not _tells_of_torch(error):
            raise
    if not fromlist:
        return _Missing()
    return SimpleNamespace(**{each: _found(name, each) for each in fromlist})


def _found(module, name):
    try:
        home = import_module(module)
        return getattr(home, name) if hasattr(home, name) else import_module(f"{module}.{name}")
    except ImportError as error:
        if not _tells_of_torch(error):
            raise
        return _Missing()


def _tells_of_torch(error):
    """Whether it is the library's word that torch is missing, or Python's of torch itself."""
    if isinstance(error, MissingExtraError):
        return "needs torch" in error.summary
    return isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] == "torch"


IMPORT = builtins.__import__
if not has_torch():
    builtins.__import__ = _import_without_torch


def pytest_collectreport(report):
    """A module of tests that was skipped halfway is not there for others to import from."""
    if report.skipped:
        sys.modules.pop(report.nodeid.removesuffix(".py").replace("/", "."), None)


def _without_torch():
    """Skip what the library says it needs torch for."""
    try:
        return (yield)
    except MissingExtraError as missing:
        if has_torch() or not _tells_of_torch(missing):
            raise
        pytest.skip(missing.summary)
    except TypeError as error:
        if "_Missing" not in str(error):
            raise
        pytest.skip("torch is not installed")


pytest_runtest_setup = pytest.hookimpl(wrapper=True)(_without_torch)
pytest_runtest_call = pytest.hookimpl(wrapper=True)(_without_torch)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Skip the module of tests that the library says it needs torch for."""
    report = yield
    raised = report.call.excinfo.value if report.failed else None
    cause = getattr(raised, "__cause__", None)
    if not has_torch() and isinstance(cause, MissingExtraError) and _tells_of_torch(cause):
        report.outcome, report.longrepr = "skipped", (str(collector.path), 1, str(cause))
    return report


def pytest_collection_finish():
    """Tests and modules stay: the collector need not walk through them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)


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
    if marked and has_torch():
        import torch

        marked = [] if torch.cuda.is_available() else marked
    for item in marked:
        item.add_marker(pytest.mark.skip(reason="no CUDA device"))


@pytest.fixture(autouse=True)
def own_modules(request):
    """What a test imports of its own folder is forgotten after it: others have files so called."""
    if "tmp_path" not in request.fixturenames:
        yield
        return
    folder, before = str(request.getfixturevalue("tmp_path")), dict(sys.modules)
    yield
    for name, module in [*sys.modules.items()]:
        if before.get(name) is not module:
            where = getattr(module, "__dict__", {}).get("__file__")
            if isinstance(where, str) and where.startswith(folder):
                del sys.modules[name]


@pytest.fixture
def busy_threads():
    """Threads take turns far more often than usual: races that are rare come up."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


@pytest.fixture(scope="session")
def onnx_functions():
    """torch parses its functions for ONNX anew for every model; here the first time alone."""
    pytest.importorskip("onnxscript")
    registry = import_module("torch.onnx._internal.exporter._registration").ONNXRegistry
    with pytest.MonkeyPatch.context() as patch:
        once = staticmethod(functools.cache(registry.from_torchlib))
        patch.setattr(registry, "from_torchlib", once)
        yield


@pytest.fixture(scope="session")
def exported(onnx_functions, tmp_path_factory):
    """The program of a recorded policy of Ray 2.7.2, and its actor, by names of case and file."""

    from rlconnect.bridge import Actor, export_actor  # it loads torch's exporters

    from tests.legacy.replay import GOLDEN, Recording

    @functools.cache
    def written(case, ending):
        folder = GOLDEN / "legacy" / "2.7.2" / case
        actor = Actor.from_policy(Recording(folder).load("default_policy"))
        path = tmp_path_factory.mktemp("exported") / f"policy.{ending}"
        export_actor(actor, path)
        return path, actor

    return written
