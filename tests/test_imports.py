"""`import rlconnect` is light: held here, measured in benchmarks/import_time.py."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.typing import stubs

SRC = Path(__file__).parents[1] / "src"
HEAVY = {"torch", "ray", "typer", "click", "rich", "pandas", "scipy", "safetensors", "optree"}
TORCH_FILES = {
    ("arrays", "tensors"),
    ("formulas", "initializers"),
    ("limits", "weight_room"),
    ("rllib_utils", "tensor_formulas"),
    ("step", "tensor_step"),
}


def loaded_by(code):
    """The modules that running `code` in a fresh interpreter brings in."""
    script = (
        "import sys; before = set(sys.modules)\n"
        f"{code}\n"
        "import json; print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def heavy(modules):
    return {name.split(".")[0] for name in modules} & HEAVY


def test_the_front_door_loads_nothing_heavy():
    """`import rlconnect` brings neither torch nor Ray, nor what only the terminal needs."""
    modules = loaded_by("import rlconnect")

    assert heavy(modules) == set()
    assert "gymnasium" not in modules


def test_the_front_door_is_a_handful_of_modules():
    """Beside numpy and Python itself, which anyone has loaded anyway, little comes along."""
    alone = loaded_by("import numpy, difflib, json, typing, dataclasses")

    extra = loaded_by("import rlconnect") - alone

    assert len(extra) <= 40, sorted(extra)


def test_opening_a_checkpoint_needs_no_torch():
    """The vault reads files without torch, and without the terminal's libraries."""
    modules = loaded_by("import rlconnect; rlconnect.open_checkpoint")

    assert "rlconnect.core.vault" in modules
    assert not heavy(modules) & {"torch", "ray", "typer", "click", "rich", "pandas", "scipy"}


def test_core_but_for_its_torch_files_needs_no_torch():
    """Not one module of core loads torch or Ray on import, apart from the few that are about it."""
    names = []
    for path in sorted((SRC / "core").rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        if parts[1] != "nets" and parts[1:] not in TORCH_FILES:
            names.append(".".join(("rlconnect", *parts)).removesuffix(".__init__"))

    modules = loaded_by("\n".join(f"import {name}" for name in names))

    assert not heavy(modules) & {"torch", "ray", "pandas", "scipy"}


SAMPLE = SRC / "samples" / "ppo-pendulum-ray-2.7"


@pytest.mark.torch
def test_loading_a_policy_imports_few_modules():
    """A bare load of an old policy imports at most 250 of our modules, and no readers of data."""
    modules = loaded_by(f"import rlconnect; rlconnect.load({str(SAMPLE)!r})")

    ours = {name for name in modules if name.partition(".")[0] == "rlconnect"}
    assert "rlconnect.legacy.policy.policy" in ours
    assert len(ours) <= 250, len(ours)
    assert not {name for name in ours if name.startswith("rlconnect.offline")}


def test_verifying_and_migrating_load_no_readers_of_data():
    """Readers of recorded data are imported when a file of recorded data is read."""
    modules = loaded_by("import rlconnect.bridge.migrate.plan, rlconnect.bridge.proof.verify")

    assert not {name for name in modules if name.startswith("rlconnect.offline")}


@pytest.mark.parametrize("heavy_import", ["import torch", "import rich.console"])
def test_the_probe_sees_what_is_heavy(heavy_import):
    """The probe of these tests does notice a heavy library when one is loaded."""
    pytest.importorskip(heavy_import.split()[1])
    assert heavy(loaded_by(heavy_import)) != set()


@pytest.mark.parametrize("front", stubs.FRONTS)
def test_type_checkers_read_what_the_tables_say(front):
    """The stub of a package with lazy names is made of its table; `make stubs` makes it again."""
    path, text = stubs.stub(front)

    assert path.read_text(encoding="utf-8") == text


def test_type_checkers_read_what_settings_there_are():
    """What each method of a config takes is made of the tables of settings, by `make stubs`."""
    assert stubs.KEYWORDS.read_text(encoding="utf-8") == stubs.keywords()


def test_every_package_of_lazy_names_is_typed():
    """A package whose table is all there is has a stub, or no type checker would know its names."""
    tables = {
        path.parent
        for path in SRC.rglob("__init__.py")
        if "\n_HOME" in path.read_text(encoding="utf-8")
    }

    assert tables == {SRC / front.replace(".", "/") for front in stubs.FRONTS}
