"""What a learner promises to those who build on it."""

import numpy as np
import pytest
import torch
from rlconnect.core.errors import ConfigError, DuplicateNameError, EpisodeError
from rlconnect.v2 import (
    InfiniteLookbackBuffer,
    Learner,
    LossError,
    MultiRLModuleSpec,
    PPOTorchLearner,
    TorchLearner,
    UnknownModuleError,
    UnknownOptimizerError,
)
from rlconnect.v2.learning.module_holder import NotBuiltError
from rlconnect.v2.learning.update_losses import UpdateLosses

from tests.v2.learning.learning_cases import (
    MLP,
    episode,
    make_learner,
    ppo_spec,
    settings_of,
    several_episode_of,
    weights_of,
)

STEPS = {"num_env_steps_sampled_lifetime": 50}


class Squares(TorchLearner):
    """The loss is the mean square of what the policy gives."""

    def compute_loss_for_module(self, *, module_id, config, batch, fwd_out):
        return fwd_out["action_dist_inputs"].square().mean()


def batch_of(rows=6, ids=("default_policy",)):
    rng = np.random.default_rng(0)
    return {mid: {"obs": rng.normal(size=(rows, 3)).astype(np.float32)} for mid in ids}


def two_agents():
    rng = np.random.default_rng(0)
    columns = {
        agent: {
            "obs": rng.normal(size=(6, 3)).astype(np.float32),
            "actions": rng.integers(2, size=5),
            "rewards": rng.normal(size=5),
            "logits": rng.normal(size=(5, 2)).astype(np.float32),
            "logp": rng.normal(size=5).astype(np.float32) - 1,
        }
        for agent in "ab"
    }
    return several_episode_of(columns, name="m", done=True)


def changed(learner, before):
    """The modules whose weights are not those of before."""
    now = weights_of(learner)
    return {key.partition("/")[0] for key in now if not np.array_equal(now[key], before[key])}


def test_a_loss_of_your_own_is_descended():
    """A subclass that only gives a loss learns."""
    learner = make_learner(Squares, lr=0.05)

    losses = [
        learner.update(batch=batch_of())["default_policy"]["total_loss"].peek() for _ in range(20)
    ]

    assert losses[-1] < 0.5 * losses[0]


def test_the_hooks_are_called_in_order():
    """Before, then per minibatch losses, gradients, their changes and the step, then after."""
    calls = []

    def told(name):
        def method(self, *args, **kwargs):
            calls.append(name)
            return getattr(super(Told, self), name)(*args, **kwargs)

        return method

    names = (
        "before_gradient_based_update",
        "compute_losses",
        "compute_loss_for_module",
        "compute_gradients",
        "postprocess_gradients",
        "postprocess_gradients_for_module",
        "apply_gradients",
        "after_gradient_based_update",
    )
    Told = type("Told", (Squares,), {name: told(name) for name in names})

    make_learner(Told).update(batch=batch_of(4), minibatch_size=2)

    assert calls == [names[0], *names[1:-1], *names[1:-1], names[-1]]


def test_gradients_can_be_changed_for_a_module():
    """What the hook of a module returns is what is applied."""

    class Still(Squares):
        def postprocess_gradients_for_module(self, *, module_id, config, module_gradients_dict):
            return {ref: torch.zeros_like(grad) for ref, grad in module_gradients_dict.items()}

    learner = make_learner(Still, lr=1.0)
    before = weights_of(learner)

    learner.update(batch=batch_of())

    assert not changed(learner, before)


def test_optimizers_of_your_own():
    """A subclass may register other optimisers; each takes its own steps."""

    class TwoRates(Squares):
        def configure_optimizers_for_module(self, module_id, config=None):
            module = self.module[module_id]
            for name, part, lr in (("pi", module.pi, 0.0), ("encoder", module.encoder, 0.1)):
                params = self.get_parameters(part)
                self.register_optimizer(
                    module_id=module_id,
                    optimizer_name=name,
                    optimizer=torch.optim.SGD(params, lr=1.0),
                    params=params,
                    lr_or_lr_schedule=lr,
                )

    learner = make_learner(TwoRates)
    before = weights_of(learner)

    results = learner.update(batch=batch_of())

    moved = {
        key.split("/")[1].split(".")[0]
        for key, value in weights_of(learner).items()
        if not np.array_equal(value, before[key])
    }
    assert moved == {"encoder"}
    assert [name for name, _ in learner.get_optimizers_for_module("default_policy")] == [
        "pi",
        "encoder",
    ]
    assert results["default_policy"]["encoder_learning_rate"].peek() == 0.1


