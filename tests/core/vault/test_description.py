"""A checkpoint in plain data: complete, JSON whatever a file held, and with commands that work."""

import dataclasses
import json
import math

import numpy as np
import pytest
from rlconnect.core.errors import UnknownNameError
from rlconnect.core.vault import FilterRecord, open_checkpoint
from rlconnect.core.vault.decode.standins import GlobalRef, Opaque
from rlconnect.core.vault.description import describe_checkpoint, jsonable, next_steps
from rlconnect.core.vault.next_steps import free_name

from .recorded import (
    MULTI_AGENT,
    NEW_ALGORITHM,
    PENDULUM,
    RECORDINGS,
    WORKER,
    copy_of,
    open_once,
)


@pytest.mark.parametrize("name", [PENDULUM, MULTI_AGENT, WORKER, NEW_ALGORITHM, "new/2.60.0-pipe"])
def test_a_description_is_strict_json(name):
    """Every description passes JSON without NaN and comes back equal."""
    told = describe_checkpoint(open_once(RECORDINGS / name))

    assert json.loads(json.dumps(told, allow_nan=False)) == told


def test_a_description_says_what_the_records_say():
    """Spaces in words and as data, connectors, filter statistics, shapes: nothing is left out."""
    checkpoint = open_once(RECORDINGS / PENDULUM)

    told = describe_checkpoint(checkpoint)["policies"]["default_policy"]

    assert told["policy_class"] == "PPOTorchPolicy"
    assert told["action_space"]["text"] == "Box(1,) float32 in [-2, 2]"
    assert [piece["name"] for piece in told["connectors"]["agent"]] == [
        "ClipRewardAgentConnector",
        "ObsPreprocessorConnector",
        "MeanStdObservationFilterAgentConnector",
        "StateBufferConnector",
        "ViewRequirementAgentConnector",
    ]
    assert told["connectors"]["agent"][0]["params"] == {"sign": True, "limit": None}
    assert told["filters"][0]["count"] == [150]
    np.testing.assert_allclose(
        told["filters"][0]["std"][0], checkpoint.policies["default_policy"].filters[0].std[0]
    )
    assert told["weights"]["count"] == 2467
    assert told["weights"]["arrays"]["_logits._model.0.bias"] == {"shape": [2], "dtype": "float32"}


def test_one_policy_of_many_is_described_alone():
    """`policy=` leaves the others out; an unknown one names those there are."""
    checkpoint = open_once(RECORDINGS / MULTI_AGENT)

    assert list(describe_checkpoint(checkpoint, policies=["pol_1"])["policies"]) == ["pol_1"]
    with pytest.raises(UnknownNameError, match="no policy 'pol_9'") as caught:
        describe_checkpoint(checkpoint, policies=["pol_9"])
    assert caught.value.expected == "'pol_0', 'pol_1'"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (np.float32("inf"), "inf"),
        (np.longdouble(0.5), "0.5"),
        (np.datetime64("2020-01-01"), "2020-01-01"),
        (1 << 20_000, "an integer of 20,001 bits"),
        (1j, "1j"),
        (b"abc", "3 bytes"),
        ((1, 2), [1, 2]),
        ({(1, 2): {3}}, {"(1, 2)": [3]}),
        ({math.nan: 1}, {"nan": 1}),
        (np.zeros(3), "array (3,) float64"),
        (np.array([{}], object), "array (1,) object"),
        (GlobalRef("a", "B"), {"__class__": "a.B"}),
        (Opaque(GlobalRef("a", "B"), (math.nan,)), {"__class__": "a.B", "arguments": ["nan"]}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_whatever_a_file_held_becomes_json(value, told):
    """Odd numbers, types and keys are told in a form that JSON has."""
    found = jsonable({"value": value})

    assert found == {"value": told}
    json.dumps(found, allow_nan=False)


def test_statistics_that_are_not_finite_become_json():
    """A filter full of NaN, in a policy that trained for more steps than can be written out."""
    checkpoint = open_once(RECORDINGS / PENDULUM)
    nan = (np.array([np.nan, np.inf]),)
    policy = dataclasses.replace(
        checkpoint.policies["default_policy"],
        filters=(FilterRecord("MeanStdFilter", (2,), nan, nan, clip=math.nan),),
        global_timestep=1 << 20_000,
    )

    told = describe_checkpoint(dataclasses.replace(checkpoint, policies={"a": policy}))

    assert told["policies"]["a"]["filters"][0]["mean"] == [["nan", "inf"]]
    assert told["policies"]["a"]["filters"][0]["clip"] == "nan"
    json.dumps(told, allow_nan=False)


def test_next_commands_hold_outside_the_folder(tmp_path):
    """From elsewhere the commands name the whole path."""
    path = copy_of(PENDULUM, tmp_path)

    steps = next_steps(open_checkpoint(path))

    assert all(str(path) in step["command"] for step in steps)


def test_a_path_like_an_option_is_told_apart(tmp_path, monkeypatch):
    """A folder named `--json` is a path in every suggested command."""
    copy_of(PENDULUM, tmp_path).rename(tmp_path / "--json")
    monkeypatch.chdir(tmp_path)

    for step in next_steps(open_checkpoint("./--json")):
        assert "./--json" in step["command"]


def test_a_policy_whose_name_cannot_be_typed_is_not_suggested():
    """Names that a terminal would act upon are left out of commands to copy."""
    checkpoint = open_once(RECORDINGS / MULTI_AGENT)
    policy = checkpoint.policies["pol_0"]
    renamed = dataclasses.replace(checkpoint, policies={"\x1b[2J": policy, "b": policy})

    commands = [step["command"] for step in next_steps(renamed)]

    assert "\x1b" not in "".join(commands)


@pytest.mark.parametrize(
    ("path", "name"),
    [("a/ppo", "ppo-kept.zip"), ("kept.zip", "kept.zip"), ("ppo-kept-2.zip", "ppo-kept.zip")],
)
def test_the_result_of_a_command_is_not_named_twice(path, name, tmp_path, monkeypatch):
    """A copy of a copy gets a number, not the word again."""
    monkeypatch.chdir(tmp_path)
    assert free_name(path, "kept.zip") == name

    (tmp_path / name).touch()

    assert free_name(path, "kept.zip") == name.replace(".zip", "-2.zip")
