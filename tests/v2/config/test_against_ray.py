"""Settings, defaults and hooks are those of Ray 2.60 (recorded: golden/v2_config)."""

import inspect
import json
from pathlib import Path

import pytest
from rlconnect import v2

RAY = json.loads(
    (Path(__file__).parents[2] / "golden" / "v2_config" / "ray_2_60.json").read_text(
        encoding="utf-8"
    )
)

# Not here, and why.
_ELSEWHERE = {
    "input_spaces_jsonable",
    "offline_evaluation_duration",  # Internal to RLlib: no method takes them.
    "offline_evaluation_parallel_to_training",
    "dataset_num_iters_per_eval_runner",
    "sync_filters_on_rollout_workers_timeout_s",
    "_dont_auto_sync_env_runner_states",
    "_is_online",
    "_per_module_overrides",
    "_prior_exploration_config",
    "_set_off_policy_estimation_methods",
    "replay_sequence_length",
    "tf_session_args",  # Of TensorFlow.
    "local_tf_session_args",
}
# RLlib refuses its own rate there until it is None; no buffer is used.
_OWN = {"CQLConfig": {"lr", "replay_buffer_config"}}


@pytest.mark.parametrize("name", sorted(RAY["defaults"]))
def test_defaults(name):
    """Each setting of RLlib's config that a method takes is here, with the same default."""
    config = getattr(v2, name)()
    left_out = _ELSEWHERE | _OWN.get(name, set())
    expected = {key: value for key, value in RAY["defaults"][name].items() if key not in left_out}

    found = {key: getattr(config, key) for key in expected}

    assert found == expected


@pytest.mark.parametrize(
    ("name", "method"),
    [(name, method) for name in sorted(RAY["methods"]) for method in RAY["methods"][name]],
)
def test_methods_take_what_rllibs_take(name, method):
    """A method has every keyword of RLlib's; what moved to `learners` only works, and warns."""
    config = getattr(v2, name)
    ours = {*inspect.signature(getattr(config, method)).parameters}
    if method == "training":
        ours |= {*inspect.signature(config.learners).parameters}

    assert set(RAY["methods"][name][method]) - ours == set()


def test_hooks():
    """Each hook of the new stack is there, and takes what RLlib hands it by keyword."""
    of_the_old_stack = {
        "on_create_policy",
        "on_learn_on_batch",
        "on_postprocess_trajectory",
        "on_sub_environment_created",
        "on_workers_recreated",
    }
    for hook in set(RAY["hooks"]) - of_the_old_stack:
        parameters = inspect.signature(getattr(v2.RLlibCallback, hook)).parameters

        assert "kwargs" in parameters
        old = {"worker", "base_env", "policies"}
        assert set(RAY["hooks"][hook]) - old <= set(parameters)
