"""The whole way for every checkpoint: each verb on it, and on what every verb gave.

`python -m tests.walk.walk FOLDER...` walks all checkpoints below the folders and prints a table of
how each stage ended: right, refused with a way out (our own error), or wrong.
"""

import argparse
import io
import sys
import tempfile
import warnings
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import rlconnect
from gymnasium import spaces
from rlconnect import adapters
from rlconnect.cli.app import main as main_of_rlconnect
from rlconnect.core import nest
from rlconnect.core.vault.decode.load_limits import DEFAULT_LIMITS
from rlconnect.core.vault.layout import checkpoints_below

ENVIRONMENT = """
import gymnasium as gym
import rlconnect

policy = rlconnect.load({path!r})[{name!r}]


class Played(gym.Env):
    observation_space, action_space = policy.observation_space, policy.action_space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        self.left = 3
        return self.observation_space.sample(), {{}}

    def step(self, action):
        self.left -= 1
        return self.observation_space.sample(), 1.0, self.left == 0, False, {{}}
"""

RIGHT, REFUSED, WRONG = "right", "refused", "wrong"
ROWS = 3


@dataclass(frozen=True)
class Step:
    """How one stage of the way ended.

    Args:
        name: What was done.
        end: "right", "refused" or "wrong".
        why: What an error or a comparison said.
        policy: Whose way it is, of several.
    """

    name: str
    end: str
    why: str = ""
    policy: str = ""


class Walk:
    """The way of one checkpoint.

    Args:
        path: The checkpoint.
        room: A folder to write into.
        export: Whether to export, which takes seconds.
        commands: Whether to go the way on the command line, too.
    """

    def __init__(self, path, room, *, export=True, commands=True):
        self.path, self.room, self.export = path, Path(room), export
        self.types = commands
        self.steps = []
        self.whose = ""

    def run(self):
        """All stages; what depends on a refused one is left out."""
        loaded = self.step("load", lambda: rlconnect.load(self.path))
        if loaded is None:
            return self.steps
        for name in loaded:
            self.whose = name if len(loaded) > 1 else ""
            self.policy(loaded[name])
        if len(loaded) > 1:
            self.step("save all", lambda: self.saved_alike(loaded))
        if loaded and self.types:
            self.commands(list(loaded))
        return self.steps

    def commands(self, names):
        """The same way on the command line; an exit code of 2 is a refusal with a way out."""
        self.whose, path, room = "", str(self.path), self.room / "by command"
        room.mkdir()
        one = ["--policy", names[0]] if len(names) > 1 else []
        (room / "played.py").write_text(
            ENVIRONMENT.format(path=path, name=names[0]), encoding="utf-8"
        )
        env = ["--env", f"{room / 'played.py'}:Played"]
        out = [str(room / each) for each in ("copy", "adapted", "migrated", "policy.onnx")]
        self.command("inspect", path)
        self.command("inspect --json", path, "--json")
        self.command("convert --out", path, "--out", out[0])
        self.command("rollout --env", path, *env, "--episodes", "1", *one)
        self.command("adapt --env --out", path, *env, "--out", out[1], *one)
        self.command("migrate --out", path, "--out", out[2], *one)
        if self.export:
            self.command("export --out", path, "--out", out[3], *one)
        for given in out:
            if Path(given).exists():
                self.command(f"inspect, what {Path(given).stem} wrote", given)
                allow = ["--allow-program"] if given == out[3] else []
                self.command(f"verify, what {Path(given).stem} wrote", path, given, *one, *allow)

    def command(self, name, *words):
        """Run a command as it would be typed."""
        command = name.split()[0].rstrip(",")
        said = io.StringIO()

        def run():
            with redirect_stdout(said), redirect_stderr(said):
                code = main_of_rlconnect([command, *words])
            if code == 2 and "rlconnect itself failed" not in said.getvalue():
                raise rlconnect.RlconnectError(said.getvalue().strip()[-400:])
            if code not in (0, 1) or (code == 1 and command != "inspect"):
                raise AssertionError(f"exit code {code}: {said.getvalue()[-400:]}")
            return True

        self.step(f"$ {name}", run)

    def policy(self, policy):
        """The way of one policy."""
        rng = np.random.default_rng(0)
        seen = [sampled(policy.observation_space, rng) for _ in range(ROWS)]
        actions = self.step("act", lambda: acted(policy, seen))
        if actions is None:
            return
        self.step("stages", lambda: same(policy.stages(seen[0])["action"], actions[0]))
        saved = self.step("save", lambda: self.saved(policy, "saved"))
        self.like("load saved", saved, seen, actions)
        migrated = self.step("migrate", lambda: self.migrated(policy, "migrated"))
        self.like("load migrated", migrated, seen, actions)
        self.verified("verify migrated", policy, migrated)
        again = self.step("save migrated", lambda: self.saved(migrated, "again"), migrated)
        self.like("load saved migrated", again, seen, actions)
        program = self.exported("export", policy, "policy")
        self.like("load exported", program, seen, actions)
        self.verified("verify exported", policy, program)
        self.adapted(policy, migrated, seen, actions)

    def adapted(self, policy, migrated, seen, actions):
        """The way of what adapt gave: in an environment with two features more, if it is flat."""
        change, wider = widened(policy, seen)
        for kind, source in (("adapt", policy), ("adapt migrated", migrated)):
            name = f"{kind}"
            made = self.step(name, lambda of=source: rlconnect.adapt(of, **change), source)
            self.like(f"{name}: act", made, wider, actions)
            saved = self.step(f"{name}: save", lambda of=made, n=kind: self.saved(of, n), made)
            self.like(f"{name}: load", saved, wider, actions)
            moved = self.step(
                f"{name}: migrate", lambda of=made, n=kind: self.migrated(of, f"{n} on"), made
            )
            self.like(f"{name}: load migrated", moved, wider, actions)
            self.verified(f"{name}: verify", made, moved)
            if kind == "adapt":
                program = self.exported(f"{name}: export", made, kind)
                self.like(f"{name}: load exported", program, wider, actions)

    # Stages.

    def step(self, name, do, given=True):
        """What `do` gives, with its end noted; None where it was refused or left out."""
        if given is None:
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = do()
        except rlconnect.RlconnectError as error:
            self.steps.append(Step(name, REFUSED, str(error), self.whose))
            return None
        except Exception as error:
            self.steps.append(Step(name, WRONG, f"{type(error).__name__}: {error}", self.whose))
            return None
        if found is False:
            self.steps.append(Step(name, WRONG, "other actions", self.whose))
            return None
        self.steps.append(Step(name, RIGHT, policy=self.whose))
        return found

    def like(self, name, source, seen, actions):
        self.step(name, lambda: same(acted(source, seen), actions), source)

    def verified(self, name, policy, other):
        def held():
            verdict = rlconnect.verify(policy, front(other), samples=2, length=2)
            if not verdict.is_equal:
                raise AssertionError(f"they part at {verdict.first_difference}")
            return True

        self.step(name, held, other)

    def saved(self, policy, name):
        rlconnect.LoadedPolicy.save(front(policy), self.room / name)
        return self.room / name

    def saved_alike(self, loaded):
        loaded.save(self.room / "all")
        return sorted(rlconnect.load(self.room / "all")) == sorted(loaded)

    def migrated(self, policy, name):
        rlconnect.migrate(policy, self.room / name)
        return self.room / name

    def exported(self, name, policy, file):
        if not self.export:
            return None

        def write():
            rlconnect.export(policy, self.room / f"{file}.onnx")
            return self.room / f"{file}.onnx"

        return self.step(name, write)


