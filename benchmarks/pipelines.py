"""What the pipelines of the new stack cost: against bare numpy and torch, and against Ray if there.

    python benchmarks/pipelines.py [--rounds 7] [--filter REGEX] [--json] [--ray-python PYTHON]

CPU time a call, the median of rounds that alternate between rlconnect, the same work written bare,
and (with `--ray-python`, a Python that has Ray) real Ray. `x3` behind a name: it takes three times
as long as rlconnect.
"""

import sys

from measure import contest, new_stack


def main():
    args = contest.arguments(__doc__, rounds=7)
    contest.run(args, "new_stack", new_stack.NAMES, ("numpy", "torch"), ".")
    return 0


if __name__ == "__main__":
    sys.exit(main())
