"""Learners of SAC, CQL and IQL beside their numbers: states, modules that come and go, mistakes."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Discrete
from rlconnect.core.errors import ConfigError, PieceError, SpaceError
from rlconnect.v2 import CQLConfig, DefaultPPOTorchRLModule, IQLConfig, RLModuleSpec, SACConfig

from tests.v2.learning.test_golden_soft_updates import ACTS, OBS, batches_of, learner_of

ONE = ("default_policy",)
KINDS = [SACConfig, CQLConfig, IQLConfig]
NAMES = {SACConfig: "SAC", CQLConfig: "CQL", IQLConfig: "IQL"}


def made(kind=SACConfig, **training):
    act = training.pop("act", "box")
    return learner_of({"algorithm": NAMES[kind], "act": act, "training": training})


def update(learner, step=0, **case):
    return learner.update(batch=batches_of(case, ONE, step), timesteps={})["default_policy"]


def weights(learner):
    return {key: np.array(each) for key, each in learner.module.get_state()[ONE[0]].items()}


@pytest.mark.parametrize("kind", KINDS)
def test_a_learner_goes_on_where_it_was(kind):
    """Weights, copies, optimisers, temperature, counts: with them the next update is the same."""
    first, second = made(kind), made(kind)
    for step in range(3):
        update(first, step)
    second.set_state(first.get_state())
    assert second.get_state().keys() == first.get_state().keys()

    for learner in (first, second):
        torch.manual_seed(5)
        update(learner, 3)

    for key, value in weights(first).items():
        np.testing.assert_array_equal(weights(second)[key], value, err_msg=key)


def test_the_temperature_is_saved():
    """Ray forgets it; here it is part of the state, and the optimiser goes on with it."""
    learner = made()
    update(learner)
    other = made()
    other.set_state(learner.get_state())

    assert learner.get_state()["curr_log_alpha"][ONE[0]] != 0
    assert other.curr_log_alpha[ONE[0]].item() == learner.curr_log_alpha[ONE[0]].item()
    (held,) = other.get_optimizer(ONE[0], "alpha").param_groups[0]["params"]
    assert held is other.curr_log_alpha[ONE[0]]


def test_one_q_network_for_discrete_actions():
    """Ray needs the twin there; one is enough."""
    told = update(made(act="discrete", twin_q=False), act="discrete")

    assert "qf_twin_loss" not in told
    assert np.isfinite(float(told["policy_loss"].peek()))


def test_cloning_ends():
    """The policy clones until `bc_iters` gradient steps are made, over any number of updates."""
    cloning, other = made(CQLConfig, bc_iters=100), made(CQLConfig, bc_iters=3)
    losses = []
    for learner in (cloning, other):
        torch.manual_seed(0)
        losses.append([float(update(learner, step)["policy_loss"].peek()) for step in range(3)])

    assert losses[0][:2] == losses[1][:2]
    assert losses[0][2] != losses[1][2]
    assert other.get_state()["bc_iterations"] == 3


@pytest.mark.parametrize("kind", KINDS)
def test_modules_come_and_go(kind):
    """An added module has copies, optimisers and settings of its own; a removed one leaves none."""
    learner = made(kind)
    spec = RLModuleSpec(
        type(learner.module[ONE[0]]), OBS, ACTS["box"], model_config=learner.config.model_config
    )

    learner.add_module(module_id="new", module_spec=spec, config_overrides={"tau": 1.0})
    learner.update(batch={"new": batches_of({}, ONE, 0)[ONE[0]]}, timesteps={})

    new = learner.module["new"]
    assert torch.equal(new.qf.net.mlp[0].weight, new.target_qf.net.mlp[0].weight)
    assert len(learner.get_optimizers_for_module("new")) == 4
    learner.remove_module("new")
    assert not learner.get_optimizers_for_module("new")
    assert "new" not in str(learner.get_state(not_components="metrics_logger"))


def test_an_expectile_of_an_added_module_is_its_own():
    """Ray takes `beta` for it."""
    learner = made(IQLConfig, expectile=0.7, beta=3.0)
    spec = RLModuleSpec(
        type(learner.module[ONE[0]]), OBS, ACTS["box"], model_config=learner.config.model_config
    )
    learner.add_module(module_id="new", module_spec=spec)

    assert learner.expectile["new"].item() == pytest.approx(0.7)


def test_missing_columns_are_named():
    """A batch that no buffer made says what it lacks."""
    batch = batches_of({}, ONE, 0)
    del batch[ONE[0]]["n_step"]
    with pytest.raises(PieceError, match="n_step"):
        made().update(batch=batch, timesteps={})


def test_a_module_of_another_kind_is_refused():
    """A module without Q networks cannot be trained by SAC."""
    config = SACConfig().environment(observation_space=OBS, action_space=ACTS["box"])
    config.rl_module(rl_module_spec=RLModuleSpec(DefaultPPOTorchRLModule))
    with pytest.raises(ConfigError, match="qf_encoder"):
        config.build_learner(spaces={ONE[0]: (OBS, ACTS["box"])})


def test_every_optimizer_needs_a_loss():
    """An optimiser of one's own without a loss is named."""
    learner = made()
    extra = torch.nn.Parameter(torch.zeros(1))
    learner.register_optimizer(
        module_id=ONE[0], optimizer_name="mine", optimizer=torch.optim.SGD([extra]), params=[extra]
    )
    with pytest.raises(ConfigError, match="mine_loss"):
        update(learner)


@pytest.mark.parametrize("kind", [CQLConfig, IQLConfig])
def test_discrete_actions_are_refused(kind):
    """CQL and IQL are for actions in a Box."""
    config = kind().environment(observation_space=OBS, action_space=Discrete(3))
    with pytest.raises(SpaceError, match="Box"):
        config.build_learner(spaces={ONE[0]: (OBS, Discrete(3))})


@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        (SACConfig, {"lr": 1e-3}),
        (SACConfig, {"q_model_config": {"fcnet_hiddens": [8]}}),
        (SACConfig, {"_deterministic_loss": True}),
        (CQLConfig, {"lagrangian": True}),
        (CQLConfig, {"lr": 1e-3}),
        (IQLConfig, {"lr": 1e-3}),
        (IQLConfig, {"expectile": 1.0}),
        (IQLConfig, {"beta": 0.0}),
    ],
)
def test_settings_without_effect_are_refused(kind, setting):
    """What nothing would come of, or no sense, is an error that says what to set."""
    (name,) = setting
    with pytest.raises(ConfigError, match=name):
        kind().training(**setting)


def test_defaults_are_rays():
    """The numbers of Ray 2.60."""
    sac, cql, iql = SACConfig(), CQLConfig(), IQLConfig()

    assert (sac.actor_lr, sac.critic_lr, sac.alpha_lr, sac.tau) == (3e-5, 3e-4, 3e-4, 5e-3)
    assert (sac.train_batch_size_per_learner, sac.target_entropy, sac.lr) == (256, "auto", None)
    assert (cql.actor_lr, cql.critic_lr, cql.alpha_lr, cql.bc_iters) == (1e-4, 1e-3, 1e-3, 20000)
    assert (cql.temperature, cql.num_actions, cql.min_q_weight) == (1.0, 10, 5.0)
    assert (cql.min_train_timesteps_per_iteration, cql.deterministic_backup) == (100, True)
    assert (iql.beta, iql.expectile, iql.tau, iql.twin_q) == (0.1, 0.8, 1.0, True)
    assert (iql.actor_lr, iql.critic_lr, iql.value_lr, iql.lr) == (3e-4, 3e-4, 3e-4, None)
