"""Every example in a docstring of `src` runs and prints what it says."""

import doctest
import importlib
from pathlib import Path

import pytest
from rlconnect.core.errors import MissingExtraError
from rlconnect.core.importing.torch_needed import has_torch

SRC = Path(__file__).parents[1] / "src"


def modules_with_examples():
    names = []
    for path in sorted(SRC.rglob("*.py")):
        if ">>> " in path.read_text(encoding="utf-8"):
            parts = ("rlconnect", *path.relative_to(SRC).with_suffix("").parts)
            names.append(".".join(parts).removesuffix(".__init__"))
    return names


@pytest.mark.parametrize("name", modules_with_examples())
def test_docstring_examples(name):
    """What a reader copies from a docstring works."""
    try:
        module = importlib.import_module(name)
    except MissingExtraError as missing:
        pytest.skip(missing.summary)
    except ModuleNotFoundError as missing:  # a module of the library's own about torch alone
        if missing.name != "torch" or has_torch():
            raise
        pytest.skip("torch is not installed")

    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    if not has_torch():  # what imports torch is skipped, see conftest.py
        try:
            doctest.testmod(module, optionflags=flags, raise_on_error=True)
        except doctest.UnexpectedException as error:
            raise error.exc_info[1] from None
        return

    result = doctest.testmod(module, optionflags=flags)

    assert result.attempted > 0
    assert result.failed == 0
