"""Learners in processes: equal to one with all rows, and clear about what goes wrong."""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from rlconnect.v2 import (
    CQLConfig,
    DQNConfig,
    LearnerGroup,
    MARWILTorchLearner,
    MultiRLModuleSpec,
    PPOConfig,
    PPOTorchLearner,
    SACConfig,
)
from rlconnect.v2.learning.extra_learners import (
    LearnerError,
    LearnerProcesses,
    LostLearnerError,
)
from rlconnect.v2.learning.learner_worker import LearnerPlan
from rlconnect.v2.learning.minibatches import Epochs, minibatches
from rlconnect.v2.learning.update_losses import LossError
from rlconnect.v2.modules.row_part import RowPart, drawn_for_all

from tests.v2.learning.learning_cases import (
    ACTS,
    MLP,
    OBS,
    episode,
    make_learner,
    ppo_spec,
    settings_of,
    several_episode_of,
)

ENDINGS = (signal.SIGINT, signal.SIGKILL)
STEPS = {"num_env_steps_sampled_lifetime": 100}


class Failing(PPOTorchLearner):
    """Raises what it is told to, where it is told."""

    def compute_loss_for_module(self, *, batch, **given):
        loss = super().compute_loss_for_module(batch=batch, **given)
        wanted = self.config.learner_config_dict.get("fails")
        if wanted and self.distributed and self._peers.index == 1:
            if wanted == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            return loss * float("nan")
        return loss


class Ending(PPOTorchLearner):
    """Sends a signal to the process that has begun it, in the middle of an update."""

    def compute_loss_for_module(self, **given):
        if self.distributed and self._peers.index == 1:
            os.kill(os.getppid(), self.config.learner_config_dict["signal"])
        return super().compute_loss_for_module(**given)


def group_of(count, cls=PPOTorchLearner, *, model=MLP, **settings):
    settings = settings_of(cls, num_learners=count, **settings)
    specs = MultiRLModuleSpec(rl_module_specs={"default_policy": ppo_spec(model)})
    return LearnerGroup(config=settings, module_spec=specs)


def weights_of(group):
    return group.get_weights()["default_policy"]


def distance(one, other):
    return max(float(np.abs(one[name] - other[name]).max()) for name in one)


def of_learner(learner):
    return {
        name: param.detach().numpy()
        for name, param in learner.module["default_policy"].named_parameters()
    }


