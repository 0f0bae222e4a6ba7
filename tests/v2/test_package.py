"""`rlconnect.v2`: light to import, every name where it says, torch only where torch is meant."""

import subprocess
import sys

import pytest
from rlconnect import v2

TORCHLESS = [
    "Catalog",
    "Checkpointable",
    "Columns",
    "DefaultModelConfig",
    "Distribution",
    "MLPEncoderConfig",
    "MultiRLModule",
    "MultiRLModuleSpec",
    "PPOCatalog",
    "RLModule",
    "RLModuleSpec",
    "Scheduler",
    "ValueFunctionAPI",
    "one_hot",
    "unbatch",
]


def loads_torch(code):
    script = f"import sys\n{code}\nprint('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip() == "True"


def test_the_package_loads_no_torch():
    """Importing it, and using what is not about torch, does without."""
    pytest.importorskip("torch")
    names = ", ".join(f"v2.{name}" for name in TORCHLESS)

    assert not loads_torch(f"from rlconnect import v2\n{names}\nv2.__all__")
    assert loads_torch("from rlconnect import v2\nv2.TorchCategorical")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("MultiAgentRLModule", "MultiRLModule"),
        ("MultiAgentRLModuleSpec", "MultiRLModuleSpec"),
        ("PPOTorchRLModule", "DefaultPPOTorchRLModule"),
        ("SingleAgentRLModuleSpec", "RLModuleSpec"),
    ],
)
def test_an_older_name_is_the_same_object(old, new):
    """Names of earlier releases lead to today's classes themselves."""
    assert getattr(v2, old) is getattr(v2, new)
