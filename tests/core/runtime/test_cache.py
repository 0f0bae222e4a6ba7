"""A dict that makes what it is asked for."""

from rlconnect.core.runtime.cache import LastFew


def test_only_the_last_few_are_kept():
    """Whatever is asked for is made, and little of it kept."""
    known = LastFew(lambda key: key * 2)

    assert [known[each] for each in range(100)] == list(range(0, 200, 2))
    assert len(known) < 10


def test_what_is_kept_is_not_made_again():
    """The same key gets the same value."""
    known = LastFew(lambda key: [key])

    assert known[1] is known[1]
