"""What a train batch costs: against bare numpy and torch, and against Ray if there.

    python benchmarks/train_batches.py [--rounds 5] [--filter REGEX] [--json] [--ray-python PYTHON]

Episodes of 200 steps go through PPO's learner pipeline: one step more each, columns, a time axis
where there is a state, tensors, values, advantages. `free` leaves out the network: its values are
zeros. The limit ("torch") concatenates the same numbers, asks the same network in pieces that fit
the cache and looks back over all episodes side by side. CPU time a call, the median of rounds.
"""

import sys

from measure import contest, train_batches


def main():
    args = contest.arguments(__doc__, rounds=5)
    contest.run(args, "train_batches", train_batches.NAMES, ("torch",), ".")
    return 0


if __name__ == "__main__":
    sys.exit(main())
