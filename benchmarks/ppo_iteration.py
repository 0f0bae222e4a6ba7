"""One iteration of PPO on CartPole: against the same maths by hand, and against Ray if there.

    python benchmarks/ppo_iteration.py [--rounds 5] [--json] [--ray-python PYTHON]

8 environments, 2,048 steps, 4 epochs of minibatches of 256. The limit ("torch") is
`ppo_yardstick.py`. CPU time an iteration, the median of rounds in turn.
"""

import sys

from measure import contest, ppo_iteration


def main():
    args = contest.arguments(__doc__, rounds=5)
    contest.run(args, "ppo_iteration", ppo_iteration.NAMES, ("torch",), ".")
    return 0


if __name__ == "__main__":
    sys.exit(main())
