"""Every kind of save: two states of it, A and B, and a loader that says which of them lies there.

A kind is made once, before the kills. `save(label)` saves one state over whatever is there;
`label()` loads with the library's own loader, looks at every part, and gives "A" or "B"; parts of
both are a `Mixture`. `files()` is what may lie in the folder when nothing is left over.
"""

import contextlib
import io
import json
import os
import pickle
import tempfile
import zlib
from pathlib import Path

import numpy as np

NOTE = "mine"
GOLDEN = Path(__file__).parents[1] / "golden"


class Mixture(AssertionError):
    """What was loaded is of two saves."""


def one_label(found):
    """The one label among many."""
    labels = set(found)
    if len(labels) != 1:
        raise Mixture(f"parts of {sorted(map(str, labels))}")
    return labels.pop()


class Kind:
    """A kind of save into `folder`; `target` is what is saved to."""

    name = "saved"
    has_note = True

    def __init__(self, folder):
        self.folder = Path(folder)
        self.target = self.folder / self.name
        self.build()

    def build(self):
        """Make both states."""

    def put_note(self):
        """Put a user's file beside ours."""
        if self.has_note and self.target.is_dir():
            (self.target / "notes.txt").write_text(NOTE, encoding="utf-8")

    def check_note(self):
        """See that it is there."""
        if self.has_note and (self.target / "notes.txt").read_text(encoding="utf-8") != NOTE:
            raise Mixture("the note changed")

    def expected_names(self):
        """What lies in the folder when nothing is left over."""
        return {self.name}

    def is_clean(self):
        """Whether nothing is left over, beside the target or in it."""
        hidden = [name for _, dirs, files in os.walk(self.folder) for name in (*dirs, *files)]
        return set(os.listdir(self.folder)) == self.expected_names() and not any(
            ".tmp-" in name or ".old-" in name for name in hidden
        )


def arrays_label(state, answers):
    """Which of two states of arrays this is, whole."""
    for label, wanted in answers.items():
        if state.keys() == wanted.keys() and all(
            np.array_equal(np.asarray(state[key]), np.asarray(wanted[key])) for key in wanted
        ):
            return label
    return "neither"


class Tree(Kind):
    """A component with parts, with nothing of torch: B is msgpack and has a part less."""

    def save(self, label):
        from tests.core.vault.saved_trees import save

        with contextlib.nullcontext():
            parts, ending = (("a", "b"), "pkl") if label == "A" else (("a",), "msgpack")
            save(self.target, label * 500, parts, ending)

    def label(self):
        from rlconnect.core.vault.save_manifest import read_as_one

        def read(kept):
            found = []
            place = kept or self.target
            for file in place.rglob("state.*"):
                label = pickle.loads(file.read_bytes())["label"]
                wanted = ".pkl" if label[0] == "A" else ".msgpack"
                found.append(label[0] if file.suffix == wanted else "neither")
            if len(found) != (3 if found[0] == "A" else 2):
                raise Mixture(f"{len(found)} parts of {found[0]}")
            return one_label(found)

        return read_as_one(self.target, read)


class NaiveTree(Tree):
    """The positive control: the same files, written one by one into the folder."""

    def save(self, label):
        from tests.core.vault.saved_trees import write_formerly

        parts, ending = (("a", "b"), "pkl") if label == "A" else (("a",), "msgpack")
        write_formerly(self.target, label * 500, parts, ending)


class OwnFormat(Kind):
    """A folder of our own format."""

    has_note = False

    def save(self, label):
        from rlconnect.core.vault.own.writer import save_folder

        w = np.full(2000, ord(label), np.float32)
        save_folder(self.target, {"label": label, "weights": {"w": w}}, kind=label)

    def label(self):
        from rlconnect.core.vault.own.own_format import read_folder

        own = read_folder(self.target)
        (w,) = set(own.document["weights"]["w"].tolist())
        return one_label([own.kind, own.document["label"], chr(int(w))])


