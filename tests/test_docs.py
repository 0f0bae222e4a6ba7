"""Python on the pages: what is imported is there, no deeper than need be, and begins well."""

import ast
import importlib
import re
import textwrap
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
SAMPLE = ROOT / "examples/checkpoints/ppo-cartpole-ray-2.60"
RECORDED = ROOT / "tests/golden/offline/2.60.0/json_box/data"
FRONTS = {
    "rlconnect",
    "rlconnect.adapters",
    "rlconnect.legacy",
    "rlconnect.offline",
    "rlconnect.serve",
    "rlconnect.v2",
    "rlconnect.v2.tuning",
}
# What has no front of its own: tools beside policies, and classes of warnings.
DEEPER = {
    "rlconnect.bridge": {
        "MigrationPlan",
        "compile_actor",
        "export_actor",
        "load_artifact",
        "plan_migration",
        "ray_aliases",
        "register_twin",
        "save_migrated",
        "to_ray",
    },
    "rlconnect.bridge.front": {"mlflow_flavour"},
    "rlconnect.core.errors": None,
    "rlconnect.core.step.part": None,
    "rlconnect.core.video": {"filmed", "frame_of"},
}
BLOCK = re.compile(r"^```python\n([\s\S]*?)^```|((?:^(?: {4}.*)?\n)+)", re.MULTILINE)


class WiderCartPole(gym.Env):
    """The environment that the pages adapt to: two features more, and an action more."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (6,), np.float32)
    action_space = gym.spaces.MultiDiscrete([2, 2])


def blocks(page):
    """The blocks of a page that import rlconnect."""
    found = [textwrap.dedent(fenced or indented) for fenced, indented in BLOCK.findall(page)]
    return [each.strip() for each in found if re.search(r"^(import|from) rlconnect", each, re.M)]


def imports(source):
    """(module, name) of what a block imports of rlconnect."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rlconnect"):
            yield from ((node.module, each.name) for each in node.names)
        elif isinstance(node, ast.Import):
            yield from ((each.name, None) for each in node.names if "rlconnect" in each.name)


BLOCKS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(blocks(page.read_text(encoding="utf-8")))
]
FIRST = [
    pytest.param(blocks((ROOT / "docs" / page).read_text(encoding="utf-8"))[0], id=page)
    for page in ("adapting.md", "legacy.md", "security.md", "v2.md")
]


@pytest.mark.parametrize("block", BLOCKS)
def test_what_a_page_imports_is_there(block):
    """Names come from where a user looks for them, and they are there."""
    for module, name in imports(block):
        home = importlib.import_module(module)

        assert name is None or hasattr(home, name) or importlib.import_module(f"{module}.{name}")
        assert module in FRONTS or DEEPER[module] is None or name in DEEPER[module]


@pytest.mark.parametrize("block", FIRST)
def test_the_first_example_of_a_page_runs(block, tmp_path, monkeypatch):
    """What a reader tries first works with a checkpoint and an environment in its places."""
    monkeypatch.chdir(tmp_path)
    source = block.replace("path/to/checkpoint", str(SAMPLE)).replace("2048", "256")  # sooner done
    source = source.replace("path/to/samples", str(RECORDED))
    place = {"observation": np.zeros(4, np.float32), "WiderCartPole": WiderCartPole}

    exec(source, {**place, "env": gym.make("CartPole-v1")})


def test_blocks_are_found_in_either_form():
    """Fenced and indented blocks are read whole; what does not import rlconnect is left out."""
    page = (
        "# x\n\n    import rlconnect\n\n    a = 1\n\nword\n\n    b\n\n"
        "```python\nfrom rlconnect import v2\n```\n"
    )

    assert blocks(page) == ["import rlconnect\n\na = 1", "from rlconnect import v2"]
