"""Programs that several tests look at, written once a process."""

import functools
from importlib import import_module

import pytest

from tests.legacy.replay import GOLDEN, Recording


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

    @functools.cache
    def written(case, ending):
        folder = GOLDEN / "legacy" / "2.7.2" / case
        actor = Actor.from_policy(Recording(folder).load("default_policy"))
        path = tmp_path_factory.mktemp("exported") / f"policy.{ending}"
        export_actor(actor, path)
        return path, actor

    return written
