"""Observations as flat arrays: the old stack's preprocessors and the new stack's flattening."""

import runpy
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from rlconnect.core.arrays.batching import batch
from rlconnect.core.errors import SpaceError
from rlconnect.core.formulas.preprocessors import (
    check_observation,
    flatten_observations_plan,
    preprocessor_for,
)
from rlconnect.core.spaces.rllib_spaces import Repeated

GOLDEN = Path(__file__).parents[2] / "golden" / "formulas"
CASES = runpy.run_path(str(GOLDEN / "cases.py"))
RECORDED = np.load(GOLDEN / "preprocessors.npz")
SCREEN = Box(0, 255, (210, 160, 3), np.uint8)
MIXED = Dict(
    d=Discrete(3, start=2),
    b=Box(-1, 1, (2, 2), np.float32),
    m=MultiDiscrete([2, 3]),
    t=Tuple((MultiBinary(2), Box(-1, 1, (), np.float64))),
)


@pytest.mark.parametrize("name", CASES["OBSERVATIONS"])
def test_old_preprocessors_are_rllibs(name):
    """Shape, dtype and numbers equal RLlib's, for every kind of space and every order of keys."""
    space, observation = CASES["OBSERVATIONS"][name]

    plan = preprocessor_for(space)
    result = plan.transform(observation)

    expected = RECORDED[f"old/{name}"]
    assert plan.shape == tuple(RECORDED[f"old/{name}/shape"])
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("name", CASES["REPEATED"])
def test_lists_are_rllibs(name):
    """A Repeated space becomes its count and its items, as float64 like RLlib's."""
    child, max_len, value = CASES["REPEATED"][name]

    result = preprocessor_for(Repeated(child, max_len)).transform(value)

    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, RECORDED[f"repeated/{name}"])


@pytest.mark.parametrize("name", CASES["FLATTENED"])
def test_flattened_observations_are_rllibs(name):
    """The new stack's order is that of sorted keys, whatever the space's."""
    space, observation, keys = CASES["FLATTENED"][name]

    plan = flatten_observations_plan(space, keys)
    result = plan.transform(observation)

    assert plan.output_space == Box(-np.inf, np.inf, result.shape, np.float32)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, RECORDED[f"new/{name}"])


def test_flattening_gives_every_value_of_a_shifted_space_its_place():
    """A start above 0 makes RLlib fail on its highest values; here no two values share a row."""
    plan = flatten_observations_plan(Discrete(3, start=1))

    rows = plan.transform_batch(np.array([1, 2, 3]))

    np.testing.assert_array_equal(rows, [[0, 1, 0], [0, 0, 1], [1, 0, 0]])


@pytest.mark.parametrize("make", [preprocessor_for, flatten_observations_plan])
def test_a_batch_holds_its_observations(make):
    """Columns of many observations give the same rows as one after the other."""
    MIXED.seed(1)
    plan, observations = make(MIXED), [MIXED.sample() for _ in range(6)]
    columns = batch(observations)

    rows = plan.transform_batch(columns)

    np.testing.assert_array_equal(rows, [plan.transform(one) for one in observations])


@pytest.mark.torch("2.6")
@pytest.mark.parametrize("make", [preprocessor_for, flatten_observations_plan])
def test_tensors_give_the_same_rows_in_one_graph(make):
    """The compiled path equals the plain one, with two leading axes."""
    torch = pytest.importorskip("torch")
    MIXED.seed(2)
    plan = make(MIXED)
    columns = batch([batch([MIXED.sample() for _ in range(3)]) for _ in range(2)])
    tensors = {
        key: tuple(map(torch.from_numpy, part)) if key == "t" else torch.from_numpy(part)
        for key, part in columns.items()
    }

    rows = torch.compile(plan.transform_batch, backend="eager", fullgraph=True)(tensors)

    np.testing.assert_array_equal(rows.numpy(), plan.transform_batch(columns))


def test_lists_of_many_observations_are_written_at_once():
    """A batch of a space with a list inside has one list per row."""
    space = Dict(r=Repeated(Dict(k=Discrete(3), v=Box(-1, 1, (2,))), 2), a=Box(-1, 1, (1,)))
    plan = preprocessor_for(space)
    item = {"k": 1, "v": np.array([0.5, -0.5], np.float32)}
    lists = [[item], [], [item, item]]

    rows = plan.transform_batch({"r": lists, "a": np.zeros((3, 1))})

    singles = [plan.transform({"r": one, "a": np.zeros(1)}) for one in lists]
    np.testing.assert_array_equal(rows, singles)


def test_screens_equal_a_recording():
    """Atari screens come out as Ray 2.7.2 with scikit-image recorded them."""
    recorded = np.load(GOLDEN / "atari_frames.npz")
    plan = preprocessor_for(SCREEN, {"dim": 42}, image_backend="skimage")

    pictures = plan.transform_batch(recorded["raw"])

    assert plan.shape == (42, 42, 3)
    assert pictures.dtype == recorded["out"].dtype
    np.testing.assert_allclose(pictures, recorded["out"], atol=1e-9)
    np.testing.assert_allclose(plan.transform(recorded["raw"][1]), pictures[1], atol=1e-12)