def test_a_parameter_dict_is_cut_to_an_optimizer():
    """Only parameters that the optimiser holds are left."""
    learner = make_learner(Squares)
    params = {ref: 1 for ref in learner.get_parameters(learner.module["default_policy"])}
    stranger = torch.nn.Parameter(torch.zeros(1))

    kept = learner.filter_param_dict_for_optimizer({**params, stranger: 1}, learner.get_optimizer())

    assert set(kept) == set(params)


@pytest.mark.parametrize(("by", "bound"), [("value", 1e-3), ("norm", 1e-3), ("global_norm", 1e-3)])
def test_gradients_are_clipped(by, bound):
    """No gradient that is applied is larger than the settings allow."""
    seen = []

    class Seen(Squares):
        def apply_gradients(self, gradients_dict):
            seen.append([grad.clone() for grad in gradients_dict.values()])
            super().apply_gradients(gradients_dict)

    make_learner(Seen, grad_clip=bound, grad_clip_by=by).update(batch=batch_of())

    norms = [grad.norm().item() for grad in seen[0]]
    largest = {
        "value": max(grad.abs().max().item() for grad in seen[0]),
        "norm": max(norms),
        "global_norm": float(np.linalg.norm(norms)),
    }[by]
    assert 0 < largest <= bound * (1 + 1e-4)


@pytest.mark.parametrize(
    ("settings", "is_told"),
    [
        ({}, False),
        ({"grad_clip": 40.0, "grad_clip_by": "global_norm"}, True),
        ({"grad_clip": 40.0, "grad_clip_by": "norm"}, False),
        ({"log_gradients": True}, True),
    ],
)
def test_the_norm_of_gradients_is_told_where_it_is_known(settings, is_told):
    """Ray 2.60 logs it when asked, and when it clips by it."""
    results = make_learner(**settings).update(episodes=[episode()], timesteps=STEPS)

    assert ("gradients_default_optimizer_global_norm" in results["default_policy"]) is is_told


def test_results_tell_how_old_the_weights_were_that_sampled():
    """The third update of episodes sampled with the first weights is two behind."""
    learner = make_learner()
    for _ in range(2):
        learner.update(episodes=[episode()], timesteps=STEPS)
    sampled = episode()
    sampled.extra_model_outputs["weights_seq_no"] = InfiniteLookbackBuffer(np.ones(5, int))

    results = learner.update(episodes=[sampled], timesteps=STEPS)

    lag = results["default_policy"]["diff_num_grad_updates_vs_sampler_policy"]
    assert float(lag.peek() if hasattr(lag, "peek") else lag) == 2.0


def test_same_seed_same_weights():
    """Two learners of one seed end with the same weights to the last bit."""
    ends = []
    for _ in range(2):
        learner = make_learner(lr=0.01, seed=3)
        for number in range(2):
            learner.update(
                episodes=[episode(9, number)],
                timesteps=STEPS,
                num_epochs=3,
                minibatch_size=4,
                shuffle_batch_per_epoch=True,
            )
        ends.append(weights_of(learner))

    assert all(np.array_equal(ends[0][key], ends[1][key]) for key in ends[0])


@pytest.mark.parametrize("chosen", [["p_a"], lambda module_id, batch: module_id == "p_a"])
def test_only_chosen_modules_learn(chosen):
    """Modules that are not to be trained keep their weights, and report no loss."""
    learner = make_learner(ids=("p_a", "p_b"), lr=0.1, policies_to_train=chosen)
    before = weights_of(learner)

    results = learner.update(episodes=[two_agents()], timesteps=STEPS)

    assert changed(learner, before) == {"p_a"}
    assert "total_loss" not in results["p_b"]
    assert learner.should_module_be_updated("p_a")
    assert not learner.should_module_be_updated("p_b")


def test_modules_come_and_go():
    """An added module learns with its own settings; a removed one leaves nothing behind."""
    learner = make_learner(Squares, lr=0.1)

    spec = learner.add_module(
        module_id="late",
        module_spec=ppo_spec(),
        config_overrides={"lr": 0.25},
        new_should_module_be_updated=["late"],
    )

    before = weights_of(learner)
    learner.update(batch=batch_of(ids=("default_policy", "late")))
    assert set(spec.rl_module_specs) == {"default_policy", "late"}
    assert learner.get_optimizer("late").param_groups[0]["lr"] == 0.25
    assert changed(learner, before) == {"late"}
    rest = learner.remove_module("default_policy")
    assert set(rest.rl_module_specs) == {"late"}
    assert learner.get_optimizers_for_module("default_policy") == []
    assert set(learner.get_state()["optimizer"]) == {"late_default_optimizer"}


