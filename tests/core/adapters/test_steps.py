"""What every adapter step obeys, and what each one computes."""

import json

import numpy as np
import pytest
import torch
from gymnasium import spaces
from rlconnect.core import nest
from rlconnect.core.adapters import (
    AdapterChain,
    AddRates,
    ApplyFunction,
    At,
    Cast,
    Clip,
    ConcatKeys,
    CropImage,
    Discretise,
    DropFeatures,
    DropKeys,
    ExtendAction,
    Grayscale,
    InsertFeatures,
    KeepBeside,
    MapActions,
    MaskActions,
    MoveChannels,
    NestUnder,
    OneHot,
    PickKey,
    ProjectAction,
    RenameKeys,
    Renumber,
    Rescale,
    ResizeImage,
    Scale,
    SelectFeatures,
    SplitFeatures,
    StackFrames,
    Undiscretise,
    UnOneHot,
    register_function,
    step_from_data,
    steps,
)
from rlconnect.core.errors import PieceError, RlconnectError, SpaceError, UnknownNameError

VECTOR = spaces.Box(-2.0, 3.0, (4,), np.float32)
COUNTS = spaces.Box(0, 9, (4,), np.int64)
IMAGE = spaces.Box(0, 255, (6, 8, 3), np.uint8)
NESTED = spaces.Dict({"a": VECTOR, "b": spaces.Dict({"c": spaces.Box(0, 1, (2, 2))})})
PAIR = spaces.Tuple((VECTOR, spaces.Discrete(3)))

CASES = [
    (SelectFeatures([3, 0, -2]), VECTOR),
    (SelectFeatures([1, 2]), VECTOR),
    (DropFeatures([1]), VECTOR),
    (DropFeatures([-1]), IMAGE),
    (SelectFeatures([2, 0]), IMAGE),
    (InsertFeatures([1, 3], [0.5, -1]), VECTOR),
    (InsertFeatures([4, 5], [0.0]), VECTOR),
    (Scale([1, 2, -3, 0.5], 0.25), VECTOR),
    (Scale(2), COUNTS),
    (Scale(0.5), spaces.Box(-np.inf, np.inf, (2,), np.float64)),
    (Rescale(-1, 1), VECTOR),
    (Rescale(0, 1), COUNTS),
    (Rescale([0, 0, 0, 0], [1, 2, 3, 4], from_low=-9, from_high=9), VECTOR),
    (Clip(-1, 0.5), VECTOR),
    (Clip(high=[0, 1, 2, 3]), VECTOR),
    (Cast("float64"), VECTOR),
    (Cast("int32"), VECTOR),
    (PickKey("a"), NESTED),
    (PickKey(["b", "c"]), NESTED),
    (PickKey([1]), PAIR),
    (RenameKeys({"a": "x"}), NESTED),
    (DropKeys("a"), NESTED),
    (NestUnder("obs"), VECTOR),
    (ConcatKeys(), spaces.Dict({"a": VECTOR, "d": spaces.Box(0, 1, (2, 2)), "e": COUNTS})),
    (ConcatKeys(["d", "a"]), spaces.Dict({"a": VECTOR, "d": spaces.Box(0, 1, ())})),
    (SplitFeatures({"x": 1, "y": 3}), VECTOR),
    (ResizeImage(3, 4), IMAGE),
    (CropImage(1, 2, 3, 4), IMAGE),
    (Grayscale(), IMAGE),
    (Grayscale([0.5, 0.25, 0.25]), spaces.Box(0, 1, (2, 2, 3))),
    (MoveChannels("first"), IMAGE),
    (MoveChannels("last"), spaces.Box(0, 1, (3, 4, 5))),
    (OneHot(), spaces.Discrete(4, start=2)),
    (UnOneHot(), spaces.Box(0, 1, (5,))),
    (Renumber([2, 0, 1], size=4), spaces.Discrete(3, start=1)),
    (StackFrames(3), VECTOR),
    (AddRates([1, 0], 0.5), VECTOR),
    (AddRates([-1]), spaces.Box(-1, 1, (2, 3))),
    (StackFrames(2, "zero"), IMAGE),
    (MapActions([3, 1], size=5), spaces.Discrete(2)),
    (ExtendAction([0.5]), VECTOR),
    (ExtendAction([0.5, 1], [0, 5]), VECTOR),
    (ProjectAction([2, 1]), VECTOR),
    (ProjectAction([2, 0]), spaces.MultiDiscrete([2, 3, 4])),
    (ExtendAction([0, 2]), spaces.Discrete(3)),
    (ExtendAction([1]), spaces.MultiDiscrete([2, 3])),
    (MaskActions([0, 2], instead=1), spaces.Discrete(4)),
    (Undiscretise([[-1, 0], [0.5, 1], [1, 1]]), spaces.Discrete(3)),
    (Discretise([[0, 0, 0, 0], [1, 1, 1, 1]]), VECTOR),
    (At(["b", "c"], Scale(3)), NESTED),
    (At([0], DropFeatures([0])), PAIR),
    (At(["a"], StackFrames(2)), NESTED),
    (KeepBeside([SelectFeatures([1, 2])], [3]), VECTOR),
    (KeepBeside([SelectFeatures([2, 0])], [1]), IMAGE),
    (KeepBeside([StackFrames(2)], [0, 1]), VECTOR),
    (KeepBeside([NestUnder("whole")], [3]), VECTOR),
]
IDS = [f"{case.kind}-{number}" for number, (case, _) in enumerate(CASES)]


