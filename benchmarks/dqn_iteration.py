"""200 steps of DQN on CartPole, of SAC on Pendulum, an update after each: beside Ray and SB3.

    python benchmarks/dqn_iteration.py [--rounds 5] [--json] [--ray-python PYTHON]

One environment; DQN with two layers of 64 and 32 rows, SAC with two of 256 and 256 rows (with a
stream for each input, as RLlib has it, 20 steps).
Stable-Baselines3 takes part where this interpreter has it. CPU time, the median of rounds in turn.
"""

import sys
from importlib.util import find_spec

from measure import contest, dqn_iteration


def main():
    args = contest.arguments(__doc__, rounds=5)
    others = ("sb3",) if find_spec("stable_baselines3") else ()
    contest.run(args, "dqn_iteration", dqn_iteration.NAMES, others, ".")
    return 0


if __name__ == "__main__":
    sys.exit(main())
