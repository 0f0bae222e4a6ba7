"""Share everything that was recorded among threads, and count the answers that differ.

    python tests/threads/stress.py [FOLDER ...] [--threads 16] [--calls 10000] [--only TEXT]

Each checkpoint below the folders (default: tests/golden) is loaded as policies, as an actor on
arrays and on tensors, and migrated to the new stack; each of these is shared by all threads, whose
episodes take turns. `--seconds` bounds what one kind may take; fewer calls are told in the table.
"""

from __future__ import annotations

import argparse
import copy
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS.parent))

from rlconnect.bridge.actor.actor import Actor  # noqa: E402
from rlconnect.core.errors import RlconnectError  # noqa: E402
from rlconnect.core.vault import layout  # noqa: E402
from rlconnect.core.vault.decode.load_limits import DEFAULT_LIMITS  # noqa: E402
from rlconnect.legacy import Policy  # noqa: E402
from rlconnect.v2 import RLModule  # noqa: E402

from tests.threads.plays import STEPS, actor_plays, module_plays, policy_plays, triple_plays  # noqa: E402
from tests.threads.sharing import shared  # noqa: E402


def checkpoints_below(folder: Path) -> Iterator[Path]:
    """Folders that hold a policy or a module."""
    yield from sorted(layout.checkpoints_below(folder, DEFAULT_LIMITS))


def kinds_of(path: Path) -> Iterator[tuple[str, Any]]:
    """What to share of a checkpoint: names, and what plays it."""
    policies: dict[str, Any] = {}
    try:
        loaded = Policy.from_checkpoint(str(path))
        policies = dict(loaded) if isinstance(loaded, dict) else {loaded.name: loaded}
    except RlconnectError as error:
        yield "policy", error
    for policy in policies.values():
        yield from policy_plays(policy)
        try:
            from rlconnect.bridge.migrate.plan import plan_migration

            plan = plan_migration(policy).apply()
            triple = plan.triple()
        except RlconnectError as error:
            yield "migrated", error
        else:
            yield from triple_plays(copy.deepcopy(triple), "migrated pipelines")
            yield from module_plays(copy.deepcopy(triple[1]), "migrated module")
            yield from actor_plays(Actor.from_v2(*triple[:3]), "migrated actor")
    try:
        actor = Actor.from_checkpoint(str(path))
    except RlconnectError as error:
        yield "actor", error
        return
    yield from actor_plays(actor, "actor")
    if not actor.missing:
        yield from actor_plays(copy.deepcopy(actor).to("cpu"), "actor on tensors")
    if not policies:
        module = RLModule.from_checkpoint(str(path))
        each = dict(module.items()) if hasattr(module, "items") else {"": module}
        for name, own in each.items():
            yield from module_plays(own, f"module{name and ' ' + name}")


def main() -> int:
    """Run it; the exit status is 1 if something differed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, default=[TESTS / "golden"])
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--calls", type=int, default=10_000, help="of each thread")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for one kind")
    parser.add_argument("--switch", type=float, default=1e-5, help="seconds between threads")
    parser.add_argument("--only", default="", help="of the paths that hold this text")
    parser.add_argument("--kind", default="", help="of the kinds that hold this text")
    parser.add_argument("-v", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # even in the background
    calls, wrong, cases, reasons = Counter(), Counter(), Counter(), Counter()
    try:
        for folder in args.folders:
            for path in checkpoints_below(folder):
                if args.only not in str(path):
                    continue
                try:
                    for kind, play in kinds_of(path):
                        if isinstance(play, Exception):
                            reasons[kind] += 1
                            if args.v:
                                print(f"{path}: {kind}: {str(play)[:150]}", flush=True)
                            continue
                        if args.kind not in kind:
                            continue
                        try:
                            play(0, "warm")
                            start = time.perf_counter()
                            play(0, "warm")
                            took = time.perf_counter() - start
                        except RlconnectError as error:
                            reasons[f"{kind}: {type(error).__name__}"] += 1
                            if args.v:
                                print(f"{path}: {kind}: {str(error)[:150]}", flush=True)
                            continue
                        rounds = max(1, args.calls // STEPS)
                        most = args.seconds / max(took * args.threads, 1e-9)
                        found = shared(
                            play,
                            threads=args.threads,
                            rounds=int(max(2, min(rounds, most))),
                            switch=args.switch,
                        )
                        cases[kind] += 1
                        calls[kind] += found.calls
                        wrong[kind] += found.differences
                        if found.differences or args.v:
                            print(f"{path}: {kind}: {found.differences} of {found.calls} differ")
                            if found.errors:
                                print(found.errors[0], flush=True)
                except Exception:
                    reasons["not driven"] += 1
                    print(f"{path}: not driven\n{traceback.format_exc(limit=-3)}", flush=True)
    except KeyboardInterrupt:
        print("stopped: the table holds what was done")
    print(f"\n{'kind':44} {'shared':>7} {'calls':>12} {'differ':>8}")
    for kind in cases:
        print(f"{kind:44} {cases[kind]:7,} {calls[kind]:12,} {wrong[kind]:8,}")
    print(f"{'all':44} {cases.total():7,} {calls.total():12,} {wrong.total():8,}")
    for reason, count in reasons.items():
        print(f"left out: {count} x {reason}")
    return int(wrong.total() > 0)


if __name__ == "__main__":
    raise SystemExit(main())
