"""How cost grows: environments, runners, agents, pieces, rows of a batch, steps kept, checkpoints.

    python benchmarks/growth.py [--only REGEX] [--most 1000000] [--json FILE]

Each size runs in a fresh process of one thread: the least CPU time of a few calls, and how far the
peak of memory rose above what the imports took. Both are told for one environment's step, agent's
step, piece, row or byte: what does not fall or stay level as sizes grow is a defect. Runners are
processes of Ray's, which this Python needs for them, and are told in seconds on the wall.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time

from measure import contest

SIZES = {
    "environments": (1, 8, 64, 512, 4096),
    "runners": (1, 2),
    "agents": (1, 4, 16, 64, 256),
    "pieces": (1, 4, 16, 64),
    "rows": (10**3, 10**4, 10**5, 10**6, 10**7),
    "replay": (10**4, 10**5, 10**6),
    "checkpoint": (16, 256, 2048, 8192, 16384),
    "gigabytes": (1, 4, 10),
}
"""A checkpoint's size is the width of its two layers; what it is told for is a MiB of its file. One
of gigabytes is a module alone with as many layers of a GiB; it runs if `--only` names it."""
UNITS = {
    "environments": "step of an environment",
    "runners": "step of an environment",
    "agents": "step of an agent",
    "pieces": "piece",
    "rows": "row",
    "replay": "step kept",
    "checkpoint": "MiB of the file",
    "gigabytes": "MiB of the file",
}
STEPS = 64


def environments(count):
    """Sample steps of so many CartPoles by a small network."""
    from measure.env_runners import single

    return single("rlconnect", False, count), count * STEPS


def runners(count):
    """Sample steps of eight CartPoles by each of so many processes."""
    from measure import runner_actors

    return runner_actors.sampling(count), count * runner_actors.STEPS


def agents(count):
    """Sample an environment of so many agents, by two modules."""
    from measure import env_runners

    env_runners.AGENTS = tuple(f"a{number}" for number in range(count))
    return env_runners.many("rlconnect", False, 1), count * STEPS


def pieces(count):
    """Send 64 observations through so many pieces that each change them."""
    import gymnasium as gym
    import numpy as np
    from measure.new_stack import episodes, module
    from rlconnect import v2

    running, rl_module = episodes("rlconnect", 64, (4,)), module("rlconnect", "mlp")
    changing = [v2.FlattenObservations() for _ in range(count)]
    names = ("AddObservationsFromEpisodesToBatch", "BatchIndividualItems", "NumpyToTensor")
    pipeline = v2.EnvToModulePipeline(
        gym.spaces.Box(-9, 9, (4,), np.float32),
        gym.spaces.Discrete(2),
        connectors=[*changing, *(getattr(v2, name)() for name in names)],
    )

    def call():
        return pipeline(
            episodes=running, batch={}, explore=True, rl_module=rl_module, shared_data={}
        )

    return call, count


def rows(count):
    """Make a train batch of so many steps, with values and advantages."""
    from measure.train_batches import make

    prepare, call = make(f"box4.values.t{count}", "rlconnect", None)
    return call, count, prepare


def replay(count):
    """Fill a replay buffer of so many steps, with priorities, in episodes of 200 steps."""
    import numpy as np
    from rlconnect.v2 import PrioritizedEpisodeReplayBuffer, SingleAgentEpisode

    length, rng = 200, np.random.default_rng(0)
    columns = {
        "observations": list(rng.standard_normal((length + 1, 4), np.float32)),
        "actions": list(rng.integers(2, size=length)),
        "rewards": [1.0] * length,
    }

    def call():
        buffer = PrioritizedEpisodeReplayBuffer(capacity=count)
        for number in range(count // length):
            episode = SingleAgentEpisode(
                id_=str(number), terminated=True, len_lookback_buffer=0, **columns
            )
            buffer.add(episode)
        return buffer.bytes_per_timestep / 2**10

    return call, count


def checkpoint(path):
    """Load a saved policy and act once."""
    import numpy as np
    import rlconnect

    def call():
        rlconnect.Actor.from_checkpoint(path).act(np.zeros((1, 4), np.float32))

    return call, size_of(path)


def gigabytes(path):
    """Load a saved module of so many gigabytes and act once."""
    return checkpoint(path)


def size_of(path):
    """MiB of all files in a folder."""
    return sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file()) / 2**20


def save(width, path):
    """Save a policy with two layers of this width."""
    from rlconnect.v2 import DefaultModelConfig, PPOConfig

    settings = DefaultModelConfig(fcnet_hiddens=[width, width])
    config = PPOConfig().environment("CartPole-v1").env_runners(num_env_runners=0)
    config.rl_module(model_config=settings).build_algo().save_to_path(path)


def save_gigabytes(count, path):
    """Save a module with so many layers of a GiB, all weights zero; takes the memory of one."""
    import gymnasium as gym
    import numpy as np
    import torch
    from rlconnect.v2 import DefaultPPOTorchRLModule, RLModuleSpec
    from rlconnect.v2.modules.catalogs import PPOCatalog

    spec = RLModuleSpec(
        module_class=DefaultPPOTorchRLModule,
        catalog_class=PPOCatalog,
        observation_space=gym.spaces.Box(-9, 9, (4,), np.float32),
        action_space=gym.spaces.Discrete(2),
        model_config={"fcnet_hiddens": [2**14] * (count + 1)},
    )
    with torch.device("meta"):
        module = spec.build()
    weights = module.state_dict().items()
    state = {name: np.zeros(tuple(part.shape), np.float32) for name, part in weights}
    module.save_to_path(path, state=state)


FILES = {"checkpoint": save, "gigabytes": save_gigabytes}
KINDS = {
    each.__name__: each
    for each in (environments, runners, agents, pieces, rows, replay, checkpoint, gigabytes)
}


def measured(kind, size):
    """What one size takes, in this process: seconds and KiB for a unit."""
    import torch

    torch.set_num_threads(1)
    clock = perf_counter if kind == "runners" else process_time
    call, units, *prepare = KINDS[kind](size)
    least, begun, before = float("inf"), perf_counter(), 0
    for turn in range(50):
        given = [each() for each in prepare]
        before = before or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = clock()
        call(*given)
        if turn or kind in FILES:  # The first one makes what the others reuse.
            least = min(least, clock() - start)
        if least < float("inf") and perf_counter() - begun > 4:
            break
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": least / units, "kib": (peak - before) / units, "units": units, "call": least}


def all_measured(only, most):
    """Every size in a process of its own, told as they come."""
    found = {}
    for kind, sizes in SIZES.items():
        if not re.search(only, kind):
            continue
        print(f"\n| {kind} | a call | a {UNITS[kind]} | memory for each |\n|--:|--:|--:|--:|")
        for size in (each for each in sizes if each <= most):
            with tempfile.TemporaryDirectory() as folder:
                given = size
                if kind in FILES:
                    given = str(Path(folder) / "saved")
                    line = [sys.executable, __file__, "--save", kind, str(size), given]
                    subprocess.run(line, check=True)
                line = [sys.executable, __file__, "--run", kind, str(given)]
                environment = {**os.environ, **contest.THREADS}
                done = subprocess.run(
                    line, capture_output=True, text=True, encoding="utf-8", env=environment
                )
            if done.returncode:
                print(f"| {size:,} | {done.stderr.strip().splitlines()[-1:]} |")
                continue
            row = json.loads(done.stdout)
            found.setdefault(kind, {})[size] = row
            print(
                f"| {size:,} | {contest.told(row['call'])} | {contest.told(row['seconds'])} "
                f"| {of_memory(row['kib'])} |",
                flush=True,
            )
    if {1, 2} <= found.get("runners", {}).keys():
        one, two = (found["runners"][count]["call"] for count in (1, 2))
        print(f"\nTwo runners sample twice the steps of one with an efficiency of {one / two:.2f}.")
    return found


def of_memory(kib):
    """KiB, or bytes where it is less."""
    return f"{kib:,.2f} KiB" if abs(kib) >= 1 else f"{kib * 1024:,.0f} bytes"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="^(?!gigabytes)", help="only kinds that match")
    parser.add_argument("--most", type=int, default=10**6, help="no larger sizes")
    parser.add_argument("--json", help="a file that keeps what was measured")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--save", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        kind, size = args.run
        print(json.dumps(measured(kind, int(size) if size.isdigit() else size)))
    elif args.save:
        kind, size, path = args.save
        FILES[kind](int(size), path)
    else:
        found = all_measured(args.only, args.most)
        if args.json:
            Path(args.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