def a_policy(seed, case="own value net"):
    """A policy of the old stack with weights of a seed."""
    from tests.bridge.migrate.networks import POLICIES, policy_of

    policy = policy_of(POLICIES[case])
    rng = np.random.default_rng(seed)
    policy.set_weights(
        {
            name: rng.normal(size=np.shape(value)).astype(np.float32)
            for name, value in policy.get_weights().items()
        }
    )
    policy.global_timestep = seed
    return policy


class PolicyExport(Kind):
    """`Policy.export_checkpoint`."""

    has_note = False

    def build(self):
        self.policies = {label: a_policy(ord(label)) for label in "AB"}
        self.weights = {label: p.get_weights() for label, p in self.policies.items()}

    def save(self, label):
        self.policies[label].export_checkpoint(self.target)

    def label(self):
        from rlconnect.legacy import Policy

        found = Policy.from_checkpoint(self.target)
        found = next(iter(found.values())) if isinstance(found, dict) else found
        return one_label(
            [chr(found.global_timestep), arrays_label(found.get_weights(), self.weights)]
        )


class AdaptedPolicy(PolicyExport):
    """A policy adapted to another environment, saved."""

    def build(self):
        from gymnasium.spaces import Box
        from rlconnect.bridge import adapt
        from rlconnect.core.adapters import Scale

        self.policies = {
            label: adapt(
                a_policy(ord(label)),
                obs=[Scale(0.5 if label == "A" else 0.25)],
                observation_space=Box(-6, 6, (5,), np.float32),
            )
            for label in "AB"
        }
        self.weights = {label: p.get_weights() for label, p in self.policies.items()}


class OldActor(PolicyExport):
    """`Actor.save` of policies of the old stack."""

    def build(self):
        from rlconnect.bridge import Actor

        super().build()
        self.actors = {label: Actor.from_policy(p) for label, p in self.policies.items()}

    def save(self, label):
        self.actors[label].save(self.target)


def a_module(seed, hiddens=(8,)):
    """A module with weights of a seed."""
    from gymnasium.spaces import Box, Discrete
    from rlconnect import v2

    module = v2.DefaultPPOTorchRLModule(
        observation_space=Box(-1, 1, (4,), np.float32),
        action_space=Discrete(2),
        model_config={"fcnet_hiddens": list(hiddens)},
    )
    rng = np.random.default_rng(seed)
    module.set_state(drawn(module.get_state(), rng))
    return module


def drawn(state, rng):
    """Arrays of the same shapes with other numbers."""
    return {k: rng.normal(size=np.shape(v)).astype(np.float32) for k, v in state.items()}


class Module(Kind):
    """`RLModule.save_to_path`; B is msgpack."""

    def build(self):
        self.modules = {label: a_module(ord(label)) for label in "AB"}
        self.states = {label: m.get_state() for label, m in self.modules.items()}

    def save(self, label):
        self.modules[label].save_to_path(self.target, use_msgpack=label == "B")

    def label(self):
        from rlconnect.v2 import RLModule

        return arrays_label(RLModule.from_checkpoint(self.target).get_state(), self.states)


class MultiModule(Module):
    """`MultiRLModule.save_to_path`; B has one module less."""

    def build(self):
        from rlconnect.v2 import MultiRLModule

        self.modules = {}
        for label, ids in (("A", "pqr"), ("B", "pq")):
            multi = MultiRLModule()
            for at, name in enumerate(ids):
                multi.add_module(name, a_module(ord(label) + at))
            self.modules[label] = multi
        self.states = {
            label: {name: module.get_state() for name, module in multi.items()}
            for label, multi in self.modules.items()
        }

    def label(self):
        from rlconnect.v2 import RLModule

        found = dict(RLModule.from_checkpoint(self.target).items())
        folders = {path.name for path in self.target.iterdir() if path.is_dir()}
        labels = [
            arrays_label(module.get_state(), {at: s.get(name, {}) for at, s in self.states.items()})
            for name, module in found.items()
        ]
        if set(found) != set(self.states[one_label(labels)]) or folders - set(found):
            raise Mixture(f"modules {sorted(found)}, folders {sorted(folders)}")
        return one_label(labels)


