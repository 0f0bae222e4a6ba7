"""Rows are told apart by ids that are there once each."""

from rlconnect.v2.connectors.item_rows import DistinctIds


def test_a_list_that_was_edited_is_looked_at_again():
    """What was said of a list says nothing of what somebody made of it."""
    distinct, ids = DistinctIds(), ["e0", "e1", "e2"]

    first = distinct.hold(ids)
    ids[2] = "e0"
    edited = distinct.hold(ids)
    ids[2] = "e2"
    again = distinct.hold(ids)

    assert (first, edited, again) == (True, False, True)
    assert distinct.hold(["e1", "e3"])
    assert not distinct.hold(["e1", "e1"])