@pytest.mark.parametrize("backend", ["cv2", "skimage"])
@pytest.mark.parametrize("zero_mean", [True, False])
def test_grey_screens_are_one_channel_of_float32(backend, zero_mean, rng):
    """The mean of the channels, scaled by one of the two rules; tensors agree."""
    torch = pytest.importorskip("torch")
    frame = rng.integers(0, 256, SCREEN.shape, dtype=np.uint8)
    options = {"grayscale": True, "zero_mean": zero_mean}

    plan = preprocessor_for(SCREEN, options, image_backend=backend)
    picture = plan.transform(frame)

    assert plan.shape == picture.shape == (84, 84, 1)
    assert picture.dtype == np.float32
    assert (picture.min() < -0.1) == zero_mean
    np.testing.assert_allclose(plan.transform(torch.from_numpy(frame)), picture, atol=1e-6)


def test_colour_screens_of_opencv_wrap_around_like_rllibs():
    """RLlib subtracts 128 from 8-bit counts: what is darker than that turns bright."""
    frame = np.full(SCREEN.shape, 127, np.uint8)

    picture = preprocessor_for(SCREEN).transform(frame)

    np.testing.assert_array_equal(picture, np.full((84, 84, 3), 255 / 128))


def test_binary_observations_become_floats_only_where_asked():
    """The old stack leaves MultiBinary alone, RLModules take floats."""
    space = MultiBinary(3)
    observation = np.array([1, 0, 1], np.int8)

    plain, floats = preprocessor_for(space), preprocessor_for(space, include_multi_binary=True)

    assert plain.is_identity
    assert plain.transform(observation) is observation
    assert floats.output_space == Box(0, 1, (3,), np.float32)
    assert floats.transform(observation).dtype == np.float32


def test_the_original_space_hangs_on_the_output_space():
    """RLlib's connectors look for it there."""
    plan = preprocessor_for(MIXED)

    assert plan.output_space.original_space is MIXED
    assert plan.output_space == Box(-1, 1, (plan.size,), np.float32)


@pytest.mark.parametrize("make", [dict, OrderedDict])
def test_parts_of_different_form_go_by_key(make):
    """Where pairing by position makes RLlib fail, every value finds its own part of the space."""
    plan = preprocessor_for(Dict([("z", Discrete(3)), ("a", Box(-1, 1, (1,)))]))

    row = plan.transform(make([("a", np.array([0.5])), ("z", 2)]))

    np.testing.assert_array_equal(row, [0, 0, 1, 0.5])


@pytest.mark.parametrize(
    ("space", "observation", "match"),
    [
        (Discrete(3), 3, "does not fit"),
        (Discrete(3), 0.5, "does not fit"),
        (Dict(a=Discrete(2)), {"b": 1}, "other keys"),
        (Tuple((Discrete(2), Discrete(2))), (1,), "number of parts"),
        (Dict(a=Box(-1, 1, (2,))), {"a": np.zeros(3)}, "does not fit"),
        (Repeated(Discrete(2), 1), [1, 1], "longer"),
    ],
)
def test_observations_that_do_not_fit_are_refused(space, observation, match):
    """Wrong numbers never come out in silence."""
    with pytest.raises(SpaceError, match=match):
        preprocessor_for(space).transform(observation)


def test_spaces_and_settings_that_make_no_plan_are_refused():
    """The mistake shows when the plan is made."""
    with pytest.raises(SpaceError, match="cannot be preprocessed"):
        preprocessor_for(Text(3))
    with pytest.raises(SpaceError, match="cannot be flattened"):
        flatten_observations_plan(Dict(t=Text(3)))
    with pytest.raises(SpaceError, match="keys_to_remove"):
        flatten_observations_plan(Box(-1, 1, (2,)), ["a"])
    with pytest.raises(SpaceError, match="image backend"):
        preprocessor_for(SCREEN, image_backend="pil")


def test_checking_tolerates_lists_and_number_types():
    """What the space holds after a conversion passes; what it does not hold is named."""
    space = Dict(a=Box(-1, 1, (2,), np.float32), d=Discrete(2))

    check_observation(Box(-1, 1, (2,), np.float32), [1, 1])
    check_observation(space, OrderedDict(a=np.ones(2, np.int64), d=np.int32(1)))
    with pytest.raises(SpaceError, match="outside"):
        check_observation(space, {"a": np.ones(2) * 2, "d": 1})
    with pytest.raises(SpaceError, match="outside"):
        check_observation(space, {"a": np.ones(2)})


@pytest.mark.parametrize("count", [1, 2, 9, 40])
@pytest.mark.parametrize("odd", [None, np.ndarray.tolist, np.atleast_2d])
def test_several_observations_are_flattened_as_each_alone(count, odd):
    """Rows made leaf by leaf hold what each alone gives, also if one has a list or more axes."""
    space = Dict(
        a=Box(-1, 1, (2, 2), np.float32),
        b=Tuple((Discrete(3, start=1), MultiDiscrete([2, 3]))),
        c=Box(0, 255, (3,), np.uint8),
    )
    space.seed(count)
    observations = [space.sample() for _ in range(count)]
    if odd is not None:
        observations[-1]["c"] = odd(observations[-1]["c"])
    plan = flatten_observations_plan(space)

    rows = plan.transform_items(observations)

    assert all(row.dtype == np.float32 for row in rows)
    np.testing.assert_array_equal(rows, [plan.transform(each) for each in observations])
