"""How new policies learn in the field: from scratch, taught by the old one, or grown out of it."""

import math
from dataclasses import dataclass
from pathlib import Path

import rlconnect
import torch
from field_cart import FieldCart
from rlconnect.adapters import AddRates, SelectFeatures
from rlconnect.v2 import PPOConfig

SEES = (SelectFeatures([0, 1]), AddRates([0, 1], seconds=0.02), SelectFeatures([0, 2, 1, 3]))
"""From what the field gives to what the old policy knows: velocities are differences."""

MEMORY = {"use_lstm": True, "lstm_cell_size": 64, "max_seq_len": 20}
WAYS = ("scratch", "taught", "grafted")


@dataclass
class Curve:
    """How one policy learnt.

    Args:
        way: How it began.
        seed: Of all its draws.
        steps: Environment steps so far, those of lessons included.
        returns: The mean return of the episodes that ended in each iteration, exploring.
        seconds: CPU time.
        folder: The policy at the end.
        told: What was proven or reached before it trained by itself.
    """

    way: str
    seed: int
    steps: list
    returns: list
    seconds: float
    folder: Path
    told: str


def adapted(old):
    """The old policy, acting in the field."""
    return rlconnect.adapt(old, env=FieldCart(), obs=SEES)


def ppo(config, seed, steps):
    """The same PPO for all."""
    return (
        config.environment(FieldCart)
        .env_runners(
            num_env_runners=0,
            num_envs_per_env_runner=16,
            rollout_fragment_length=128,
            explore=True,
        )
        .training(
            train_batch_size=2048,
            minibatch_size=256,
            num_epochs=6,
            lr=[[0, 1e-3], [steps, 1e-4]],
            gamma=0.99,
            lambda_=0.95,
            grad_clip=0.5,
            clip_param=0.2,
            use_kl_loss=False,
            entropy_coeff=0.0,
            vf_loss_coeff=0.5,
            vf_clip_param=math.inf,
        )
        .debugging(seed=seed)
    )


def fresh():
    """A config of a new network with a memory."""
    model = {"fcnet_hiddens": [64], "fcnet_activation": "tanh", **MEMORY}
    return PPOConfig().rl_module(model_config=model)


def learnt(way, seed, old, folder, steps, lessons):
    """Train one policy in one way, and save it.

    Args:
        way: One of `WAYS`.
        seed: Of all draws.
        old: The old checkpoint.
        folder: Where it is written.
        steps: Environment steps, those of lessons included.
        lessons: How many of them a teacher's lessons have at most.
    """
    torch.set_num_threads(1)
    from time import process_time

    begun = process_time()
    folder, before, told = Path(folder), 0, ""
    if way == "scratch":
        config = fresh()
    elif way == "taught":
        taught = rlconnect.teach(
            ppo(fresh(), seed, steps), adapted(old), until=0.98, steps=lessons, seed=seed
        )
        taught.save(folder / "taught")
        before, told = taught.lessons[-1].steps, str(taught)
        config = PPOConfig().from_migrated(folder / "taught")
    else:
        grown = rlconnect.graft(old, FieldCart(), obs=SEES, network=MEMORY, seed=seed)
        rlconnect.migrate(grown, folder / "grafted")
        told = grown.migration["graft"]["proof"]["words"]
        config = PPOConfig().from_migrated(folder / "grafted")
    config = ppo(config, seed, steps)
    if way != "scratch":
        rlconnect.kickstart(config, adapted(old), [[0, 1.0], [steps // 4, 0.0]])
    algorithm = config.build_algo()
    at, returns = [], []
    while not at or at[-1] < steps:
        runners = algorithm.train()["env_runners"]
        at.append(before + int(runners["num_env_steps_sampled_lifetime"]))
        returns.append(float(runners["episode_return_mean_this_iter"]))
    algorithm.save(folder / "trained")
    algorithm.stop()
    return Curve(way, seed, at, returns, process_time() - begun, folder / "trained", told)