class Pipeline(Kind):
    """A pipeline with two filters."""

    def build(self):
        from gymnasium.spaces import Box, Discrete
        from rlconnect.v2 import EnvToModulePipeline, MeanStdFilter

        spaces = Box(-1, 1, (4,), np.float32), Discrete(2)
        self.pipelines = {}
        for label in "AB":
            pipeline = EnvToModulePipeline(*spaces, connectors=[MeanStdFilter(), MeanStdFilter()])
            state = pipeline.get_state()
            numbered(state, float(ord(label)))
            pipeline.set_state(state)
            self.pipelines[label] = pipeline

    def save(self, label):
        self.pipelines[label].save_to_path(self.target, use_msgpack=label == "B")

    def label(self):
        from rlconnect.v2 import EnvToModulePipeline

        found = EnvToModulePipeline.from_checkpoint(self.target).get_state()
        return one_label(chr(int(number)) for number in numbers_in(found))


def numbered(state, number):
    """Put a number into all counts of filters."""
    for key, value in state.items():
        if isinstance(value, dict):
            numbered(value, number)
        elif isinstance(value, list):
            for each in value:
                if isinstance(each, dict):
                    numbered(each, number)
        elif key == "num_pushes":
            state[key] = int(number)


def numbers_in(state):
    """All those numbers."""
    for key, value in state.items():
        if isinstance(value, dict):
            yield from numbers_in(value)
        elif isinstance(value, list):
            for each in value:
                if isinstance(each, dict):
                    yield from numbers_in(each)
        elif key == "num_pushes":
            yield value


def statistics_in(state):
    """What filters have seen."""
    for key, value in state.items():
        if key == "running_stats":
            for each in value:
                yield each["num_pushes"], each["mean_array"], each["sum_sq_diff_array"]
        elif isinstance(value, dict):
            yield from statistics_in(value)


class Algorithm(Kind):
    """`Algorithm.save`: a run after one iteration and after three; B is msgpack."""

    def build(self):
        from rlconnect.v2 import MeanStdFilter

        from tests.v2.algorithms.algorithm_cases import small

        def piece(env, spaces, device):
            return MeanStdFilter()

        self.algo = small(env_to_module_connector=piece).build_algo()
        self.states = {}
        for label, iterations in (("A", 1), ("B", 2)):
            for _ in range(iterations):
                self.algo.train()
            self.states[label] = pickle.loads(pickle.dumps(self.algo.get_state()))

    def save(self, label):
        self.algo.save_to_path(self.target, state=self.states[label], use_msgpack=label == "B")

    def label(self):
        self.algo.restore_from_path(self.target)
        found = self.algo.get_state()
        labels = []
        filters = list(statistics_in(found["env_runner"]))
        for label, wanted in self.states.items():
            same = (
                found["training_iteration"] == wanted["training_iteration"],
                nested_equal(found["learner_group"], wanted["learner_group"]),
                filters == list(statistics_in(wanted["env_runner"])),
            )
            labels += [label] * any(same)
            if any(same) and not all(same):
                raise Mixture(f"{label}: {same}")
        return one_label(labels)


