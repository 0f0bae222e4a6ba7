"""Packages that fetch their names on first use."""

import sys

import pytest
import rlconnect.core
from rlconnect.core.importing.lazy_names import lazy_names


def test_a_name_is_fetched_once():
    """The package keeps what was fetched, under the name it was asked by."""
    fetch, names = lazy_names("rlconnect.core", {"Wrong": ".errors:SpaceError"})

    fetched = fetch("Wrong")

    assert fetched is rlconnect.core.Wrong is sys.modules["rlconnect.core.errors"].SpaceError
    assert "Wrong" in names()
    del rlconnect.core.Wrong


def test_another_name_is_no_attribute():
    """The error is the one of any module."""
    fetch, _ = lazy_names("rlconnect.core", {})

    with pytest.raises(AttributeError, match=r"module 'rlconnect\.core' has no attribute 'Wrong'"):
        fetch("Wrong")


def test_dir_shows_what_one_writes_code_with():
    """Names kept for old sources are fetched like any other, and shown to nobody."""
    fetch, names = lazy_names(
        "rlconnect.core", {"Unfit": ".errors:SpaceError"}, {"Gone": ".errors:PieceError"}
    )

    assert fetch("Gone") is sys.modules["rlconnect.core.errors"].PieceError
    assert {name for name in names() if not name.startswith("__")} == {"Unfit"}
    del rlconnect.core.Gone
