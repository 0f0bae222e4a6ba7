"""A whole PPO on CartPole in one file, written by hand: what the maths alone costs.

The same maths and sizes as `v2.ppo.cartpole.iter`: 8 environments, 2,048 steps an iteration,
separate networks of 64 x 64 for policy and values, minibatches of 256, 4 epochs, clipping at 0.3,
values clipped at 10, an adaptive divergence, Adam. No connectors, episodes, metrics or hooks.
A benchmark imports `Yardstick` and runs it in turns with the real thing; alone:

    python benchmarks/ppo_yardstick.py --iterations 60
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from time import perf_counter

import gymnasium as gym
import numpy as np
import torch
from torch import nn


@dataclass
class Settings:
    """PPO's numbers, RLlib's defaults but for the sizes."""

    envs: int = 8
    steps: int = 2048
    hidden: int = 64
    minibatch: int = 256
    epochs: int = 4
    lr: float = 5e-5
    gamma: float = 0.99
    lambda_: float = 1.0
    clip: float = 0.3
    vf_clip: float = 10.0
    kl_coeff: float = 0.2
    kl_target: float = 0.01
    seed: int = 0


@dataclass
class Rollout:
    """What sampling gives: `(T, N)` each, observations with one step more."""

    obs: torch.Tensor
    actions: torch.Tensor
    logits: torch.Tensor
    logp: torch.Tensor
    rewards: np.ndarray
    terminateds: np.ndarray
    dones: np.ndarray
    is_step: np.ndarray


def network(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """A dense network with two hidden layers."""
    return nn.Sequential(
        nn.Linear(inputs, hidden),
        nn.Tanh(),
        nn.Linear(hidden, hidden),
        nn.Tanh(),
        nn.Linear(hidden, outputs),
    )


def adam(params: list[nn.Parameter], lr: float) -> torch.optim.Adam:
    """Adam in its fastest form."""
    try:
        return torch.optim.Adam(params, lr=lr, fused=True)
    except RuntimeError:
        return torch.optim.Adam(params, lr=lr, foreach=True)


class Yardstick:
    """Samples and learns; `train()` is one iteration.

    Args:
        settings: The numbers; None takes the defaults.
        env: The environment's id: flat observations, numbered actions.
    """

    def __init__(self, settings: Settings | None = None, env: str = "CartPole-v1") -> None:
        self.settings = settings or Settings()
        torch.manual_seed(self.settings.seed)
        self.envs = gym.make_vec(env, num_envs=self.settings.envs, vectorization_mode="sync")
        width = int(np.prod(self.envs.single_observation_space.shape))
        hidden = self.settings.hidden
        self.policy = network(width, hidden, int(self.envs.single_action_space.n))
        self.values = network(width, hidden, 1)
        params = [*self.policy.parameters(), *self.values.parameters()]
        self.optimizer = adam(params, self.settings.lr)
        self.kl_coeff = self.settings.kl_coeff
        self.rng = np.random.default_rng(self.settings.seed)
        self.obs, _ = self.envs.reset(seed=self.settings.seed)
        self.is_reset = np.zeros(self.settings.envs, bool)
        self.returns = np.zeros(self.settings.envs)
        self.finished: list[float] = []

    def train(self) -> float:
        """Sample, learn, and give the mean return of the last hundred episodes."""
        self.learn(self.sample())
        return float(np.mean(self.finished[-100:])) if self.finished else float("nan")

    @torch.no_grad()
    def sample(self) -> Rollout:
        """Step the environments; the step after an end only resets and does not count."""
        count = self.settings.envs
        steps = self.settings.steps // count
        obs = np.zeros((steps + 1, *self.obs.shape), np.float32)
        actions = torch.zeros(steps, count, dtype=torch.int64)
        logits = torch.zeros(steps, count, int(self.envs.single_action_space.n))
        rewards = np.zeros((steps, count))
        terminateds, dones, is_step = (np.zeros((steps, count), bool) for _ in range(3))
        obs[0] = self.obs
        for t in range(steps):
            logits[t] = self.policy(torch.from_numpy(obs[t]))
            actions[t] = torch.multinomial(logits[t].softmax(-1), 1).squeeze(-1)
            is_step[t] = ~self.is_reset
            obs[t + 1], rewards[t], terminateds[t], truncateds, _ = self.envs.step(
                actions[t].numpy()
            )
            dones[t] = self.is_reset = terminateds[t] | truncateds
            self.returns += rewards[t]
            if self.is_reset.any():
                self.finished.extend(self.returns[self.is_reset])
                self.returns[self.is_reset] = 0.0
        self.obs = obs[-1]
        logp = logits.log_softmax(-1).gather(-1, actions[..., None]).squeeze(-1)
        return Rollout(
            torch.from_numpy(obs), actions, logits, logp, rewards, terminateds, dones, is_step
        )

    def advantages(self, rollout: Rollout) -> tuple[torch.Tensor, torch.Tensor]:
        """Generalised advantages and value targets, `(T, N)`."""
        s = self.settings
        with torch.no_grad():
            values = self.values(rollout.obs).squeeze(-1).double().numpy()
        following = values[1:] * ~rollout.terminateds
        delta = rollout.rewards + s.gamma * following - values[:-1]
        decay = s.gamma * s.lambda_ * ~rollout.dones
        gained = np.zeros_like(delta)
        running = np.zeros(s.envs)
        for t in range(len(delta) - 1, -1, -1):
            running = gained[t] = delta[t] + decay[t] * running
        targets = torch.from_numpy(gained + values[:-1]).float()
        kept = gained[rollout.is_step]
        normal = (gained - kept.mean()) / max(1e-4, kept.std())
        return torch.from_numpy(normal).float(), targets

    def learn(self, rollout: Rollout) -> None:
        """Improve the networks by one batch."""
        s = self.settings
        advantages, targets = self.advantages(rollout)
        rows = torch.from_numpy(np.flatnonzero(rollout.is_step))
        columns = [
            column.flatten(0, 1).index_select(0, rows)
            for column in (
                rollout.obs[:-1],
                rollout.actions,
                rollout.logits.log_softmax(-1),
                rollout.logp,
                advantages,
                targets,
            )
        ]
        kl = torch.zeros(())
        size = len(rows)
        for epoch in range(s.epochs):
            if epoch:
                order = torch.from_numpy(self.rng.permutation(size))
                columns = [column.index_select(0, order) for column in columns]
            for start in range(0, size, s.minibatch):
                kl = self.step(*(column[start : start + s.minibatch] for column in columns))
        divergence = kl.item()
        if divergence > 2 * s.kl_target:
            self.kl_coeff *= 1.5
        elif divergence < 0.5 * s.kl_target:
            self.kl_coeff *= 0.5

    def step(
        self,
        obs: torch.Tensor,
        actions: torch.Tensor,
        old_logits: torch.Tensor,
        old_logp: torch.Tensor,
        advantages: torch.Tensor,
        targets: torch.Tensor,
    ) -> torch.Tensor:
        """One gradient step; gives the mean divergence."""
        s = self.settings
        logits = self.policy(obs).log_softmax(-1)
        probs = logits.exp()
        logp = logits.gather(-1, actions[:, None]).squeeze(-1)
        ratio = (logp - old_logp).exp()
        clipped = ratio.clamp(1 - s.clip, 1 + s.clip)
        surrogate = torch.min(advantages * ratio, advantages * clipped).mean()
        entropy = -(probs * logits).sum(-1).mean()
        kl = (old_logits.exp() * (old_logits - logits)).sum(-1).mean()
        vf_loss = (self.values(obs).squeeze(-1) - targets).square().clamp(max=s.vf_clip).mean()
        loss = vf_loss - surrogate - 0.0 * entropy + self.kl_coeff * kl
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return kl.detach()

    def close(self) -> None:
        """Close the environments."""
        self.envs.close()


def main() -> None:
    """Train, and tell how fast and how well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    yardstick = Yardstick(Settings(lr=args.lr, seed=args.seed))
    start = perf_counter()
    mean_return = float("nan")
    for _ in range(args.iterations):
        mean_return = yardstick.train()
    seconds = perf_counter() - start
    steps = args.iterations * yardstick.settings.steps
    print(f"{steps} steps, {steps / seconds:.0f} a second, mean return {mean_return:.0f}")
    yardstick.close()


if __name__ == "__main__":
    main()