def nested_equal(one, other):
    """Whether two nested states hold the same."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(nested_equal(one[k], other[k]) for k in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(nested_equal, one, other))
    if hasattr(one, "shape") or hasattr(other, "shape"):
        return np.array_equal(np.asarray(one), np.asarray(other))
    return one == other


def module_of(player):
    """The module that a player acts with."""
    from rlconnect.bridge.loading.natives import source_of

    return source_of(player).module


class Actor(Kind):
    """`Actor.save` of several players of the new stack; B has one less."""

    def build(self):
        from rlconnect.bridge import Actor as Made

        source = GOLDEN / "module_checkpoints" / "ppo"
        self.actors, self.states = {}, {}
        for label, names in (("A", "pq"), ("B", "pqr")):
            players = {}
            for at, name in enumerate(names):
                actor = Made.from_checkpoint(source)
                module = module_of(actor.only)
                rng = np.random.default_rng(ord(label) + at)
                module.set_state(drawn(module.get_state(), rng))
                players[name] = actor.only
                self.states.setdefault(label, {})[name] = module.get_state()
            mapping = {at: name for at, name in enumerate(names)}
            self.actors[label] = Made(players, policy_mapping_fn=mapping)

    def save(self, label):
        self.actors[label].save(self.target)

    def label(self):
        from rlconnect.bridge import Actor as Made

        players = Made.from_checkpoint(self.target).players
        labels = [
            arrays_label(
                module_of(player).get_state(),
                {at: states.get(name, {}) for at, states in self.states.items()},
            )
            for name, player in players.items()
        ]
        if set(players) != set(self.states[one_label(labels)]):
            raise Mixture(f"players {sorted(players)}")
        return one_label(labels)


class Migrated(Kind):
    """`migrate(out=)`."""

    def build(self):
        from rlconnect.bridge.migrate.plan import MigrationPlan

        self.plans = {}
        for label in "AB":
            plan = MigrationPlan(a_policy(ord(label)), samples=2, length=3)
            self.plans[label] = plan.apply()

    def save(self, label):
        from rlconnect.bridge.migrate.checkpoint import save_migrated

        save_migrated(self.plans[label], self.target)

    def label(self):
        from rlconnect.bridge.migrate.checkpoint import load_migrated

        found = load_migrated(self.target, check=True)
        states = {label: plan.triple()[1].get_state() for label, plan in self.plans.items()}
        return arrays_label(found.module.get_state(), states)


class ToRay(Migrated):
    """`to_ray`."""

    def save(self, label):
        from rlconnect.bridge.migrate.ray_checkpoint import to_ray

        to_ray(self.plans[label], self.target, only_module=label == "B")

    def label(self):
        from rlconnect.v2 import RLModule

        found = RLModule.from_checkpoint(self.target / "rl_module").get_state()
        states = {label: plan.triple()[1].get_state() for label, plan in self.plans.items()}
        label = arrays_label(found, states)
        has_pipelines = (self.target / "env_to_module_connector").is_dir()
        if has_pipelines != (label == "A"):
            raise Mixture(f"{label}, pipelines: {has_pipelines}")
        return label


class Plan(Migrated):
    """`MigrationPlan.save` of a live policy: a file, and the policy beside it."""

    name = "plan.json"
    has_note = False

    def save(self, label):
        self.plans[label].source = ""
        self.plans[label].save(self.target)

    def label(self):
        from rlconnect.bridge.migrate.plan import MigrationPlan

        found = MigrationPlan.load(self.target)
        states = {label: plan.policy.get_weights() for label, plan in self.plans.items()}
        label = arrays_label(found.policy.get_weights(), states)
        return one_label([label, chr(found.policy.global_timestep)])

    def expected_names(self):
        return {self.name, json.loads(self.target.read_text(encoding="utf-8"))["source"]}


class Artifact(Kind):
    """`export_actor`: a file, and its manifest beside it."""

    name = "policy.pt2"
    has_note = False

    def build(self):
        self.files = {label: (label * 100_000).encode() for label in "AB"}

    def save(self, label):
        import hashlib

        from rlconnect.bridge.compiled import artifact

        said = {"sha256": hashlib.sha256(self.files[label]).hexdigest()}
        artifact._write(self.target, self.files[label], json.dumps(said))

    def label(self):
        import hashlib

        data = self.target.read_bytes()
        beside = self.target.with_name(self.name + ".json")
        if beside.exists():
            said = json.loads(beside.read_text(encoding="utf-8"))["sha256"]
            if said != hashlib.sha256(data).hexdigest():
                raise Mixture("the manifest of another artifact")
        return next(label for label, whole in self.files.items() if data == whole)

    def expected_names(self):
        return {self.name, self.name + ".json"}


class Copied(Kind):
    """A checkpoint of several files, copied to another folder."""

    def save(self, label):
        from rlconnect.v2.algorithms.saved_run import SavedFolder

        run = zlib.crc32(str(self.target).encode())  # another run's was saved by other code
        source = Path(tempfile.gettempdir()) / f"copied-{os.getuid()}-{run}-{label}"
        if not source.exists():
            source.mkdir()
            for name in ("one", "two", "three"):
                (source / name).write_text(label * 1000, encoding="utf-8")
        SavedFolder(source).to_directory(self.target)

    def label(self):
        from rlconnect.core.vault.save_manifest import read_as_one

        def read(kept):
            files = [(kept or self.target) / name for name in ("one", "two", "three")]
            return {file.read_text(encoding="utf-8")[0] for file in files}

        return one_label(read_as_one(self.target, read))


class Episodes(Kind):
    """A file of episodes."""

    name = "episodes.msgpack"
    has_note = False

    def build(self):
        from rlconnect.v2 import SingleAgentEpisode

        self.episodes = {
            label: [
                SingleAgentEpisode(
                    observations=np.full((21, 4), ord(label), np.float32),
                    actions=np.full(20, ord(label)),
                    rewards=np.full(20, float(ord(label))),
                    terminated=True,
                    len_lookback_buffer=0,
                )
                for _ in range(5)
            ]
            for label in "AB"
        }

    def save(self, label):
        from rlconnect.v2.algorithms.episode_files import write_episodes

        write_episodes(self.target, self.episodes[label])

    def label(self):
        from rlconnect.v2.algorithms.episode_files import read_episodes

        found = read_episodes(self.target)
        return one_label(chr(int(n)) for e in found for n in {*e.get_rewards(), *e.get_actions()})


class Report(Kind):
    """The HTML page of `verify`."""

    name = "report.html"
    has_note = False

    def build(self):
        from rlconnect.bridge import verify
        from rlconnect.legacy.policy.default_connectors import create_connectors_for_policy

        policies = {label: a_policy(ord(label)) for label in "AB"}
        for policy in policies.values():
            create_connectors_for_policy(policy, policy.config)
        self.verdicts = {
            "A": verify(policies["A"], policies["A"], samples=2, length=3),
            "B": verify(policies["A"], policies["B"], samples=2, length=3),
        }
        self.pages = {}
        for label, verdict in self.verdicts.items():
            place = Path(tempfile.mkdtemp()) / self.name
            verdict.save_report(place)
            self.pages[place.read_bytes()] = label

    def save(self, label):
        self.verdicts[label].save_report(self.target)

    def label(self):
        return self.pages[self.target.read_bytes()]


class Results(Kind):
    """`progress.csv` that gets another column."""

    name = "progress.csv"
    has_note = False

    def save(self, label):
        from rlconnect.v2 import CSVLogger

        row = {"a": "A"} if label == "A" else {"a": "B", "b": "B"}
        self.target.unlink(missing_ok=True) if label == "A" else None
        with contextlib.redirect_stdout(io.StringIO()):
            logger = CSVLogger({}, self.folder)
            logger.on_result(row)
            logger.close()

    def label(self):
        import csv

        with self.target.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        if any(None in row or None in row.values() for row in rows):
            raise Mixture("half a row")
        return rows[-1]["a"] if rows else "A"


KINDS = {
    "tree": Tree,
    "own format": OwnFormat,
    "policy": PolicyExport,
    "adapted policy": AdaptedPolicy,
    "actor, old stack": OldActor,
    "actor, new stack": Actor,
    "module": Module,
    "several modules": MultiModule,
    "pipeline": Pipeline,
    "algorithm": Algorithm,
    "migrate(out=)": Migrated,
    "to_ray": ToRay,
    "migration plan": Plan,
    "artifact": Artifact,
    "copied checkpoint": Copied,
    "episodes": Episodes,
    "report": Report,
}