def samples(space, count=5):
    space.seed(7)
    return [space.sample() for _ in range(count)]


def stacked(items):
    return nest.map_structure(lambda *leaves: np.stack(leaves), *items)


def run(bound, value, is_first=None, memory=None, place=lambda array: array):
    constants = tuple(place(each) for each in bound.constants)
    if bound.memory is None:
        return bound.formula(value, *constants)
    return bound.formula(value, memory, is_first, *constants)[0]


def start(bound, rows):
    return None if bound.memory is None else np.repeat(bound.memory[None], rows, 0)


@pytest.mark.parametrize(("step", "space"), CASES, ids=IDS)
def test_outputs_lie_in_the_declared_space(step, space):
    """Whatever the space holds becomes a value of the space the step declares, batched or not."""
    bound = step.bind(space)
    items = samples(space)

    batch = run(bound, stacked(items), np.ones(5, bool), start(bound, 5))

    for row in range(5):
        out = nest.map_structure(lambda leaf, row=row: np.asarray(leaf[row]), batch)
        out = int(out) if isinstance(bound.space, spaces.Discrete) else out
        assert bound.space.contains(out), (bound.space, out)


@pytest.mark.parametrize(("step", "space"), CASES, ids=IDS)
def test_rows_do_not_know_each_other(step, space):
    """A batch gives what its rows give one by one."""
    bound = step.bind(space)
    items = samples(space)

    batch = run(bound, stacked(items), np.ones(5, bool), start(bound, 5))

    for row, item in enumerate(items):
        one = run(bound, stacked([item]), np.ones(1, bool), start(bound, 1))
        for whole, single in zip(nest.flatten(batch), nest.flatten(one), strict=True):
            np.testing.assert_array_equal(whole[row], single[0])


@pytest.mark.parametrize(("step", "space"), CASES, ids=IDS)
def test_tensors_go_the_same_way(step, space):
    """The formula gives tensors for tensors: equal values of the same dtype."""
    bound = step.bind(space)
    batch = stacked(samples(space))
    is_first = np.array([True, False, True, False, False])
    memory = start(bound, 5)

    expected = run(bound, batch, is_first, memory)
    tensors = nest.map_structure(torch.as_tensor, batch)
    found = run(
        bound,
        tensors,
        torch.as_tensor(is_first),
        None if memory is None else torch.as_tensor(memory),
        lambda each: torch.as_tensor(np.array(each)),
    )

    for want, got in zip(nest.flatten(expected), nest.flatten(found), strict=True):
        assert isinstance(got, torch.Tensor)
        assert np.asarray(want).dtype == got.numpy().dtype
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("step", "space"), CASES, ids=IDS)
def test_data_says_all(step, space):
    """A step written as JSON comes back equal."""
    again = step_from_data(json.loads(json.dumps(step.to_data())))

    assert again == step
    assert again.bind(space).space == step.bind(space).space


