"""Checkpoints that one installation writes and another reads: the same policies, the same bits.

    python tests/matrix/exchange.py write FOLDER      sample policies, in each of our formats
    python tests/matrix/exchange.py read FOLDER       hold what another wrote to what it did

Policies that numpy computes give equal bits from our own format; torch's and ONNX's numbers are
held to a tolerance. What an installation cannot do (no torch, no ONNX) it leaves out, and says so.
"""

import argparse
import json
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import rlconnect
from rlconnect.bridge import Actor
from rlconnect.core import nest
from rlconnect.core.errors import MissingExtraError, RlconnectError
from rlconnect.core.importing.torch_needed import has_torch
from rlconnect.core.spaces.values import sample
from rlconnect.legacy import Policy

ROOT = Path(__file__).parents[2]
STEPS = 12
TOLERANCE = 1e-5
FORMS = ("own", "migrated", "onnx")


def sources():
    """Name and policy of every sample of the old stack that loads without its author's code."""
    found = [*(ROOT / "examples" / "checkpoints").iterdir()]
    found += (ROOT / "tests" / "golden" / "recordings" / "legacy").glob("*/*/algo_checkpoint")
    for path in sorted(path for path in found if path.is_dir()):
        try:
            loaded = rlconnect.load(path)
        except RlconnectError:
            continue
        for name, policy in loaded.items():
            if isinstance(policy.native, Policy):
                yield "-".join((*path.relative_to(ROOT).parts[-3:], name)), policy.native


def rewards(step):
    """What the step before gave; nothing before the first."""
    return None if step == 0 else step / 8


def answers(actor):
    """The greedy actions of one course of drawn observations, a row each."""
    actor.reset()
    rng = np.random.default_rng(0)
    space = actor.observation_space
    made = [
        actor.act(sample(space, rng), reward=rewards(step), explore=False) for step in range(STEPS)
    ]
    return np.stack([np.hstack([np.ravel(leaf) for leaf in nest.flatten(each)]) for each in made])


def write(folder):
    """Every sample in every form, with what this installation answers."""
    told = {}
    for name, policy in sources():
        place = folder / name
        place.mkdir(parents=True)
        actor = Actor.from_policy(policy)
        try:
            np.save(place / "answers.npy", answers(actor))
        except RlconnectError as error:
            print(f"{name}: left out, {error.summary}")
            place.rmdir()
            continue
        policy.export_checkpoint(place / "own")
        forms = ["own"]
        for form, writing in (("migrated", _migrate), ("onnx", _export)):
            try:
                writing(policy, actor, place)
                forms.append(form)
            except MissingExtraError:
                pass
            except RlconnectError as error:
                print(f"{name}: no {form}, {error.summary}")
        told[name] = {"forms": forms, "numpy": policy.networks.numpy is not None}
    (folder / "told.json").write_text(json.dumps(told, indent=1), encoding="utf-8")
    counts = {form: sum(form in each["forms"] for each in told.values()) for form in FORMS}
    if not told:
        raise SystemExit("wrote nothing: no sample was loaded.")
    print("wrote " + ", ".join(f"{count} {form}" for form, count in counts.items()))


def _migrate(policy, actor, place):
    from rlconnect import migrate

    migrate(policy, place / "migrated")


def _export(policy, actor, place):
    if find_spec("onnx") is None:
        raise MissingExtraError("no ONNX here.")
    from rlconnect.bridge.compiled.artifact import export_actor

    export_actor(actor, place / "policy.onnx")


def read(folder):
    """Hold what lies in a folder to what its writer answered; how many differ."""
    told = json.loads((folder / "told.json").read_text(encoding="utf-8"))
    differing, counts = 0, dict.fromkeys((*FORMS, "equal bits"), 0)
    for name, each in told.items():
        wanted = np.load(folder / name / "answers.npy")
        for form in each["forms"]:
            got = _answered(folder / name, form)
            if got is None:
                continue
            counts[form] += 1
            is_exact = each["numpy"] and form == "own"
            counts["equal bits"] += bool(is_exact and np.array_equal(wanted, got))
            scale = max(1.0, float(np.abs(wanted).max(initial=0)))
            is_same = (
                np.array_equal(wanted, got)
                if is_exact
                else bool(
                    wanted.shape == got.shape and np.allclose(wanted, got, 0, TOLERANCE * scale)
                )
            )
            if not is_same:
                differing += 1
                print(f"DIFFERS {name} as {form}: expected {wanted[0]}, found {got[0]}")
    print("read " + ", ".join(f"{count} {form}" for form, count in counts.items()))
    return differing


def _answered(place, form):
    """What one form of a policy answers here; None where it cannot be run."""
    if form == "onnx":
        return _answered_by_onnx(place / "policy.onnx") if find_spec("onnxruntime") else None
    try:
        return answers(Actor.from_checkpoint(place / form))
    except MissingExtraError:
        return None


def _answered_by_onnx(path):
    import onnxruntime
    from rlconnect.core.spaces.own_layout import space_from_data

    manifest = json.loads(path.with_name(f"{path.name}.json").read_text(encoding="utf-8"))
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    read_ones = {each.name for each in session.get_inputs()}
    given = {
        each["name"]: np.zeros((1, *each["shape"]), each["dtype"]) for each in manifest["inputs"]
    }
    seen = [name for name in given if name.split(".")[0] == "obs"]
    outputs = [each["name"] for each in manifest["outputs"]]
    space, rng, rows = space_from_data(manifest["observation_space"]), np.random.default_rng(0), []
    for step in range(STEPS):
        for name, leaf in zip(seen, nest.flatten(sample(space, rng)), strict=True):
            given[name] = np.asarray(leaf, given[name].dtype)[None]
        if "first" in given:
            given["first"] = np.array([step == 0])
        if "reward" in given:
            given["reward"] = np.array([rewards(step) or 0.0], given["reward"].dtype)
        found = dict(zip(outputs, session.run(outputs, _only(given, read_ones)), strict=True))
        rows.append(np.hstack([np.ravel(found[name]) for name in outputs if "next_" not in name]))
        given |= {name.removeprefix("next_"): found[name] for name in outputs if "next_" in name}
    return np.stack(rows)


def _only(given, names):
    return {name: value for name, value in given.items() if name in names}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["write", "read"])
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if not has_torch():
        print("no torch here: policies that need it are left out")
    if args.what == "write":
        args.folder.mkdir(parents=True, exist_ok=True)
        write(args.folder)
        return 0
    return min(read(args.folder), 1)


if __name__ == "__main__":
    sys.exit(main())
