"""A small world of vectors whose values are known, to see how often a critic's intervals hold them.

`python -m tests.offline.linear` draws data sets of it and prints a line for each target and method.
"""

import argparse

import numpy as np
from rlconnect.bridge.over_data.appraisal import _model_settings
from rlconnect.bridge.over_data.watched import ModelColumns, with_values
from rlconnect.offline.estimators import Estimate, Steps, doubts_of, judged, recorded

GAMMA, ENDS = 0.9, 0.1
MOVES = np.array([[0.9, 0.2], [-0.1, 0.8]])
PUSHES = np.array([0.2, 0.6])
MOST = 2.0
"""What the environment makes of larger actions."""

BEHAVIOR = ((-0.3, -0.2), 0.5)
TARGETS = {
    "the same": BEHAVIOR,
    "near": ((-0.5, -0.4), 0.4),
    "apart": ((-0.6, -0.9), 0.3),
    "far": ((-4.0, -6.0), 0.1),
}


def density(policy, states, actions):
    """How probable actions are."""
    weights, spread = policy
    away = (actions - states @ np.array(weights)) / spread
    return np.exp(-(away**2) / 2) / (spread * np.sqrt(2 * np.pi))


def played(rng, policy, episodes):
    """Episodes as columns, longest first: lengths, states with the last ones, actions, rewards."""
    lengths = -np.sort(-rng.geometric(ENDS, episodes))
    states = np.full((episodes, lengths[0] + 1, 2), np.nan)
    actions, rewards = np.full((2, episodes, lengths[0]), np.nan)
    states[:, 0] = rng.normal(size=(episodes, 2))
    weights, spread = np.array(policy[0]), policy[1]
    for time in range(lengths[0]):
        rows = slice(0, int((lengths > time).sum()))
        here = states[rows, time]
        done = here @ weights + spread * rng.normal(size=len(here))
        push = np.clip(done, -MOST, MOST)
        actions[rows, time] = done
        rewards[rows, time] = -(here**2).sum(1) - 0.3 * push**2
        noise = rng.normal(0, 0.1, here.shape)
        states[rows, time + 1] = here @ MOVES.T + push[:, None] * PUSHES + noise
    return lengths, states, actions, rewards


def value(policy, episodes=400_000):
    """What a policy is worth, by playing it: right to about 0.003."""
    lengths, _, _, rewards = played(np.random.default_rng(1), policy, episodes)
    return float(np.nansum(rewards * GAMMA ** np.arange(lengths[0])) / episodes)


def steps(rng, target, episodes, settings=None, draws=4):
    """What the behaviour did, as estimators take it, beside the values of a fitted critic."""
    lengths, states, actions, rewards = played(rng, BEHAVIOR, episodes)
    held = np.arange(lengths[0]) < lengths[:, None]
    seen = states[np.arange(lengths[0] + 1) <= lengths[:, None]]
    before, done = states[:, :-1][held], actions[held]
    ratios = density(target, before, done) / density(BEHAVIOR, before, done)
    found = Steps(lengths, rewards[held], ratios)
    is_last = np.zeros(len(done), bool)
    is_last[found.ends] = True
    would = (seen @ np.array(target[0]))[:, None] + target[1] * rng.normal(size=(len(seen), draws))
    columns = ModelColumns(
        seen.astype(np.float32),
        np.clip(would, -MOST, MOST).astype(np.float32)[..., None],
        np.clip(done, -MOST, MOST)[:, None],
        is_last,
    )
    return with_values(found, columns, GAMMA, settings or _model_settings(None, len(done), 0))


def covered(repeats, episodes):
    """Lines that tell, of each target and method, bias, root mean square error and coverage."""
    for name, target in TARGETS.items():
        truth = value(target)
        errors, hits, doubts, worth = {}, {}, [], []
        for seed in range(repeats):
            made = steps(np.random.default_rng(seed), target, episodes)
            weights = made.weights[made.ends]
            worth.append(weights.sum() ** 2 / (weights**2).sum())
            doubts.append(bool(doubts_of("dm", made)))
            for method in ("is", "dm", "dr"):
                found = Estimate.of(recorded(made, GAMMA), judged(method, made, GAMMA))
                errors.setdefault(method, []).append(found.v_target - truth)
                hits.setdefault(method, []).append(found.interval.holds(truth))
        said = ", ".join(
            f"{method} {np.mean(own):+.3f} (rms {np.sqrt(np.mean(np.square(own))):.3f}, "
            f"holds {np.mean(hits[method]):.0%})"
            for method, own in errors.items()
        )
        yield (
            f"{name:9} worth {truth:.3f}: {said}; effective sample size {np.mean(worth):.1f}, "
            f"reach {made.reach:.2f}, doubted {np.mean(doubts):.0%}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=100, help="data sets of each target")
    parser.add_argument("--episodes", type=int, default=200)
    for line in covered(**vars(parser.parse_args())):
        print(line, flush=True)
