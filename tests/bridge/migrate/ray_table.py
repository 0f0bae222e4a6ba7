"""`make ray`: every recorded policy back into a real Ray, and what it answers there.

Each is migrated and written by `to_ray`; RLC_RAY_PYTHON loads what is complete for Ray alone
without rlconnect, the rest with it, and plays both on the same observations as the source.
"""

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from gymnasium import spaces
from rlconnect.bridge import MigrationPlan, to_ray
from rlconnect.core import nest
from rlconnect.core.batching import unbatch
from rlconnect.core.courses import sampled_courses
from rlconnect.core.errors import RlconnectError
from rlconnect.legacy.stages import LegacyStages

from tests.legacy.frame_stacking import MODELS
from tests.legacy.replay import GOLDEN, Recording, folders

ROOT = Path(__file__).parents[3]
SRC = ROOT / "src"
STEPS, EPISODES = 3, 3
ALONE, BESIDE = "Ray alone", "rlconnect beside Ray"


def plan_of(recording, policy_id):
    """The migration of a recorded policy; its own connectors may see another space than it."""
    seen = None
    if recording.meta["options"].get("adapt"):
        row = recording.rows(policy_id, "raw_obs")["obs"][0]
        seen = spaces.Box(-1, 1, row.shape, np.float32)
    policy = recording.load(policy_id, custom_models=MODELS)
    custom = {"custom_models": MODELS} if recording.custom_model(policy_id) else None
    return MigrationPlan(policy, samples=2, observation_space=seen, custom=custom).apply()


def courses_of(plan):
    """Random episodes, always the same ones."""
    space = plan.observation_space
    return sampled_courses(space, count=EPISODES, length=STEPS, seed=7, with_corners=False)


def old_answers(plan, courses):
    """What the source makes of them by stage, `(steps, episodes, n)`."""
    stages = LegacyStages(plan.policy)
    slots = list(range(EPISODES))
    stages.reset(slots)
    found = {}
    for step, seen in enumerate(zip(*courses, strict=True)):
        rewards = None if step == 0 else [0.0] * EPISODES
        made = stages.step(slots, list(seen), rewards)
        for name in ("outputs", "value"):
            if name in made:
                found.setdefault(name, []).append(np.reshape(made[name], (EPISODES, -1)))
        acted = [_numbers(each) for each in unbatch(made["action"])]
        found.setdefault("action", []).append(np.asarray(acted, float))
    return {name: np.stack(values) for name, values in found.items()}


def _numbers(action):
    return np.concatenate([np.ravel(leaf) for leaf in nest.flatten(action)])


def write_case(plan, folder):
    """A policy for Ray, with what to ask it; what it needs there."""
    needs = to_ray(plan, folder)
    seen = [list(step) for step in zip(*courses_of(plan), strict=True)]
    (folder / "asked.pkl").write_bytes(pickle.dumps(seen))
    return needs


def ask(python, root, *, with_us):
    """Let a real Ray answer; with rlconnect it finds ours and the recordings' own connectors."""
    place = {"PATH": os.environ.get("PATH", ""), "HOME": os.environ.get("HOME", "")}
    modules = []
    if with_us:
        package = root.parent / "package"
        package.mkdir(exist_ok=True)
        if not (package / "rlconnect").exists():
            (package / "rlconnect").symlink_to(SRC)
        place["PYTHONPATH"] = os.pathsep.join(map(str, (package, ROOT)))
        modules = ["tests.legacy.replay"]
    script = Path(__file__).with_name("ask_ray.py")
    out = root / "answers.npz"
    run = subprocess.run(
        [python, str(script), str(root), str(out), *modules],
        env=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    with np.load(out) as held:
        return dict(held)


def differences(name, wanted, answers):
    """What Ray answers otherwise, in words; empty where it is equal at 1e-5."""
    if f"{name}|error" in answers:
        return str(answers[f"{name}|error"]).strip().splitlines()[-1]
    found = []
    compared = 0
    for stage, value in wanted.items():
        got = answers.get(f"{name}|{stage}")
        if got is None:
            continue
        compared += 1
        scale = max(1.0, np.abs(value[np.isfinite(value)]).max(initial=0))
        if got.shape != value.shape:
            found.append(f"{stage}: shape {got.shape}, not {value.shape}")
        elif not np.allclose(got, value, rtol=0, atol=1e-5 * scale, equal_nan=True):
            found.append(f"{stage}: {np.nanmax(np.abs(got - value)):.2g} apart")
    return "; ".join(found) or ("" if compared else "nothing to compare")


def main(argv):
    """Walk the recordings, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("more", nargs="*", type=Path, help="folders with further recordings")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("-v", "--verbose", action="store_true", help="one line for each policy")
    given = parser.parse_args(argv)
    python = os.environ.get("RLC_RAY_PYTHON", "")
    if not python:
        print("RLC_RAY_PYTHON names no python that has Ray; nothing to do.")
        return 0
    kinds, wanted, names = {}, {}, {}
    found = [each for root in (GOLDEN / "legacy", *given.more) for each in folders(root)]
    with tempfile.TemporaryDirectory() as held:
        for folder in found:
            recording = Recording(folder)
            for policy_id in recording.policy_ids if given.only in recording.name else ():
                name = f"{recording.name} {policy_id}"
                if name in kinds:
                    continue
                key = name.replace("/", "-").replace(" ", "-")
                try:
                    plan = plan_of(recording, policy_id)
                    place = Path(held) / "parting" / key
                    needs = write_case(plan, place)
                except RlconnectError as error:
                    kinds[name] = f"refused: {type(error).__name__}: {error.summary[:100]}"
                    continue
                kinds[name] = BESIDE if needs.faces else ALONE
                target = Path(held) / kinds[name].replace(" ", "-") / key
                target.parent.mkdir(exist_ok=True)
                place.rename(target)
                names[name], wanted[name] = key, old_answers(plan, courses_of(plan))
        answers = {}
        for kind in (ALONE, BESIDE):
            root = Path(held) / kind.replace(" ", "-")
            if root.is_dir():
                answers |= ask(python, root, with_us=kind == BESIDE)
    table = Counter()
    for name, kind in kinds.items():
        apart = differences(names[name], wanted[name], answers) if name in names else ""
        table[kind, not apart] += 1
        if given.verbose or apart or name not in names:
            print(f"{name:<50} {kind}{': ' + apart if apart else ''}")
    print()
    for (kind, is_equal), count in sorted(table.items()):
        equal = "" if kind.startswith("refused") else ("equal" if is_equal else "NOT equal")
        print(f"{count:>5}  {kind}  {equal}")
    complete = sum(count for (kind, ok), count in table.items() if ok and kind in (ALONE, BESIDE))
    print(f"{complete} of {len(kinds)} recorded policies are complete exports, equal at 1e-5")
    return int(any(not ok for _, ok in table))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