def test_learning_goes_on_where_it_was_saved(tmp_path):
    """A learner restored from a folder takes the very steps the first one would have taken."""
    settings = {
        "num_epochs": 2,
        "minibatch_size": 4,
        "shuffle_batch_per_epoch": True,
        "timesteps": STEPS,
    }
    first, second = (make_learner(lr=0.01) for _ in range(2))
    first.update(episodes=[episode(8, 1)], **settings)

    second.set_state(first.get_state())
    for learner in (first, second):
        learner.update(episodes=[episode(8, 2)], **settings)

    ours, theirs = weights_of(first), weights_of(second)
    assert all(np.array_equal(ours[key], theirs[key]) for key in ours)
    assert float(first.curr_kl_coeffs_per_module["default_policy"]) == float(
        second.curr_kl_coeffs_per_module["default_policy"]
    )


def test_state_has_rllibs_parts():
    """Weights by module id, optimisers by full name; parts can be asked for alone."""
    learner = make_learner()
    learner.update(episodes=[episode()], timesteps=STEPS)

    state = learner.get_state()

    assert {"rl_module", "optimizer", "metrics_logger", "weights_seq_no"} <= set(state)
    held = state["optimizer"]["default_policy_default_optimizer"]
    assert held["module_id"] == "default_policy"
    assert isinstance(held["state"]["state"][0]["exp_avg"], np.ndarray)
    assert "optimizer" not in learner.get_state("rl_module/default_policy")
    assert "rl_module" not in learner.get_state(not_components="rl_module")


def test_modules_may_start_from_a_checkpoint(tmp_path):
    """A spec that names a checkpoint gives a learner its weights."""
    trained = make_learner(Squares, seed=5)
    path = trained.module["default_policy"].save_to_path(tmp_path / "module")
    spec = ppo_spec()
    spec.load_state_path = path

    learner = Squares(config=settings_of(seed=6), module_spec=spec)
    learner.build()

    ours, theirs = weights_of(learner), weights_of(trained)
    assert all(np.array_equal(ours[key], theirs[key]) for key in ours)


def test_a_wrong_reward_is_told_before_it_reaches_the_weights():
    """The error names the module and the terms, and the weights are as they were."""
    learner = make_learner()
    spoilt = episode()
    spoilt.rewards.data[2] = np.nan
    before = weights_of(learner)

    with pytest.raises(LossError, match=r"default_policy.*is nan") as caught:
        learner.update(episodes=[spoilt], timesteps=STEPS)

    assert caught.value.module_id == "default_policy"
    assert set(caught.value.terms) == {"policy_loss", "vf_loss"}
    assert not changed(learner, before)


def test_a_wrong_sum_of_fine_terms_is_told_as_such():
    """Terms that are finite are named as fine; without any nothing is said of them."""
    fine = {"policy_loss": torch.tensor(1.0), "vf_loss": torch.tensor(2.0)}

    check = UpdateLosses()
    check.know_terms("a", fine)

    with pytest.raises(LossError) as summed:
        check.look_at({"a": torch.tensor(np.nan)})
    with pytest.raises(LossError) as alone:
        check.look_at({"b": torch.tensor(np.nan)})

    assert summed.value.found == "nan though its terms 'policy_loss', 'vf_loss' are finite"
    assert alone.value.found == "nan"


def test_steps_of_wrong_gradients_can_be_skipped():
    """With `torch_skip_nan_gradients` such a step is left out instead."""
    learner = make_learner(torch_skip_nan_gradients=True)
    spoilt = episode()
    spoilt.rewards.data[2] = np.nan
    before = weights_of(learner)

    learner.update(episodes=[spoilt], timesteps=STEPS)

    assert not changed(learner, before)


def test_schedules_follow_the_steps_sampled():
    """The learning rate and the entropy's weight are those of the steps told."""
    learner = make_learner(lr=[[0, 0.1], [100, 0.0]], entropy_coeff=[[0, 0.2], [100, 0.0]])

    results = learner.update(episodes=[episode()], timesteps=STEPS)["default_policy"]

    assert learner.get_optimizer().param_groups[0]["lr"] == pytest.approx(0.05)
    assert results["default_optimizer_learning_rate"].peek() == pytest.approx(0.05)
    assert results["curr_entropy_coeff"].peek() == pytest.approx(0.1)


