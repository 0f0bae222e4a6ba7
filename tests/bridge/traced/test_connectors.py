"""Connectors of a user's own: what becomes a formula, and why others do not."""

import itertools
import random
import time
from time import time as clock

import numpy as np
import pytest
from numpy import array, asarray
from rlconnect.bridge.traced.connectors import traced_action, traced_observation
from rlconnect.bridge.traced.tape import Untraceable
from rlconnect.legacy import (
    ActionConnector,
    ActionConnectorDataType,
    AgentConnector,
    AgentConnectorDataType,
    register_lambda_action_connector,
    register_lambda_agent_connector,
)

from tests.bridge.traced.functions import connector_of, traced

pytestmark = pytest.mark.torch

ROWS = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
GENERATOR = np.random.default_rng()
COUNTER = itertools.count()
CALLS = []
calls = 0


def _counting(x):
    global calls
    calls += 1
    return x * calls


def _noting(x):
    CALLS.append(1)
    return x + len(CALLS)


def _nonlocal_counter():
    number = 0

    def change(x):
        nonlocal number
        number += 1
        return x + number

    return change


def _iterating(x):
    while x.sum() > 0:
        x = x - 1
    return x


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda x: x if x[0] > 0 else -x, "looks at a value"),
        (lambda x: x * max(x), "looks at a value"),
        (lambda x: x[: round(x[0])], "looks at a value"),
        (_iterating, "looks at a value"),
        (lambda x: x[x > 0], "picks by numbers"),
        (lambda x: [x, -x][int(abs(x[0]))], "looks at a value"),
        (lambda x: x * memoryview(x)[0], "looks at a value|fails on"),
        (lambda x: {1.0: x}.get(x[0], x), "looks a value up"),
        (lambda x: x + np.random.normal(size=4), "draws random numbers"),  # noqa: NPY002
        (lambda x: x + random.random(), "draws random numbers"),
        (lambda x: x + GENERATOR.normal(), "draws random numbers"),
        (lambda x: x + GENERATOR.spawn(1)[0].normal(), "draws random numbers"),
        (lambda x: x + time.time(), "reads the clock"),
        (lambda x: x + clock(), "reads the clock"),
        (_counting, "writes 'calls', which lies outside"),
        (_nonlocal_counter(), "writes 'number', which lies outside"),
        (_noting, "answers the same value in different ways"),
        (lambda x: x + next(COUNTER), "answers the same value in different ways"),
        (lambda x: np.sort(x), r"calls np\.sort, which has no batched form"),
        (lambda x: np.fft.fft(x).real, "numpy's fft"),
        (lambda x: x.tolist(), r"for \.tolist"),
        (lambda x: x.astype(np.uint16), "computes in uint16"),
        (lambda x: np.modf(x)[0], r"calls np\.modf"),
        (lambda x: x["position"], r"fails on a value it cannot see \(only integers"),
        (lambda x: None, "gives a NoneType"),
        (lambda x: [np.add(x, 1) for _ in range(600)][-1], "more than 500 steps"),
    ],
)
def test_what_is_not_a_formula_says_why(change, reason):
    """Nothing that needs a value, chance, time or memory is taken for a formula."""
    random_numbers, numpys = random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002

    with pytest.raises(Untraceable, match=reason):
        traced(change, ROWS)

    assert random.getstate() == random_numbers
    assert np.array_equal(np.random.get_state()[1], numpys)  # noqa: NPY002
    assert calls == 0


def test_a_function_may_call_itself_and_others():
    """Helpers, closures and recursion are followed, with numpy under any name."""

    def halved(x, times):
        return x if times == 0 else halved(asarray(x) / 2, times - 1)

    part = traced(lambda x: _weighted(halved(x, 3)), ROWS)

    assert np.allclose(part.formula(ROWS, *part.constants), ROWS / 8 * 3, atol=1e-6)


def _weighted(x, weight=3):
    return array([x])[0] * weight


def test_another_path_for_a_type_is_found_out():
    """A function that treats what it can see otherwise does not pass for what it seemed."""
    with pytest.raises(Untraceable, match="depends on values"):
        traced(lambda x: x * 2 if type(x) is np.ndarray else x, ROWS)


