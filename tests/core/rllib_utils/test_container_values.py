"""Lists, dicts and classes under RLlib's names."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.rllib_utils.container_values import (
    LambdaDefaultDict,
    NullContextManager,
    add_mixins,
    flatten_dict,
    unflatten_dict,
)

NESTED = st.recursive(
    st.integers(),
    lambda inner: st.dictionaries(st.text("abc", min_size=1, max_size=3), inner, min_size=1),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), NESTED))
def test_flat_dicts_are_undone(nested):
    """What was flattened comes back, as long as no dict was empty."""
    assert unflatten_dict(flatten_dict(nested)) == nested


def test_mixed_in_classes_come_first_or_last():
    """The first mixin wins over base; reversed, base wins over all."""
    base, one, two = (type(name, (), {"name": name}) for name in ("Base", "One", "Two"))

    assert add_mixins(base, [one, two]).name == "One"
    assert add_mixins(base, [one, two], reversed=True).name == "Base"
    assert add_mixins(base, None) is base


def test_missing_values_are_made_of_their_keys_once():
    """The factory gets the key; what it made stays."""
    made = []
    values = LambdaDefaultDict(lambda key: made.append(key) or key * 2)

    assert values["ab"] == values["ab"] == "abab"
    assert made == ["ab"]
    assert values.get("other") is None


def test_a_factory_must_be_callable():
    """A default value in the factory's place is told at once."""
    with pytest.raises(TypeError, match="needs a function"):
        LambdaDefaultDict(3)


def test_nothing_happens_in_a_null_context():
    """It takes any arguments and hands out nothing."""
    with NullContextManager(1, key=2) as nothing:
        assert nothing is None