def test_sequences_of_recurrent_modules_are_learnt_from():
    """An LSTM's weights move, and the padding is not counted."""
    model = {**MLP, "use_lstm": True, "lstm_cell_size": 3, "max_seq_len": 4}
    learner = make_learner(model=model, lr=0.01)
    before = weights_of(learner)

    results = learner.update(episodes=[episode(9)], timesteps=STEPS, num_epochs=2, minibatch_size=8)

    now = weights_of(learner)
    assert all(not np.array_equal(now[key], before[key]) for key in now if "lstm" in key)
    assert results["default_policy"]["num_module_steps_trained"].peek() == 20


@pytest.mark.parametrize(
    ("act", "error", "match"),
    [
        (lambda learner: learner.get_optimizer("nope"), UnknownOptimizerError, "nope"),
        (lambda learner: learner.get_optimizer("default_policy", "x"), KeyError, "'x'"),
        (
            lambda learner: learner.filter_param_dict_for_optimizer(
                {}, torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
            ),
            UnknownOptimizerError,
            "not registered",
        ),
        (lambda learner: learner.remove_module("nope"), UnknownModuleError, "nope"),
        (lambda learner: learner.update(batch=batch_of(ids=("x",))), UnknownModuleError, "'x'"),
        (lambda learner: learner.update(), ConfigError, "exactly one"),
        (lambda learner: learner.update(episodes=[]), EpisodeError, "nothing to learn"),
        (lambda learner: learner.update(batch=[1]), ConfigError, "by module id"),
        (
            lambda learner: learner.update(
                batch={"default_policy": {"obs": np.zeros((4, 3)), "actions": np.zeros(3)}}
            ),
            ConfigError,
            "'actions'.*does not fit",
        ),
        (
            lambda learner: learner.add_module(module_id="default_policy", module_spec=ppo_spec()),
            DuplicateNameError,
            "default_policy",
        ),
        (
            lambda learner: learner.register_optimizer(
                module_id="default_policy", optimizer=object(), params=[]
            ),
            ConfigError,
            "torch.optim.Optimizer",
        ),
    ],
)
def test_mistakes_are_told_by_name(act, error, match):
    """Wrong ids, data and optimisers raise at once, with what was wrong."""
    learner = make_learner(Squares)

    with pytest.raises(error, match=match):
        act(learner)


def test_a_loss_must_be_a_tensor():
    """A loss function that forgets to return is named."""

    class Forgot(TorchLearner):
        def compute_loss_for_module(self, *, module_id, config, batch, fwd_out):
            return None

    with pytest.raises(ConfigError, match="gave no loss for module 'default_policy'"):
        make_learner(Forgot).update(batch=batch_of())


def test_nothing_works_before_build():
    """A learner that is not built says so."""
    learner = PPOTorchLearner(config=settings_of(), module_spec=ppo_spec())

    with pytest.raises(NotBuiltError, match="not built"):
        learner.update(episodes=[episode()])


def test_modules_or_their_spec():
    """A learner takes modules that are there as well as a spec, but needs one of them."""
    module = MultiRLModuleSpec(rl_module_specs={"a": ppo_spec()}).build()
    learner = Squares(config=settings_of(), module=module)
    learner.build()

    assert learner.module is module
    assert issubclass(PPOTorchLearner, Learner)
    with pytest.raises(ConfigError, match="exactly one"):
        Squares(config=settings_of())


def test_without_a_gpu_it_says_that_it_learns_on_the_cpu(monkeypatch):
    """Asking for a GPU where there is none warns and goes on."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    with pytest.warns(UserWarning, match="learning on the CPU"):
        learner = make_learner(Squares, num_gpus_per_learner=1)

    assert learner.device.type == "cpu"


@pytest.mark.gpu
def test_a_gpu_learns_what_a_cpu_learns():
    """Modules and batches are on the GPU; the weights end where the CPU's do."""
    ends = []
    for gpus in (0, 1):
        learner = make_learner(lr=0.01, num_gpus_per_learner=gpus)
        for number in range(2):
            learner.update(
                episodes=[episode(9, number)], timesteps=STEPS, num_epochs=2, minibatch_size=4
            )
        ends.append(weights_of(learner))
    assert learner.device.type == "cuda"

    for key, value in ends[0].items():
        np.testing.assert_allclose(ends[1][key], value, rtol=1e-3, atol=1e-4)


@pytest.mark.gpu
def test_a_gpu_tells_wrong_losses_too():
    """After the update, since nothing waits for single losses there."""
    learner = make_learner(num_gpus_per_learner=1)
    spoilt = episode()
    spoilt.rewards.data[2] = np.nan

    with pytest.raises(LossError, match="default_policy"):
        learner.update(episodes=[spoilt], timesteps=STEPS)
