"""Everything of the library that is handed a path: doors by name, each given a checkpoint's."""

import contextlib
import io
import os
import shutil
import tempfile
from pathlib import Path


def _load(path):
    import rlconnect

    return rlconnect.load(path)


def _open(path):
    from rlconnect.core.vault import open_checkpoint
    from rlconnect.core.vault.description import describe_checkpoint

    checkpoint = open_checkpoint(path)
    repr(checkpoint)
    return describe_checkpoint(checkpoint)


def _policy(path):
    from rlconnect.legacy.policy.policy import Policy

    return Policy.from_checkpoint(path, check=True)


def _specs(path):
    from rlconnect.legacy.policy.checkpoint_policies import parse_policy_specs_from_checkpoint

    return parse_policy_specs_from_checkpoint(path)


def _module(path):
    from rlconnect.v2 import RLModule

    return RLModule.from_checkpoint(path)


def _connector(path):
    from rlconnect.v2 import ConnectorV2

    return ConnectorV2.from_checkpoint(path)


def _env_to_module(path):
    from rlconnect.v2 import EnvToModulePipeline

    return EnvToModulePipeline.from_checkpoint(path)


def _filter(path):
    from rlconnect.v2 import MeanStdFilter

    made = MeanStdFilter()
    made.restore_from_path(path)
    return made


def _algorithm(path):
    from rlconnect.v2 import Algorithm

    from tests.fuzz.samples import filtered

    known = {"tests.fuzz.samples.filtered": filtered, "warehouse_pieces.normalise": filtered}
    made = Algorithm.from_checkpoint(path, module_classes=known)
    made.stop()
    return made


_RUNS = {}


def _restore(path):
    """The state of a folder in a run that is there already."""
    from tests.fuzz.samples import running

    name = "lstm" if "msgpack" in Path(path).name else "plain"
    if name not in _RUNS:
        model = {"use_lstm": True, "max_seq_len": 4} if name == "lstm" else None
        _RUNS[name] = running(model).build_algo()
    try:
        return _RUNS[name].restore_from_path(path)
    except Exception:
        _RUNS.pop(name).stop()  # what it is now may be half of each
        raise


def _migrated(path):
    from rlconnect.bridge.migrate.checkpoint import load_migrated

    return load_migrated(path, check=True)


def _triple(path):
    from rlconnect.bridge.loading.triples import load_triple

    return load_triple(path)


def _actor(path):
    from rlconnect.bridge.actor.actor import Actor

    return Actor.from_checkpoint(path)


def _plan(path):
    from rlconnect.bridge.migrate.plan import MigrationPlan

    return MigrationPlan.load(Path(path) / "plan.json")


def _migrate(path):
    import rlconnect

    return rlconnect.migrate(path)


def _info(path):
    from rlconnect.offline import open_dataset

    return open_dataset(path).info()


def _episodes(path):
    from rlconnect.offline import open_dataset

    return sum(len(each) for each in open_dataset(path).episodes())


def _sample_batches(path):
    from rlconnect.offline import open_dataset

    return sum(each.count for each in open_dataset(path).sample_batches(8))


def _steps(path):
    from rlconnect.offline import open_dataset

    return [list(each) for each in open_dataset(path).steps(8)]


def _adapt(path):
    import gymnasium as gym
    from rlconnect.bridge.adapting.adapt import suggest_adapter
    from rlconnect.bridge.loading.natives import natives_in

    policies = natives_in(path).policies.values()
    return [suggest_adapter(each, gym.make("CartPole-v1")) for each in policies]


def command(*words):
    """A door that runs the command line; `{path}` and `{out}` are filled in."""

    def run(path):
        from rlconnect.cli.app import main

        out = tempfile.mkdtemp(prefix="out-")
        filled = [word.format(path=path, out=out) for word in words]
        quiet = io.StringIO()
        try:
            with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
                code = main(filled)
        finally:
            shutil.rmtree(out, ignore_errors=True)
        text = quiet.getvalue()
        if code not in (0, 1, 2) or "Traceback (most recent call last)" in text:
            raise AssertionError(f"exit code {code}, {text[-300:]!r}")
        return code

    return run


_COMMANDS = {
    "cli inspect": command("inspect", "{path}"),
    "cli inspect --json": command("inspect", "--json", "{path}"),
    "cli inspect --weights": command("inspect", "--weights", "{path}"),
    "cli scan": command("scan", "{path}"),
    "cli scan --json": command("scan", "--json", "{path}"),
    "cli inspect --audit": command("inspect", "--audit", "{path}"),
    "cli scan --audit": command("scan", "--audit", "--json", "{path}"),
    "cli convert": command("convert", "{path}", "--out", "{out}/plain"),
    "cli verify": command("verify", "{path}"),
    "cli migrate": command("migrate", "{path}"),
    "cli migrate --out": command("migrate", "{path}", "--out", "{out}/v2", "--json"),
    "cli adapt": command("adapt", "{path}", "--env", "CartPole-v1"),
}
_ANY = {"load": _load, "open": _open, "actor": _actor, **_COMMANDS}
_ALGORITHM = {**_ANY, "algorithm": _algorithm, "triple": _triple, "module": _module}

DOORS = {
    "inspect": {"open": _open, "specs": _specs, **_COMMANDS},
    "trial": {"cli scan": _COMMANDS["cli scan"], "cli scan --json": _COMMANDS["cli scan --json"]},
    "policy": {**_ANY, "policy": _policy, "specs": _specs, "migrate": _migrate, "adapt": _adapt},
    "module": {**_ANY, "module": _module, "policy": _policy},
    "pipeline": {**_ANY, "connector": _connector, "pipeline": _env_to_module, "filter": _filter},
    "algorithm": _ALGORITHM,
    "run": {**_ALGORITHM, "restore": _restore},
    "migrated": {**_COMMANDS, "migrated": _migrated, "triple": _triple, "actor": _actor},
    "triple": {**_COMMANDS, "triple": _triple, "actor": _actor},
    "plan": {"plan": _plan, "cli migrate": command("migrate", "{path}/plan.json")},
    "actor": {**_COMMANDS, "actor": _actor, "triple": _triple},
    "data": {
        "info": _info,
        "episodes": _episodes,
        "batches": _sample_batches,
        "steps": _steps,
        "cli convert --to json": command("convert", "{path}", "{out}/data", "--to", "json"),
        "cli convert --to minari": command("convert", "{path}", "{out}/data", "--to", "minari"),
        "cli convert --to parquet": command("convert", "{path}", "{out}/data", "--to", "parquet"),
    },
}
"""Doors by the kind of checkpoint; each takes a path."""

_HEAVY = ("cli migrate", "cli migrate --out", "migrate", "cli verify")


def draw(kind, rng, only=None):
    """A door for a kind of checkpoint, its name first; the slow ones come up less often."""
    table = DOORS[kind]
    names = [name for name in table if only is None or only in name] or list(table)
    weights = [0.2 if name in _HEAVY else 0.5 if name.startswith("cli") else 2 for name in names]
    name = rng.choices(names, weights)[0]
    return name, table[name]


def given_path(root):
    """What a user would name: the folder, or the one file in it."""
    files = [file for file in os.listdir(root) if file.endswith(".json")]
    if len(os.listdir(root)) == 1 and files == ["policy.json"]:
        return os.path.join(root, "policy.json")
    return str(root)
