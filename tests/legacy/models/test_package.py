"""The package names its classes and loads them one by one."""

import subprocess
import sys

import pytest
from rlconnect.legacy import models


def test_every_name_is_there():
    """Each exported name leads to the class or function of that name."""
    assert models.__all__ == sorted(models.__all__)
    assert set(models.__all__) <= set(dir(models))
    for name in models.__all__:
        assert getattr(getattr(models, name), "__name__", name) == name


def test_unknown_name():
    """Another name is the usual error."""
    with pytest.raises(AttributeError, match="Nothing"):
        models.Nothing  # noqa: B018


def test_light_names_load_no_torch():
    """Defaults come without torch."""
    script = (
        "import sys; from rlconnect.legacy.models import MODEL_DEFAULTS, with_defaults\n"
        "assert 'torch' not in sys.modules"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, encoding="utf-8"
    )

    assert done.returncode == 0, done.stderr
