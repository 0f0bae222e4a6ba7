"""What bytes are by how they begin."""

import pytest
from rlconnect.core.vault.audit.wrappings import starts_pickle


@pytest.mark.parametrize(
    ("head", "is_pickle"),
    [
        (b"\x80\x02N", True),
        (b"\x80\x05N", True),
        (b"\x80\x04", False),
        (b"\x80\x01N", False),
        (b"\x80\x06N", False),
        (b"cos\nsystem\n", True),
        (b"(S'x'\nios\nsystem\n", True),
        (b"(dp0\n.", False),
        (b"a text\n", False),
        (b"", False),
    ],
)
def test_a_pickle_is_told_by_its_first_bytes(head, is_pickle):
    """A protocol that names may follow, and at least one opcode; or the text of a name itself."""
    assert starts_pickle(head) is is_pickle
