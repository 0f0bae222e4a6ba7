"""What a step of the old stack costs: against bare numpy and torch, and against Ray if there.

    python benchmarks/legacy.py [--rounds 7] [--filter REGEX] [--json] [--ray-python PYTHON]

CPU time a call, the median of rounds that alternate between rlconnect, the same forward pass
written bare in numpy and in torch, and (with `--ray-python`, a Python that has Ray) real Ray on
the very same checkpoints. `x3` behind a name: it takes three times as long as rlconnect.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from measure import contest, old_policies, old_stack


def check_equal(folder):
    """The batch gives the answers of single steps, before anything is timed."""
    from rlconnect.legacy import batch_policy_inference, local_policy_inference

    for name in old_stack.STEPPED:
        together, alone = (old_stack.loaded("rlconnect", folder, name) for _ in range(2))
        observations = old_stack.seen(name, 16)
        ids, same = range(16), ["agent"] * 16
        found = batch_policy_inference(together, ids, same, observations, explore=False)
        for env_id, obs, mine in zip(ids, observations, found, strict=True):
            ((*_, its),) = local_policy_inference(alone, env_id, "agent", obs, explore=False)
            assert np.allclose(mine[2]["action_dist_inputs"], its["action_dist_inputs"], atol=1e-6)


def main():
    args = contest.arguments(__doc__, rounds=7)
    with tempfile.TemporaryDirectory() as place:
        maker = ("ray", args.ray_python) if args.ray_python else ("rlconnect", sys.executable)
        old_policies.write(place, *maker)
        folder = Path(place)
        check_equal(folder)
        contest.run(args, "old_stack", old_stack.NAMES, ("numpy", "torch"), folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
