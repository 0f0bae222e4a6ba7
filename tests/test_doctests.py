"""Every example in a docstring of `src` runs and prints what it says."""

import doctest
import importlib
from pathlib import Path

import pytest
from rlconnect.core.errors import MissingExtraError

SRC = Path(__file__).parents[1] / "src"


def modules_with_examples():
    names = []
    for path in sorted(SRC.rglob("*.py")):
        if ">>> " in path.read_text():
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

    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)

    assert result.attempted > 0
    assert result.failed == 0
