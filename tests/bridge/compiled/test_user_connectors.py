"""Connectors of a user's own: what becomes a formula, and why others do not."""

import itertools
import random
import time

import numpy as np
import pytest
from rlconnect.bridge.compiled.numpy_functions import Untraceable
from rlconnect.bridge.compiled.user_connectors import traced_action, traced_observation
from rlconnect.legacy import (
    ActionConnector,
    ActionConnectorDataType,
    AgentConnector,
    AgentConnectorDataType,
    register_lambda_action_connector,
    register_lambda_agent_connector,
)

# What torch's own tracer calls of torch is deprecated in places.
pytestmark = [
    pytest.mark.torch("2.9"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]

ROWS = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
GENERATOR = np.random.default_rng()
COUNTER = itertools.count()


def _agent(change):
    return register_lambda_agent_connector("Changed", change)(None)


def _of_obs(change):
    return _agent(lambda data: {**data, "new_obs": change(data["new_obs"])})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda x: x + np.random.normal(size=4), "different results"),  # noqa: NPY002
        (lambda x: x + random.random(), "different results"),
        (lambda x: x + GENERATOR.normal(), "different results"),
        (lambda x: x + time.time(), "different results"),
        (lambda x: x + next(COUNTER), "different results"),
        (lambda x: x["position"], r"fails on a sample of shape \(4,\) \(only integers"),
        (lambda x: None, "returns values of object"),
    ],
)
def test_what_is_no_function_of_the_observation_says_why(change, reason):
    """Chance, time and counters are found out, and leave the generators as they were."""
    random_numbers, numpys = random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002

    with pytest.raises(Untraceable, match=reason):
        traced_observation(_of_obs(change), ROWS)

    assert random.getstate() == random_numbers
    assert np.array_equal(np.random.get_state()[1], numpys)  # noqa: NPY002


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: {**d, "new_obs": d["new_obs"] * d["rewards"]}, "reads rewards"),
        (lambda d: {**d, "new_obs": d["new_obs"] + len(d["infos"])}, "reads infos"),
        (lambda d: {**d, "new_obs": d["new_obs"] * ("rewards" in d)}, "gives other values"),
        (lambda d: d if not d["dones"] else {}, "reads dones"),
        (lambda d: {}, "new_obs"),
        (lambda d: None, "returned nothing"),
    ],
)
def test_what_reads_other_columns_is_no_formula(change, reason):
    """A connector that reads rewards or infos is refused by the name of the column."""
    with pytest.raises(Untraceable, match=reason):
        traced_observation(_agent(change), ROWS)


def test_other_columns_may_change():
    """Deleting or adding columns is harmless, and reported."""

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
        (lambda a, s, f: (a * f.get("seen", np.zeros(1))[0], s, f), "reads fetches"),
        (lambda a, s, f: (a, [each * 0 for each in s], f), "changes states or fetches"),
        (lambda a, s, f: (a * len(s), s, f), "reads states"),
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
        return np.asarray(obs) + self.by + self.table[:1]

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
        assert ac_data.agent_id != "another"
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
        (Counting, "keeps notes"),
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
    connector = _of_obs(lambda x: x * scale[0])
    part, _ = traced_observation(connector, ROWS)

    scale[0] = 3.0

    assert np.array_equal(part.formula(ROWS, *part.constants), ROWS * 2)
    record = AgentConnectorDataType("e", "a", {"new_obs": ROWS[0]})
    assert np.array_equal(connector([record])[0].data["new_obs"], ROWS[0] * 3)
