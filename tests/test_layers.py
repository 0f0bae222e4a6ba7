"""The picture of the layers, held by reading every import in `src` without running it.

core <- legacy <- bridge, core <- v2 <- bridge; cli and the front door may import everything and
nobody imports them. Moving an arrow is a design decision: change it here, on purpose.
`tests/house/test_rooms.py` holds the picture inside each layer.
"""

import pytest

from tests.house.imports import imports, modules

MAY_IMPORT = {
    "core": {"core"},
    "names": {"names"},
    "legacy": {"core", "names", "legacy"},
    "v2": {"core", "names", "v2"},
    "bridge": {"core", "legacy", "v2", "offline", "bridge"},
    "compat": {"core", "names", "legacy", "v2", "bridge", "compat"},
    "offline": {"core", "legacy", "v2", "offline"},
    "adapters": {"core"},
    "ray_pieces": {"core", "v2", "bridge", "ray_pieces"},
    "samples": set(),
    "serve": {"core", "bridge", "serve"},
}
KEPT_PLACES = {"bridge.ray_aliases"}  # where a module lay that moved up: it hands on, nothing else
EVERYTHING = {"", "__main__", "cli"}  # "" is the front door, src/__init__.py

TORCH_IN_CORE = {
    "core.arrays.tensors",
    "core.formulas.initializers",
    "core.limits.weight_room",
    "core.nets",
    "core.rllib_utils.tensor_formulas",
    "core.step.tensor_step",
}
NEVER_TORCH = {"core.vault"}
RAY_ALLOWED = {"v2.distributed", "ray_pieces", "serve.ray_serve"}


def _within(module: str, names: set[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in names)


def violations(source: str, module: str, is_package: bool = False) -> list[str]:
    """What in this module's imports breaks the picture, one line each."""
    layer = module.split(".")[0]
    found = []
    for item in imports(source, module, is_package):
        where = f"{module or '__init__'}:{item.line}"
        if item.ours:
            target = item.target.split(".")[0]
            if not item.relative:
                found.append(f"{where} imports rlconnect.{item.target}, not relatively")
            may = {*MAY_IMPORT.get(layer, ()), *({"compat"} if module in KEPT_PLACES else ())}
            if layer not in EVERYTHING and target not in may:
                found.append(f"{where} {layer} imports {target or 'the front door'}")
            continue
        library = item.target.split(".")[0]
        if library == "ray" and not _within(module, RAY_ALLOWED):
            found.append(f"{where} imports ray")
        if library == "torch" and layer in {"core", ""}:
            if _within(module, NEVER_TORCH):
                found.append(f"{where} imports torch, which it never may")
            elif item.on_load and not _within(module, TORCH_IN_CORE):
                found.append(f"{where} loads torch on import")
    return found


def test_src_keeps_the_picture():
    """No module of ours imports against the arrows, absolutely, or torch and ray where barred."""
    found = [
        line
        for module, path in modules()
        for line in violations(path.read_text(encoding="utf-8"), module, path.name == "__init__.py")
    ]

    assert found == []


def test_every_layer_is_drawn():
    """A new folder or module at the top of `src` is given its place before it may import."""
    top = {module.split(".")[0] for module, _ in modules()}

    assert top - EVERYTHING <= set(MAY_IMPORT)
    assert set(MAY_IMPORT) <= top


@pytest.mark.parametrize(
    ("module", "source", "match"),
    [
        ("core.spaces", "from ..legacy import types", "core imports legacy"),
        ("core.spaces", "from .. import v2", "core imports v2"),
        ("core.spaces", "from .. import __version__", "core imports __version__"),
        ("core.spaces", "def f():\n    from ..bridge import plan", "core imports bridge"),
        ("core.vault.reader", "from ...cli.app import entry", "core imports cli"),
        ("core.a", "if TYPE_CHECKING:\n    from ..v2.config import C", "core imports v2"),
        ("core.a", "import_module('.legacy.types', 'rlconnect')", "core imports legacy"),
        ("legacy.agent.clip", "from ...v2 import config", "legacy imports v2"),
        ("legacy.policy", "from ..bridge import plan", "legacy imports bridge"),
        ("v2.modules.spec", "from ...legacy.names import x", "v2 imports legacy"),
        ("v2.config", "from ..cli import app", "v2 imports cli"),
        ("bridge.plan", "from ..cli import app", "bridge imports cli"),
        ("bridge.plan", "from .. import load", "bridge imports load"),
        ("bridge.plan", "from rlconnect.core import errors", "not relatively"),
        ("cli.app", "import rlconnect", "not relatively"),
        ("core.vault.reader", "def f():\n    import torch", "never may"),
        ("core.vault.reader", "if TYPE_CHECKING:\n    import torch", "never may"),
        ("core.spaces", "import torch.nn", "loads torch on import"),
        ("core.spaces", "try:\n    from torch import nn\nexcept ImportError: ...", "loads torch"),
        ("core.spaces", "class A:\n    import torch", "loads torch on import"),
        ("", "import torch", "loads torch on import"),
        ("legacy.policy", "def f():\n    from ray import rllib", "imports ray"),
        ("v2.config", "importlib.import_module('ray.rllib')", "imports ray"),
    ],
)
def test_the_checker_catches(module, source, match):
    """Each way of breaking the picture is seen, wherever in the file it hides."""
    assert any(match in line for line in violations(source, module))


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("core.vault.reader", "from ..errors import CheckpointError\nfrom . import layout"),
        ("legacy.agent.clip", "from ...core.errors import PieceError\nfrom ..types import A"),
        ("v2.episodes.base", "from ...core import nest"),
        ("bridge.steps.a", "from ...legacy import x\nfrom ...v2 import y\nfrom ..plan import z"),
        ("legacy.a.b", "import_module('..types', __package__)"),
        ("cli.app", "from .. import open_checkpoint\nfrom ..bridge import plan"),
        ("core.spaces", "def f():\n    import torch"),
        ("core.spaces", "if TYPE_CHECKING:\n    import torch"),
        ("core.nets", "import torch"),
        ("core.nets.dense", "from torch import nn"),
        ("legacy.policy", "import torch"),
        ("core.spaces", "import torchvision_like_name\nimport rayleigh"),
    ],
)
def test_the_checker_lets_pass(module, source):
    """What the picture allows is not reported."""
    assert violations(source, module) == []


def test_a_package_resolves_one_dot_to_itself():
    """In `core/__init__.py` one dot means core; in `core/errors.py` two dots mean the front."""
    assert violations("from .errors import SpaceError", "core", is_package=True) == []
    assert violations("from ..v2 import x", "core", is_package=True) == [
        "core:1 core imports v2",
    ]
