"""What env runners take to sample, by number of environments: beside bare loops, and beside Ray.

    python benchmarks/env_runners.py [--rounds 5] [--json] [--ray-python PYTHON]

A call samples 64 steps of each environment. `single` is CartPole with one agent, `many` an
environment of eight agents and two modules that does next to nothing. The limit ("torch") steps the
same environments with the same networks, and keeps nothing. CPU time a call, the median of rounds
in turn.
"""

import sys

from measure import contest, env_runners


def main():
    args = contest.arguments(__doc__, rounds=5)
    contest.run(args, "env_runners", env_runners.NAMES, ("torch",), ".")
    return 0


if __name__ == "__main__":
    sys.exit(main())