def is_there(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture(scope="module")
def two():
    """Two learners of a module with a memory, whose rows are masked."""
    model = {**MLP, "use_lstm": True, "lstm_cell_size": 3, "max_seq_len": 4}
    groups = [group_of(count, model=model, lr=1e-3, grad_clip=0.5) for count in (0, 2)]
    yield groups
    groups[1].shutdown()


def test_many_updates_leave_equal_weights(two):
    """Uneven sequences, several epochs, clipping: the learners are equal, and equal to one."""
    one, group = two
    episodes = [episode(steps, seed=steps, name=str(steps)) for steps in (3, 9, 6, 1, 11)]

    for number in range(6):
        random_state = torch.get_rng_state()
        results = []
        for each, size in ((one, 12), (group, 6)):
            torch.set_rng_state(random_state)
            results += each.update(
                episodes=[own.slice(slice(None)) for own in episodes[number % 3 :]],
                timesteps=STEPS,
                minibatch_size=size,
                num_epochs=2,
                shuffle_batch_per_epoch=True,
            )
        if not number:
            assert distance(weights_of(one), weights_of(group)) < 1e-6
            ours, theirs = (each["default_policy"] for each in results)
            for name in ("total_loss", "mean_kl_loss", "policy_loss", "num_module_steps_trained"):
                assert ours[name].peek() == pytest.approx(theirs[name].peek(), abs=1e-6)

    first, second = (each.get() for each in group.foreach_learner(of_learner))
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert distance(weights_of(one), weights_of(group)) < 1e-4
    coefficients = [
        each.get()
        for each in group.foreach_learner(lambda own: dict(own.curr_kl_coeffs_per_module))
    ]
    assert coefficients[0] == coefficients[1] == dict(one._learner.curr_kl_coeffs_per_module)


def test_state_comes_and_goes_whole(two):
    """What one learner holds, two take over; what two have learnt, one takes over, moments too."""
    one, group = two
    state = group.get_state()
    one.set_state(state)
    group.set_state(one.get_state())

    assert distance(weights_of(one), weights_of(group)) == 0.0
    held = [each["learner"]["optimizer"] for each in (one.get_state(), group.get_state())]
    np.testing.assert_equal(held[0], held[1])

    changed = {name: value * 0.5 for name, value in weights_of(group).items()}
    group.set_weights({"default_policy": changed})
    for each in group.foreach_learner(lambda own: own.get_state("rl_module")["rl_module"]):
        np.testing.assert_equal(each.get()["default_policy"], changed)


def test_a_call_that_raises_is_told_and_forgotten(two):
    """The error has its own type, its cause names the learner, and the group goes on."""
    _, group = two

    with pytest.raises(ZeroDivisionError) as caught:
        group.foreach_learner(lambda learner: 1 / 0)

    assert isinstance(caught.value.__cause__, LearnerError)
    assert caught.value.__cause__.learner == 0
    assert len(group.foreach_learner(lambda learner: learner.distributed)) == len(group) == 2


def test_torchs_compiler_is_not_imported(two):
    """It takes a learner seconds to begin with, and nobody compiles."""
    _, group = two
    group.update(episodes=[episode(8)], timesteps=STEPS)
    group.get_state()

    loaded = group.foreach_learner(lambda learner: "torch._dynamo" in sys.modules)

    assert [each.get() for each in loaded] == [False, False]


@pytest.mark.parametrize("fails", ["raise", "kill"])
def test_a_learner_that_fails_ends_all(fails, forked):
    """What happened is told with its type and the learner; no process stays behind."""
    group = group_of(2, Failing, learner_config_dict={"fails": fails})
    before = weights_of(group)
    processes = [each.get() for each in group.foreach_learner(lambda learner: os.getpid())]
    kind = {"raise": LossError, "kill": LostLearnerError}[fails]

    with pytest.raises(kind) as caught:
        group.update(episodes=[episode(8)], timesteps=STEPS)

    assert caught.value.facts["learner"] == 1
    assert f"learner 1 (process {processes[1]})" in str(caught.value)
    assert not any(map(is_there, processes))
    assert distance(before, weights_of(group)) == 0.0
    with pytest.raises(LearnerError, match="have ended"):
        group.update(episodes=[episode(8)])


def test_none_outlives_the_process_that_has_begun_it():
    """Ctrl-C and a kill, in the middle of an update: its output ends, which learners hold, too."""
    code = f"""
import os, signal
from tests.v2.learning.conftest import extra_learners
from tests.v2.learning.test_learners import Ending, STEPS, episode, group_of
signal.signal(signal.SIGINT, signal.default_int_handler)  # It may be ignored around the tests.
extra_learners.START_METHOD = "fork"
for ending in {[*map(int, ENDINGS)]}:
    if not os.fork():
        group = group_of(2, Ending, learner_config_dict={{"signal": ending}})
        print(*(each.get() for each in group.foreach_learner(lambda _: os.getpid())), flush=True)
        raise SystemExit(group.update(episodes=[episode(8)], timesteps=STEPS))
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""
    root = Path(__file__).parents[3]
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE, text=True, check=True
    )

    # It was waited for until nobody could write there any more.
    lines = ended.stdout.splitlines()
    assert [int(line) for line in lines[1::2]] == [-ending for ending in ENDINGS]
    assert [len(line.split()) for line in lines[::2]] == [2, 2]


def test_a_learner_that_cannot_be_built_is_told(forked):
    """The error of its constructor, and no process stays."""
    with pytest.raises(LearnerError, match="learner 0"):
        LearnerProcesses(
            lambda address: LearnerPlan(_raising, settings_of(), None, {}, 0, 1, address, False, 1),
            1,
        )


def _raising(**given):
    raise LearnerError("cannot be built")


def from_replay(kind, env, **settings):
    """An algorithm that learns from a buffer, ten updates an iteration."""
    return (
        kind()
        .environment(env)
        .env_runners(num_env_runners=0)
        .training(
            num_steps_sampled_before_learning_starts=20,
            target_network_update_freq=10,
            **settings,
        )
        .reporting(min_sample_timesteps_per_iteration=30, min_time_s_per_iteration=0)
    )


def from_records(kind, **settings):
    """An algorithm that learns from recorded steps, four updates an iteration."""
    rng = np.random.default_rng(0)
    made = []
    for seed in range(3):
        recorded = episode(12, seed, name=str(seed), act="box")
        recorded.set_actions(new_data=rng.uniform(-1, 1, (12, 2)).astype(np.float32))
        made.append(recorded)
    return (
        kind()
        .environment(observation_space=OBS, action_space=ACTS["box"])
        .training(**settings)
        .offline_data(input_=made, dataset_num_iters_per_learner=4)
        .reporting(min_time_s_per_iteration=0)
    )


FAMILIES = {
    "DQN": lambda: from_replay(DQNConfig, "CartPole-v1", n_step=2),
    "SAC": lambda: from_replay(SACConfig, "Pendulum-v1"),
    "CQL": lambda: from_records(CQLConfig, num_actions=3, bc_iters=2),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_other_algorithms_learn_the_same_with_two(family, forked):
    """Priorities, drawn actions, schedules: weights and numbers are those of one learner."""
    found = []
    for count in (0, 2):
        config = FAMILIES[family]().learners(num_learners=count).debugging(seed=3)
        config.training(train_batch_size_per_learner=24 // max(count, 1))
        algo = config.rl_module(model_config={"fcnet_hiddens": [8]}).build_algo()
        told = algo.train()["learners"]
        found.append((algo.get_weights()["default_policy"], told))
        algo.stop()

    (alone, numbers), (shared, numbers_of_two) = found
    assert distance(alone, shared) < 1e-4  # Adam makes large steps of small gradients.
    assert numbers["__all_modules__"]["num_module_steps_trained_lifetime"] > 0
    approx = partial(pytest.approx, rel=1e-3, abs=1e-4)
    for module_id, own in numbers.items():
        for name, value in own.items():
            is_same = not name.endswith(("_batch_size_mean", "_throughput"))
            if isinstance(value, (int, float)) and is_same:
                assert numbers_of_two[module_id][name] == approx(value), name


def test_modules_with_other_numbers_of_rows(forked):
    """Several agents: the rows of each are shared, whatever the others have."""
    ids = ("p_a", "p_b")

    def columns(steps, seed):
        rng = np.random.default_rng(seed)
        return {
            "obs": rng.normal(size=(steps + 1, 3)).astype(np.float32),
            "actions": rng.integers(2, size=steps),
            "rewards": rng.normal(size=steps),
            "logits": rng.normal(size=(steps, 2)).astype(np.float32),
            "logp": rng.normal(size=steps).astype(np.float32) - 1,
        }

    lives = [{"a": columns(7, 1), "b": columns(7, 2)}, {"a": columns(5, 3)}]
    found = []
    for count in (0, 2):
        specs = MultiRLModuleSpec(rl_module_specs={each: ppo_spec() for each in ids})
        group = LearnerGroup(
            config=settings_of(num_learners=count, ids=ids, lr=1e-3), module_spec=specs
        )
        (told,) = group.update(
            episodes=[several_episode_of(own, name="x", done=True) for own in lives],
            timesteps=STEPS,
            minibatch_size=8 // max(count, 1),
            num_epochs=2,
            shuffle_batch_per_epoch=True,
        )
        found.append((group.get_weights(), told))
        group.shutdown()

    for each in ids:
        assert distance(found[0][0][each], found[1][0][each]) < 1e-6
        for name in ("total_loss", "vf_explained_var", "num_module_steps_trained"):
            ours, theirs = (told[each][name].peek() for _, told in found)
            assert float(ours) == pytest.approx(float(theirs), abs=1e-5), (each, name)


def test_a_run_goes_on_with_another_number(tmp_path, forked):
    """A checkpoint made by two learners is one learner's, and goes on as theirs."""
    config = (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=0)
        .training(train_batch_size=64, minibatch_size=16, num_epochs=2, lr=1e-4)
        .learners(num_learners=2)
        .rl_module(model_config={"fcnet_hiddens": [8]})
        .debugging(seed=3)
    )
    algo = config.build_algo()
    algo.train()
    algo.save_to_path(tmp_path)
    algo.train()
    alone = config.learners(num_learners=0).training(minibatch_size=32).build_algo()
    alone.restore_from_path(tmp_path)
    alone.train()

    weights = [each.get_weights()["default_policy"] for each in (algo, alone)]
    algo.stop()
    assert distance(*weights) < 1e-6