def front(policy):
    """A policy as the front has it."""
    return (
        policy
        if isinstance(policy, rlconnect.LoadedPolicy)
        else rlconnect.load(policy, allow_program=True).only
    )


def sampled(space, rng):
    """A tame observation: bounds of old environments go to the end of float32."""
    if isinstance(space, spaces.Dict):
        return {key: sampled(part, rng) for key, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(sampled(part, rng) for part in space.spaces)
    if isinstance(space, spaces.Box) and space.dtype.kind == "f":
        low, high = np.clip(space.low, -1, 1), np.clip(space.high, -1, 1)
        return rng.uniform(low, high).astype(space.dtype)
    space.seed(int(rng.integers(2**31)))
    return space.sample()


def acted(source, seen):
    """The first actions of an episode for each observation."""
    policy = front(source)
    found = []
    for obs in seen:
        policy.reset()
        found.append(policy.act(obs))
    return found


def same(found, wanted):
    """Whether actions are equal at the promised tolerance."""
    pairs = zip(nest.flatten(found), nest.flatten(wanted), strict=True)
    return all(np.allclose(one, other, rtol=1e-4, atol=1e-5) for one, other in pairs)


def widened(policy, seen):
    """An environment with two features more, or the same one; and its observations."""
    space, action = policy.observation_space, policy.action_space
    change = {"observation_space": space, "action_space": action}
    if not isinstance(space, spaces.Box) or len(space.shape) != 1 or space.dtype.kind != "f":
        return change, seen
    ends = [np.full(2, end, space.dtype) for end in (-1, 1)]
    change["observation_space"] = spaces.Box(
        np.concatenate([space.low, ends[0]]),
        np.concatenate([space.high, ends[1]]),
        dtype=space.dtype,
    )
    size = space.shape[0]
    change["obs"] = adapters.DropFeatures([size, size + 1])
    return change, [np.concatenate([obs, ends[1]]) for obs in seen]


def walked(path, **options):
    """The stages of one checkpoint."""
    with tempfile.TemporaryDirectory() as room:
        return Walk(path, room, **options).run()


def main(argv=None):
    """Walk all checkpoints below some folders."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--no-export", action="store_true")
    parser.add_argument("--told", action="store_true", help="print what was refused, too")
    given = parser.parse_args(argv)
    paths = [
        found for folder in given.folders for found in checkpoints_below(folder, DEFAULT_LIMITS)
    ]
    ends, bad = Counter(), 0
    for path in paths:
        steps = walked(path, export=not given.no_export)
        ends.update((step.name, step.end) for step in steps)
        wrong = [step for step in steps if step.end == WRONG]
        bad += bool(wrong)
        for step in steps:
            if step.end == WRONG or (given.told and step.end == REFUSED):
                where = f"{path} {step.policy}".strip()
                print(f"{step.end:8} {where} {step.name}: {step.why[:400]}", flush=True)
    for name in dict.fromkeys(name for name, _ in ends):
        counts = "  ".join(f"{ends[name, end]:5} {end}" for end in (RIGHT, REFUSED, WRONG))
        print(f"{name:32} {counts}")
    print(f"{len(paths)} checkpoints, {bad} of them end somewhere wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
