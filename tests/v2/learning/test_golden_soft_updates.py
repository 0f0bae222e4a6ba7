"""Twenty updates of SAC, CQL, IQL and DQN of two modules are those of real Ray: all numbers."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.v2 import CQLConfig, DQNConfig, IQLConfig, OfflinePreLearner, SACConfig

GOLDEN = Path(__file__).parents[2] / "golden" / "v2_sac"
RULES: dict = {}
exec((GOLDEN / "formula.py").read_text(encoding="utf-8"), RULES)
CONFIGS = {"SAC": SACConfig, "DQN": DQNConfig, "CQL": CQLConfig, "IQL": IQLConfig}
OBS = Box(-10.0, 10.0, (3,), np.float32)
ACTS = {"discrete": Discrete(3), "box": Box(-1.0, 1.0, (2,), np.float32)}
ONCE = "num_trainable_parameters"
"""What Ray tells with the first update alone."""
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def config_of(case, ids=("default_policy",)):
    """The recorded settings, and the spaces."""
    act = ACTS[case.get("act", "box")]
    name = case.get("algorithm", "SAC")
    config = CONFIGS[name]()
    config.environment(observation_space=OBS, action_space=act)
    config.rl_module(model_config=RULES["model_of"](case))
    config.training(**RULES["training_of"](case))
    if len(ids) > 1:
        config.multi_agent(
            policies=set(ids),
            policy_mapping_fn=lambda agent_id, episode, **kwargs: f"p_{agent_id}",
            algorithm_config_overrides_per_module={
                "p_b": CONFIGS[name].overrides(**RULES["OF_THE_SECOND"][name])
            },
        )
    both = (OBS, act)
    if len(ids) > 1:
        both = tuple(Dict({"a": each, "b": each}) for each in both)
    return config, {each: (OBS, act) for each in ids} | {"__env__": both, "__env_single__": both}


def learner_of(case, ids=("default_policy",)):
    """A learner of the recorded settings and weights."""
    config, spaces = config_of(case, ids)
    learner = config.build_learner(spaces=spaces)
    for module_id in ids:
        state = learner.module[module_id].get_state()
        learner.module[module_id].set_state(
            {
                key: value if "const" in key else RULES["weight"](key, value.shape)
                for key, value in state.items()
            }
        )
    return learner


def batches_of(case, ids, step):
    """One train batch by module, as tensors."""
    return {
        module_id: {
            key: torch.from_numpy(np.asarray(value))
            for key, value in RULES["batch"](case, 100 * place + step).items()
        }
        for place, module_id in enumerate(ids)
    }


def flat(learner, ids, of):
    parts = []
    for module_id in ids:
        for _, param in sorted(learner.module[module_id].named_parameters()):
            value = of(param)
            parts.append(np.zeros(param.numel()) if value is None else value.detach().numpy())
    return np.concatenate([part.ravel() for part in parts])


@pytest.mark.parametrize("name", RULES["CASES"])
def test_updates_are_rays(name, monkeypatch):
    """The same noise and batches: the same losses, errors, gradients, weights, update by update."""
    case = RULES["CASES"][name]
    with np.load(GOLDEN / f"{name}.npz") as held:
        recorded = {key: held[key] for key in held.files}
    facts = json.loads(str(recorded["facts"]))
    ids = facts["ids"]
    learner = learner_of(case, ids)
    seen = {}
    apply_gradients = learner.apply_gradients
    monkeypatch.setattr(
        learner,
        "apply_gradients",
        lambda grads: (seen.update(now=flat(learner, ids, grads.get)), apply_gradients(grads)),
    )
    RULES["Noise"](torch).put(monkeypatch.setattr)

    for step, expected in enumerate(facts["results"]):
        told = learner.update(
            batch=batches_of(case, ids, step),
            timesteps={"num_env_steps_sampled_lifetime": 10 * step},
        )

        for place, module_id in enumerate(ids):
            theirs = {key: x for key, x in expected[module_id].items() if key != ONCE}
            ours = {key: float(told[module_id][key].peek()) for key in theirs}
            assert ours == pytest.approx(theirs, rel=1e-5, abs=1e-5, nan_ok=True), step
            if "td_errors" in recorded:
                (errors,) = told[module_id]["td_error"].peek()
                np.testing.assert_allclose(errors, recorded["td_errors"][step, place], **CLOSE)
            if "log_alpha" in recorded:
                log_alpha = learner.curr_log_alpha[module_id].item()
                assert log_alpha == pytest.approx(recorded["log_alpha"][step, place], abs=1e-5)
        if step in RULES["KEPT"]:
            at = RULES["KEPT"].index(step)
            np.testing.assert_allclose(seen["now"], recorded["gradients"][at], **CLOSE)
            weights = flat(learner, ids, lambda param: param)
            np.testing.assert_allclose(weights, recorded["weights"][at], **CLOSE)


@pytest.mark.parametrize("name", ["cql", "iql"])
def test_train_batches_of_recorded_rows_are_rays(name):
    """The same columns with the same numbers, of the same kinds."""
    config, _ = config_of(RULES["CASES"][name])
    with np.load(GOLDEN / "batches.npz") as held:
        wanted = {
            key.removeprefix(f"{name}/"): held[key]
            for key in held.files
            if key.startswith(f"{name}/")
        }

    made = OfflinePreLearner(config=config, spaces=(OBS, ACTS["box"]))(RULES["recorded"]())

    assert set(made) == set(wanted)
    for key, value in wanted.items():
        assert np.asarray(made[key]).dtype == value.dtype
        np.testing.assert_allclose(made[key], value, atol=1e-6, err_msg=key)