def _agent(change):
    return register_lambda_agent_connector("Changed", change)(None)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: {**d, "new_obs": d["new_obs"] * d["rewards"]}, "reads rewards"),
        (lambda d: {**d, "new_obs": d["new_obs"] + len(d["infos"])}, "reads infos"),
        (lambda d: {**d, "new_obs": d["new_obs"] * ("rewards" in d)}, "depends on values"),
        (lambda d: d if not d["dones"] else {}, "reads dones"),
        (lambda d: {}, "new_obs"),
        (lambda d: None, "returned nothing"),
    ],
)
def test_what_reads_other_columns_is_no_formula(change, reason):
    """Whoever looks at rewards or infos is named with what it looks at."""
    with pytest.raises(Untraceable, match=reason):
        traced_observation(_agent(change), ROWS)


def test_other_columns_may_change():
    """Deleting or adding columns is harmless, and told."""

    def change(d):
        del d.data["infos"]
        d["seen"] = d["new_obs"][:1]
        d["rewards"] = 0.0
        d["new_obs"] = d["new_obs"][1:]
        return d

    part, changed = traced_observation(_agent(change), ROWS)

    assert np.array_equal(part.formula(ROWS, *part.constants), ROWS[:, 1:])
    assert changed == {"infos", "seen", "rewards"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda a, s, f: (a, s, {}), "changes states or fetches"),
        (lambda a, s, f: (a * f["action_prob"], s, f), "reads fetches"),
        (lambda a, s, f: (a, [each * 0 for each in s], f), "reads states"),
    ],
)
def test_states_and_fetches_stay_as_they_are(change, reason):
    """An action connector works on the action alone."""
    with pytest.raises(Untraceable, match=reason):
        traced_action(register_lambda_action_connector("Acted", change)(None), ROWS)


class Shifted(AgentConnector):
    """Adds a number of its own, by a method of its own."""

    def __init__(self, ctx=None):
        super().__init__(ctx)
        self.by = 2.0
        self.table = np.float32([0, 0, 1])

    def _moved(self, obs):
        return np.asarray(obs) + self.by + self.table[np.argmax(obs) // 4]

    def transform(self, ac_data):
        ac_data.data = {**ac_data.data, "new_obs": self._moved(ac_data.data["new_obs"])}
        return ac_data


class Told(Shifted):
    """Knows when an episode begins."""

    def reset(self, env_id):
        self.by = 0.0


class Counting(Shifted):
    """Counts its calls."""

    def transform(self, ac_data):
        self.by += 1
        return super().transform(ac_data)


class Together(Shifted):
    """Looks at all records."""

    def __call__(self, acd_list):
        return super().__call__(acd_list)


class Asking(Shifted):
    """Knows agents by name."""

    def transform(self, ac_data):
        assert ac_data.agent_id != "nobody"
        return super().transform(ac_data)


class Doubled(ActionConnector):
    """Twice the action, beside what the policy saw."""

    def transform(self, ac_data):
        actions, states, fetches = ac_data.output
        output = (2 * actions, states, fetches)
        return ActionConnectorDataType(ac_data.env_id, ac_data.agent_id, ac_data.input_dict, output)


def test_classes_are_traced_by_their_transform():
    """A subclass with a plain `transform` has a formula, and stays as it was."""
    connector = Shifted()

    part, _ = traced_observation(connector, ROWS)
    action = traced_action(Doubled(), np.arange(3))

    assert part.name == "Shifted (traced)"
    assert np.array_equal(part.formula(ROWS, *part.constants), ROWS + np.float32(2))
    assert action.formula(np.arange(4), *action.constants).tolist() == [0, 2, 4, 6]
    record = AgentConnectorDataType("e", "a", {"new_obs": np.zeros(1)})
    assert connector([record])[0].data["new_obs"] == 2


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (Told, "is told when episodes begin"),
        (Counting, "keeps notes|answers the same"),
        (Together, "works on all records together"),
        (Asking, "reads the id of the agent"),
    ],
)
def test_classes_that_remember_are_not_traced(kind, reason):
    """Memory, other records and names are no part of a formula."""
    connector = kind()

    with pytest.raises(Untraceable, match=reason):
        traced_observation(connector, ROWS)

    assert connector.by == 2


def test_what_a_function_reads_is_frozen():
    """A trace keeps the numbers of the moment; the function itself goes on."""
    scale = [2.0]
    connector = connector_of(lambda x: x * scale[0])
    part, _ = traced_observation(connector, ROWS)

    scale[0] = 3.0

    assert np.array_equal(part.formula(ROWS, *part.constants), ROWS * 2)
    record = AgentConnectorDataType("e", "a", {"new_obs": ROWS[0]})
    assert np.array_equal(connector([record])[0].data["new_obs"], ROWS[0] * 3)