@pytest.mark.parametrize(("step", "space"), CASES, ids=IDS)
def test_what_is_given_stays_as_it_was(step, space):
    """No step writes into the observation it is given."""
    bound = step.bind(space)
    batch = stacked(samples(space))
    before = nest.map_structure(np.copy, batch)

    run(bound, batch, np.zeros(5, bool), start(bound, 5))

    for own, old in zip(nest.flatten(batch), nest.flatten(before), strict=True):
        np.testing.assert_array_equal(own, old)


def test_every_kind_of_step_is_in_the_table_above():
    """A new step cannot be forgotten here; a function has tests of its own."""
    assert {case.kind for case, _ in CASES} | {"function"} == set(steps.names())


def test_frames_start_anew_with_each_episode():
    """The memory of an episode never reaches the next one; its first frame is repeated."""
    chain = AdapterChain(obs=[StackFrames(3)]).bind(spaces.Box(0, 9, (1,)), spaces.Discrete(2))
    memory = chain.start(2)

    seen = []
    for step, first in enumerate([(True, True), (False, False), (True, False)]):
        obs = np.array([[step], [step + 5]], np.float32)
        out, memory = chain.observe_next(obs, memory, np.array(first))
        seen.append(out.tolist())

    assert seen == [[[0, 0, 0], [5, 5, 5]], [[0, 0, 1], [5, 5, 6]], [[2, 2, 2], [5, 6, 7]]]


def test_rates_are_velocities_and_begin_anew():
    """A rate is the difference over the time between; an episode's first one is 0."""
    chain = AdapterChain(obs=[AddRates([1], seconds=0.5)])
    bound = chain.bind(spaces.Box(-9, 9, (2,)), spaces.Discrete(2))
    memory = bound.start(2)

    seen = []
    for step, first in enumerate([(True, True), (False, False), (True, False)]):
        obs = np.array([[9, step], [9, 3 * step]], np.float32)
        out, memory = bound.observe_next(obs, memory, np.array(first))
        seen.append(out[:, 2].tolist())

    assert seen == [[0, 0], [2, 6], [0, 6]]
    assert bound.observation_space.high.tolist() == [9, 9, 36]


@pytest.mark.parametrize(
    ("step", "space", "error"),
    [
        (lambda: AddRates([4]), VECTOR, PieceError),
        (lambda: AddRates([0]), COUNTS, SpaceError),
        (lambda: AddRates([0], seconds=0), VECTOR, PieceError),
    ],
)
def test_rates_are_of_floats_that_are_there(step, space, error):
    """A feature that is missing, whole numbers and no time between are refused."""
    with pytest.raises(error):
        step().bind(space)


def test_a_chain_of_all_kinds_round_trips():
    """A chain is plain data: what it does is the same after a trip through JSON."""
    chain = AdapterChain(
        obs=[DropFeatures([1]), Scale(2.0)],
        action=[MapActions([2, 0])],
        reward=[Scale(0.1), Clip(-1, 1)],
        agents={"new": "old"},
    )

    again = AdapterChain.from_data(json.loads(json.dumps(chain.to_data())))

    assert again == chain
    bound = again.bind(VECTOR, spaces.Discrete(2))
    assert bound.observe(np.ones((2, 4), np.float32)).tolist() == [[2.0] * 3] * 2
    assert bound.act(np.array([0, 1])).tolist() == [2, 0]
    assert bound.reward(np.array([5.0, 50.0])).tolist() == [0.5, 1.0]
    assert again.is_portable


