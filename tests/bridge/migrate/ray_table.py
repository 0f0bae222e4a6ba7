"""`make ray`: every recorded policy back into a real Ray, and what it answers there.

Each is migrated and written by `to_ray`; RLC_RAY_PYTHON loads what is complete for Ray alone
without rlconnect, the rest with it, and plays both on the same observations as the source. With
`--algorithms` it opens whole algorithms, samples with them and trains them, which takes longer.
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
from rlconnect.core.arrays.batching import unbatch
from rlconnect.core.errors import RlconnectError
from rlconnect.core.spaces.values import sampled_courses
from rlconnect.legacy.connectors.adapted import acted_space
from rlconnect.legacy.policy.stages import LegacyStages

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


def write_algorithm(recording, folder):
    """All policies of a recording as one algorithm for Ray, with an environment for it."""
    plans = {name: plan_of(recording, name) for name in recording.policy_ids}
    folder = Path(folder)
    if len(plans) > 1:
        needs = to_ray(plans, folder)
        worlds = {name: _world(recording, plan) for name, plan in plans.items()}
        (folder / "spaces.pkl").write_bytes(pickle.dumps(worlds))
        return needs, {}
    (plan,) = plans.values()
    needs = write_case(plan, folder)
    (folder / "spaces.pkl").write_bytes(pickle.dumps(_world(recording, plan)))
    return needs, old_answers(plan, courses_of(plan))


def _world(recording, plan):
    """What the environment of a policy gives and takes."""
    takes = acted_space(plan.policy)
    if recording.meta["options"].get("adapt"):
        takes = spaces.Dict({"ON": takes, "BOGUS": spaces.MultiDiscrete([3, 3])})
    return plan.observation_space, takes


def ask(python, root, *, with_us, script="ask_ray.py"):
    """Let a real Ray answer; with rlconnect it finds ours and the recordings' own connectors."""
    place = {name: os.environ.get(name, "") for name in ("PATH", "HOME")}
    place["OMP_NUM_THREADS"] = "1"
    modules = []
    if with_us:
        package = root.parent / "package"
        package.mkdir(exist_ok=True)
        if not (package / "rlconnect").exists():
            (package / "rlconnect").symlink_to(SRC)
        place["PYTHONPATH"] = os.pathsep.join(map(str, (package, ROOT)))
        modules = ["tests.legacy.replay"]
    out = root / "answers.npz"
    run = subprocess.run(
        [python, str(Path(__file__).with_name(script)), str(root), str(out), *modules],
        env=place,
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    assert run.returncode == 0, run.stderr[-2000:]
    with np.load(out) as held:
        return dict(held)


def differences(name, wanted, answers):
    """What Ray answers otherwise, in words; empty where it is equal at 1e-5."""
    if f"{name}|error" in answers:
        return str(answers[f"{name}|error"]).strip().splitlines()[-1]
    found = []
    compared = not wanted or f"{name}|sampled" in answers
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
    parser.add_argument("--algorithms", action="store_true", help="whole algorithms")
    parser.add_argument("-v", "--verbose", action="store_true", help="one line for each")
    given = parser.parse_args(argv)
    python = os.environ.get("RLC_RAY_PYTHON", "")
    if not python:
        print("RLC_RAY_PYTHON names no python that has Ray; nothing to do.")
        return 0
    found = [each for root in (GOLDEN / "legacy", *given.more) for each in folders(root)]
    recordings = {each.name: each for each in map(Recording, found) if given.only in each.name}
    cases = {
        f"{name} {policy}": (recording, policy)
        for name, recording in recordings.items()
        for policy in ([""] if given.algorithms else recording.policy_ids)
    }
    script = "run_in_ray.py" if given.algorithms else "ask_ray.py"
    kinds, wanted, needed, answers = {}, {}, {}, {}
    with tempfile.TemporaryDirectory() as held:
        for name, (recording, policy) in cases.items():
            place = Path(held) / "parting" / _key(name)
            try:
                if given.algorithms:
                    needs, answer = write_algorithm(recording, place)
                else:
                    plan = plan_of(recording, policy)
                    needs, answer = write_case(plan, place), old_answers(plan, courses_of(plan))
            except RlconnectError as error:
                kinds[name] = f"refused: {type(error).__name__}: {error.summary[:100]}"
                continue
            named = needs.faces + (needs.to_learn if given.algorithms else ())
            kinds[name] = BESIDE if named else ALONE
            wanted[name], needed[name] = answer, needs
            target = Path(held) / kinds[name].replace(" ", "-") / _key(name)
            target.parent.mkdir(exist_ok=True)
            place.rename(target)
        for kind in (ALONE, BESIDE):
            root = Path(held) / kind.replace(" ", "-")
            if root.is_dir():
                answers |= ask(python, root, with_us=kind == BESIDE, script=script)
    table = Counter()
    for name, kind in kinds.items():
        apart = differences(_key(name), wanted[name], answers) if name in wanted else ""
        did = _told(needed.get(name), answers, _key(name)) if given.algorithms else ""
        table[kind, did, not apart] += 1
        if given.verbose or apart or name not in wanted:
            print(f"{name:<50} {kind}{did and ', ' + did}{apart and ': ' + apart}")
    print()
    for (kind, did, is_equal), count in sorted(table.items()):
        equal = "" if kind.startswith("refused") else ("equal" if is_equal else "NOT equal")
        print(f"{count:>5}  {kind}{did and ', ' + did}  {equal}")
    complete = sum(n for (kind, _, ok), n in table.items() if ok and kind in (ALONE, BESIDE))
    print(f"{complete} of {len(kinds)} are complete exports, equal at 1e-5")
    return int(complete < len(kinds))


def _key(name):
    return name.strip().replace("/", "-").replace(" ", "-")


def _told(needs, answers, key):
    """What an algorithm of Ray's did."""
    trained = str(answers.get(f"{key}|trained", "0 of 0"))
    if needs is None or f"{key}|sampled" not in answers:
        return "does nothing"
    if needs.no_training:
        return "plays"
    return "plays" if trained.startswith("0") else "plays and trains"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
