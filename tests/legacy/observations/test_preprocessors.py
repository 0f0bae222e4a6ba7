"""Preprocessors by RLlib's names."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from rlconnect.core.errors import PieceError, UnknownNameError
from rlconnect.core.spaces.rllib_spaces import Repeated
from rlconnect.legacy.observations import preprocessors as pp

CASES = [
    (Box(-1, 1, (2,)), pp.NoPreprocessor, (2,)),
    (MultiBinary(3), pp.NoPreprocessor, (3,)),
    (Discrete(3), pp.OneHotPreprocessor, (3,)),
    (MultiDiscrete([2, 3]), pp.OneHotPreprocessor, (5,)),
    (Box(0, 255, (128,), np.uint8), pp.AtariRamPreprocessor, (128,)),
    (Box(0, 255, (210, 160, 3), np.uint8), pp.GenericPixelPreprocessor, (84, 84, 3)),
    (Tuple((Discrete(3), Box(-1, 1, (2,)))), pp.TupleFlatteningPreprocessor, (5,)),
    (Dict({"a": Discrete(3), "b": Box(-1, 1, (2,))}), pp.DictFlatteningPreprocessor, (5,)),
    (Repeated(Discrete(2), 3), pp.RepeatedValuesPreprocessor, (7,)),
]


@pytest.mark.parametrize(("space", "kind", "shape"), CASES, ids=lambda v: str(v)[:30])
def test_each_space_has_its_preprocessor(space, kind, shape):
    """The class for a space, the shape it makes, and where it keeps the raw space."""
    made = pp.get_preprocessor_for_space(space)

    assert type(made) is pp.get_preprocessor(space) is kind
    assert tuple(made.shape) == shape
    assert made.size == np.prod(shape)
    if kind is not pp.NoPreprocessor:
        assert made.observation_space.original_space is space


def test_multi_binary_as_floats():
    """Asked for, MultiBinary becomes floats."""
    made = pp.get_preprocessor_for_space(MultiBinary(2), include_multi_binary=True)

    assert made.transform(np.array([0, 1], np.int8)).dtype == np.float32


def test_write_puts_the_output_into_a_larger_array():
    """Write fills its part and no other."""
    out = np.full(6, 9.0)

    pp.OneHotPreprocessor(Discrete(3)).write(1, out, 2)

    assert out.tolist() == [9, 9, 0, 1, 0, 9]


@pytest.mark.parametrize(
    ("space", "bad"),
    [
        (Box(-1, 1, (2,)), np.zeros(3)),
        (Box(-1, 1, (2,)), np.array([5.0, 0.0])),
        (Discrete(3), 7),
        (Dict({"a": Discrete(2)}), {"a": 4}),
    ],
)
def test_observations_outside_are_refused(space, bad):
    """The first observation is looked at whole. Also a ValueError, as in RLlib."""
    with pytest.raises(ValueError, match="outside"):
        pp.get_preprocessor_for_space(space).transform(bad)


def test_values_are_looked_at_now_and_then_shapes_always():
    """Values outside pass between looks, as in RLlib; another shape never does."""
    made = pp.NoPreprocessor(Box(-1, 1, (2,)))
    made.transform(np.zeros(2, np.float32))

    assert made.transform(np.array([5.0, 0.0])).tolist() == [5.0, 0.0]
    with pytest.raises(ValueError, match="outside"):
        made.transform(np.zeros(3))


def test_many_checks_look_at_the_same_ones():
    """Checked together, those of several observations are looked at whose turn it is alone."""
    space = Box(-1, 1, (1,))
    rows = [np.zeros(1, np.float32) for _ in range(250)]

    for bad in (0, 99, 100, 199, 200):
        given = list(rows)
        given[bad] = np.array([5.0], np.float32)
        made = pp.NoPreprocessor(space)
        if bad % 100:
            made.check_due(given)
        else:
            with pytest.raises(ValueError, match="outside"):
                made.check_due(given)


def test_a_preprocessor_of_one_s_own():
    """Two methods make one; a model config names it, registered or as a class."""

    class Halves(pp.Preprocessor):
        def _init_shape(self, obs_space, options):
            return obs_space.shape

        def transform(self, observation):
            self.check_shape(observation)
            return observation / 2

    pp.register_custom_preprocessor("Halves-of-test", Halves)
    by_name = pp.get_preprocessor_for_space(
        Box(-1, 1, (2,)), {"custom_preprocessor": "Halves-of-test"}
    )
    by_class = pp.get_preprocessor_for_space(Box(-1, 1, (2,)), {"custom_preprocessor": Halves})

    assert by_name.transform(np.ones(2, np.float32)).tolist() == [0.5, 0.5]
    assert isinstance(by_class, Halves)
    assert by_name.observation_space.shape == (2,)
    with pytest.raises(UnknownNameError, match="Halves-of-test"):
        pp.get_preprocessor_for_space(Box(-1, 1, (2,)), {"custom_preprocessor": "Halfs-of-test"})


def test_a_bare_preprocessor_says_what_it_lacks():
    """The base does nothing by itself."""

    class Shaped(pp.Preprocessor):
        def _init_shape(self, obs_space, options):
            return (1,)

    with pytest.raises(PieceError, match="_init_shape"):
        pp.Preprocessor(Box(-1, 1, (2,)))
    with pytest.raises(PieceError, match="transform"):
        Shaped(Box(-1, 1, (2,))).transform(0)