def test_a_function_joins_and_says_that_it_does_not_travel():
    """A registered function works by its name; without it, the error names what is missing."""
    register_function("tests.negated", lambda obs: -obs)
    chain = AdapterChain(obs=[ApplyFunction("tests.negated")])

    assert chain.bind(VECTOR, spaces.Discrete(2)).observe(np.ones((1, 4))).tolist() == [[-1.0] * 4]
    assert not chain.is_portable
    assert AdapterChain.from_data(chain.to_data()) == chain
    with pytest.raises(PieceError, match=r"tests\.unknown"):
        ApplyFunction("tests.unknown").bind(VECTOR)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: SelectFeatures([4]).bind(VECTOR), "feature 4"),
        (lambda: InsertFeatures([0], [1]).bind(IMAGE), "one axis"),
        (lambda: Scale([1, 2]).bind(VECTOR), "last axis of 2"),
        (lambda: Rescale(0, 1).bind(spaces.Box(-np.inf, 1, (2,))), "finite bounds"),
        (lambda: PickKey("z").bind(NESTED), "no 'z'"),
        (lambda: At(["a", "q"], Scale(1)).bind(NESTED), "nothing at"),
        (lambda: RenameKeys({"a": "b"}).bind(NESTED), "one name"),
        (lambda: SplitFeatures({"x": 3}).bind(VECTOR), "3 features"),
        (lambda: CropImage(0, 0, 7, 1).bind(IMAGE), "7 x 1"),
        (lambda: MapActions([0, 9], size=5), "9"),
        (lambda: MapActions([0, 1, 2]).bind(spaces.Discrete(2)), "3 values"),
        (lambda: MaskActions([1], instead=1), "forbidden"),
        (lambda: InsertFeatures([1, 0], [0, 0]), "rising"),
        (lambda: Cast("flat"), "flat"),
        (lambda: AdapterChain(obs=[abs]), "no step"),
        (lambda: AdapterChain(reward=[OneHot()]), "reward"),
        (lambda: AdapterChain(agents={"a": "x", "b": "x"}), "one name"),
        (lambda: step_from_data({"step": "scale", "factr": 2}), "factr"),
        (lambda: AdapterChain.from_data({"observations": []}), "observations"),
        (lambda: AdapterChain(obs=[Scale(1), OneHot()]).bind(VECTOR, PAIR), "step 2 of the obs"),
    ],
)
def test_what_cannot_work_is_refused_by_name(make, match):
    """Mistakes are told when the chain is made or bound, not at the first step."""
    with pytest.raises(RlconnectError, match=match) as error:
        make()

    assert isinstance(error.value, (PieceError, SpaceError))


def test_an_unknown_step_gets_a_suggestion():
    """A misspelt kind names the nearest one."""
    with pytest.raises(UnknownNameError, match="select_features"):
        step_from_data({"step": "select_feature", "indices": [0]})


def test_steps_beside_one_that_remembers_take_tensors_too():
    """A chain with a memory gives tensors for tensors, constants included."""
    chain = AdapterChain(obs=[Scale([2, 1]), StackFrames(2)])
    bound = chain.bind(spaces.Box(0, 9, (2,)), spaces.Discrete(2))
    obs = np.ones((3, 2), np.float32)
    first = np.ones(3, bool)

    expected, _ = bound.observe_next(obs, bound.start(3), first)
    memory = tuple(map(torch.as_tensor, bound.start(3)))
    found, kept = bound.observe_next(torch.as_tensor(obs), memory, torch.as_tensor(first))

    np.testing.assert_array_equal(found.numpy(), expected)
    assert isinstance(kept[0], torch.Tensor)


def test_a_misplaced_step_says_where_it_belongs():
    """What to do: another place, or what has to come before it."""
    with pytest.raises(SpaceError) as nowhere:
        SelectFeatures([0]).bind(spaces.Discrete(3))

    assert "place the step where such a space comes in" in nowhere.value.hint
