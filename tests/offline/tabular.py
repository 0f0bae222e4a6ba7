"""Small worlds whose values are known, to see how often intervals hold them.

`python -m tests.offline.tabular` takes 200 of them and prints a line for each method.
"""

import argparse
from dataclasses import dataclass

import numpy as np
from rlconnect.bridge.over_data.watched import ModelColumns, with_values
from rlconnect.offline.estimators import Estimate, Steps, judged, recorded
from rlconnect.offline.fitted_q import FittedQSettings

GAMMA = 0.95
METHODS = ("is", "dm", "dr")
EXACT = FittedQSettings(fcnet_hiddens=(), n_iters=0, solves=True)


@dataclass
class World:
    """A few states and actions, and two policies."""

    next_states: np.ndarray  # (S, A, S)
    ends: np.ndarray  # (S, A)
    rewards: np.ndarray  # (S, A)
    first: np.ndarray  # (S,)
    behavior: np.ndarray  # (S, A)
    target: np.ndarray  # (S, A)

    @classmethod
    def drawn(cls, rng, states=6, actions=3, apart=0.3):
        """A random world; `apart` is the share of the target that is a policy of its own."""
        behavior = rng.dirichlet(np.full(actions, 3.0), states)
        other = rng.dirichlet(np.ones(actions), states)
        return cls(
            rng.dirichlet(np.full(states, 0.5), (states, actions)),
            rng.uniform(0.1, 0.35, (states, actions)),
            rng.normal(size=(states, actions)),
            rng.dirichlet(np.ones(states)),
            behavior,
            (1 - apart) * behavior + apart * other,
        )

    @property
    def value(self):
        """What the target is worth."""
        going_on = self.next_states * (1 - self.ends)[..., None]
        step = np.einsum("sa,sat->st", self.target, going_on)
        earned = (self.target * self.rewards).sum(1)
        return float(self.first @ np.linalg.solve(np.eye(len(step)) - GAMMA * step, earned))

    def recorded(self, rng, episodes, most=120):
        """Episodes of the behaviour as columns: `(E, T)`, and how long each is."""
        states = np.zeros((episodes, most + 1), int)
        actions, ended = np.zeros((2, episodes, most), int)
        earned = np.zeros((episodes, most))
        states[:, 0] = rng.choice(len(self.first), episodes, p=self.first)
        alive = np.ones(episodes, bool)
        for t in range(most):
            here = states[:, t]
            actions[:, t] = _drawn(rng, self.behavior[here])
            both = here, actions[:, t]
            earned[:, t] = self.rewards[both] + rng.normal(0, 0.5, episodes)
            states[:, t + 1] = _drawn(rng, self.next_states[both])
            ended[:, t] = alive
            alive &= rng.random(episodes) >= self.ends[both]
            if not alive.any():
                break
        return states, actions, earned, ended.sum(1)

    def steps(self, rng, episodes):
        """The same as estimators take it, beside the values of a model with a number a state."""
        states, actions, earned, lengths = self.recorded(rng, episodes)
        held = np.arange(actions.shape[1]) < lengths[:, None]
        seen = np.arange(states.shape[1]) <= lengths[:, None]
        here, done = states[:, :-1][held], actions[held]
        steps = Steps(lengths, earned[held], self.target[here, done] / self.behavior[here, done])
        is_last = np.zeros(len(done), bool)
        is_last[steps.ends] = True
        columns = ModelColumns(
            np.eye(len(self.first), dtype=np.float32)[states[seen]],
            self.target[states[seen]],
            done,
            is_last,
        )
        return with_values(steps, columns, GAMMA, EXACT)


def _drawn(rng, chances):
    edges = chances.cumsum(1)
    return (rng.random(len(chances))[:, None] > edges).sum(1).clip(max=chances.shape[1] - 1)


def covered(worlds, repeats, episodes, apart, seed=0, methods=METHODS):
    """How often each method's interval holds the value, and the mean effective sample size."""
    rng = np.random.default_rng(seed)
    hits = {method: [] for method in methods}
    share = []
    for _ in range(worlds):
        world = World.drawn(rng, apart=apart)
        for _ in range(repeats):
            steps = world.steps(rng, episodes)
            weights = steps.weights[steps.ends]
            share.append(weights.sum() ** 2 / (weights**2).sum() / episodes)
            for method in methods:
                found = Estimate.of(recorded(steps, GAMMA), judged(method, steps, GAMMA))
                hits[method].append(found.interval.holds(world.value))
    return {method: float(np.mean(each)) for method, each in hits.items()}, float(np.mean(share))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=10, help="data sets of each")
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--apart", type=float, default=0.3)
    given = parser.parse_args()
    found, share = covered(**vars(given))
    print(f"{given}: effective sample size {share:.0%}")
    for method, each in found.items():
        print(f"{method:8} {each:.1%}")