def test_parts_of_minibatches_are_the_minibatches():
    """Whatever the number of learners, rows are those of one learner, in the same order."""
    batch = {"p": {"obs": torch.arange(23)}}
    for size in (None, 1, 5):
        epochs = Epochs(3, size, shuffle=True)
        whole = [each["p"]["obs"] for each in minibatches(batch, epochs, np.random.default_rng(0))]
        for count in (2, 3):
            parts = [
                [
                    each["p"]["obs"][: 0 if each["p"].part.is_stand_in else None]
                    for each in minibatches(
                        batch,
                        epochs,
                        np.random.default_rng(0),
                        lambda rows, i=i, count=count: RowPart.of(rows, i, count),
                    )
                ]
                for i in range(count)
            ]
            for rows, *own in zip(whole, *parts, strict=True):
                torch.testing.assert_close(torch.cat(own), rows)


def test_draws_are_those_of_all_rows():
    """A learner draws for its rows what one learner with all of them draws."""
    inputs = torch.randn(5, 2)
    torch.manual_seed(0)
    whole = inputs + torch.randn(5, 2)

    class Batch(dict):
        part = RowPart.of(5, 1, 2)

    torch.manual_seed(0)
    (own,) = drawn_for_all(Batch(), inputs[2:], lambda rows: (rows + torch.randn(rows.shape),))
    torch.testing.assert_close(own, whole[2:])


def test_re_weighted_cloning(forked):
    """The average of squared advantages is over all rows, too."""
    cls = MARWILTorchLearner
    alone = make_learner(cls, lr=1e-3)
    config = settings_of(cls, num_learners=2, lr=1e-3)
    group = LearnerGroup(config=config, module_spec=alone._module_spec)
    group.set_state({"learner": alone.get_state()})
    for _ in range(2):
        alone.update(episodes=[episode(7), episode(4, seed=2, name="f")])
        group.update(episodes=[episode(7), episode(4, seed=2, name="f")])
    ours, theirs = alone.get_state(), group.get_state()["learner"]
    group.shutdown()

    assert (
        distance(ours["rl_module"]["default_policy"], theirs["rl_module"]["default_policy"]) < 1e-6
    )
    norms = [each["moving_avg_sqd_adv_norms"] for each in (ours, theirs)]
    assert norms[0] == pytest.approx(norms[1])
