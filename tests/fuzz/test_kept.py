"""What the fuzzer found once: states that used to end in a traceback, or were taken in silence."""

import json
from dataclasses import replace

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.bridge.actor.actor import Actor
from rlconnect.cli.app import main
from rlconnect.core.errors import RlconnectError
from rlconnect.core.vault import open_checkpoint
from rlconnect.legacy import Policy
from rlconnect.legacy.policy import checkpoint_policies
from rlconnect.legacy.policy.build import build_policy

from tests.fuzz import trees
from tests.fuzz.states import all_states

MAKERS = all_states()
GONE = object()

ADAM = ("optimizer", "default_policy_default_optimizer")
FOUND = [
    # What; the way to the place; what stands there instead; how the place is told.
    ("learner", (*ADAM, "state", "param_groups"), GONE, "param_groups"),
    ("learner", (*ADAM, "state", "state", 0, "exp_avg"), np.zeros((3, 3)), "> exp_avg"),
    ("learner", (*ADAM, "state", "state", 0, "exp_avg"), {"a": 1}, "> state > 0"),
    ("learner", (*ADAM, "state", "state", 0, "step"), -1.0, "> 0 > step"),
    ("learner", (*ADAM, "state", "param_groups", 0, "betas"), (0.9,), "> 0 > betas"),
    ("learner", (*ADAM, "state", "param_groups", 0, "eps"), float("nan"), "> 0 > eps"),
    ("learner", ("optimizer",), 5, "optimizer"),
    ("learner", ("weights_seq_no",), -3, "weights_seq_no"),
    ("learner", ("curr_kl_coeffs", "default_policy"), float("nan"), "curr_kl_coeffs"),
    ("learner", ("curr_kl_coeffs", "default_policy"), -0.2, "curr_kl_coeffs"),
    ("learner", ("rl_module", "default_policy"), [1], "rl_module > default_policy"),
    ("learner group", ("learner",), None, "learner"),
    ("env runner", ("env_to_module_connector",), "text", "env_to_module_connector"),
    ("env runner", ("num_env_steps_sampled_lifetime",), -5, "num_env_steps_sampled_lifetime"),
    ("algorithm", ("training_iteration",), "three", "training_iteration"),
    ("algorithm", ("metrics_logger", "stats"), 3, "metrics_logger > stats"),
    ("metrics", ("stats",), GONE, "stats"),
    ("metrics", ("stats", "a--mean", "count"), -3, "stats > a--mean"),
    ("metrics", ("stats", "a--mean", "kind"), ["mean"], "stats > a--mean"),
    ("metrics", ("stats", "w", "window"), 0, "stats > w"),
    ("metrics", ("stats", "w", "values"), [{}], "stats > w"),
    ("v2 piece MeanStdFilter", (None, "running_stats"), 4, "None > running_stats"),
    ("v2 piece pipeline", ("MeanStdFilter",), [None], "MeanStdFilter"),
    ("running stat", ("num_pushes",), -1, "num_pushes"),
    ("old filter", ("demean",), "maybe", "demean"),
    ("old filter", ("shape",), 3, "shape"),
    ("old filter", ("running_stats",), True, "running_stats"),
    ("policy lstm set_state", ("weights",), GONE, "weights"),
    ("policy lstm set_state", ("global_timestep",), 1e300, "global_timestep"),
    ("policy filter connectors", ("connector_configs", "agent"), 7, "connector_configs > agent"),
    ("policy filter connectors", ("connector_configs",), [1], "connector_configs"),
    ("exploration dqn", ("last_timestep",), "soon", "last_timestep"),
    ("actor", ("default_policy", "first"), 3, "default_policy > first"),
    ("actor", ("default_policy", "timestep"), -1, "default_policy"),
    ("episode", ("observations", "lookback"), -1, "lookback"),
    ("lookback buffer", ("data",), 7, ""),
    ("lookback buffer", ("space",), {"a": 1}, ""),
]


@pytest.mark.parametrize(("what", "way", "value", "place"), FOUND)
def test_states_that_are_damaged_are_told_with_their_place(what, way, value, place):
    """A wrong value in a state is an error of ours that names where it lies."""
    held = MAKERS[what]()
    tree = trees.copied(held.state)
    container = tree
    for step in way[:-1]:
        container = container[step]
    if value is GONE:
        del container[way[-1]]
    else:
        trees.write(tree, container, way[-1], value)

    with pytest.raises(RlconnectError) as caught:
        held.take(tree)

    assert place in caught.value.summary
    held.take(held.state)


@pytest.mark.parametrize("command", ["inspect", "scan", "verify", "migrate"])
def test_commands_tell_a_damaged_file_without_a_traceback(command, tmp_path, capsys):
    """A plan or policy whose inside is of other types ends with 1 or 2 and a line or two."""
    (tmp_path / "rllib_checkpoint.json").write_text(
        json.dumps({"type": "Policy", "checkpoint_version": "1.1"}), encoding="utf-8"
    )
    (tmp_path / "policy_state.pkl").write_bytes(b"\x80\x04}\x8c\x07weights]s.")

    assert main([command, str(tmp_path)]) in (1, 2)
    assert "Traceback" not in capsys.readouterr().err


def test_an_actor_whose_count_is_a_list_is_told(tmp_path):
    """A number of steps that is none is damage of the file that holds it."""
    module = Actor.from_checkpoint
    (tmp_path / "metadata.json").write_text("[[[]]]", encoding="utf-8")

    with pytest.raises(RlconnectError):
        module(tmp_path)


def test_a_policy_whose_count_is_text_is_told(tmp_path):
    """What our own document says of steps is looked at before anything acts by it."""
    Policy(Box(-1, 1, (2,)), Discrete(2), {"seed": 0}).export_checkpoint(tmp_path / "own")
    (record,) = open_checkpoint(tmp_path / "own").policies.values()

    with pytest.raises(RlconnectError, match="global_timestep"):
        build_policy(Policy, replace(record, global_timestep="120.0"))


def test_specs_of_a_policy_whose_exploration_is_an_array_are_told(monkeypatch, tmp_path):
    """What is no dict where one belongs is damage, not a question of truth."""
    Policy(Box(-1, 1, (2,)), Discrete(2), {"seed": 0}).export_checkpoint(tmp_path / "own")
    opened = open_checkpoint(tmp_path / "own")
    held = {
        name: replace(each, exploration_state=np.zeros(2)) for name, each in opened.policies.items()
    }
    monkeypatch.setattr(
        checkpoint_policies, "open_checkpoint", lambda path: replace(opened, policies=held)
    )

    with pytest.raises(RlconnectError, match="exploration_state"):
        checkpoint_policies.parse_policy_specs_from_checkpoint(tmp_path / "own")
