"""Recordings of the old stack, and policies played through them.

A recording is a checkpoint, what was fed to the policy in it, and what left each connector, the
network and the policy. `tests/golden/recordings/README.md` says where they come from; keys of the
arrays are `<policy>|<stage>|<path>` with `#i` for positions of tuples.
"""

import copy
import json
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np
from rlconnect.legacy import (
    ConnectorContext,
    Policy,
    SampleBatch,
    local_policy_inference,
    register_lambda_action_connector,
    register_lambda_agent_connector,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "recordings"
SHARED = Path(__file__).parents[2].parent / "shared" / "reference"
NUMBERS = re.compile(r"unroll_id|agent_index|eps_id|agent_id|env_id|\bt$")  # of things, by a Ray
UNTOLD = re.compile(r"(raw_dict|sample_batch)\.infos|seq_lens")
TOLERANCE = 1e-5


def folders(root: Path) -> list[Path]:
    """The cases below a folder `<release>/<case>/`."""
    return sorted(p.parent for p in root.glob("*/*/io.npz")) if root.is_dir() else []


def leaves(value, path="") -> Iterator[tuple[str, np.ndarray]]:
    """The arrays of a nest by their recorded path."""
    if isinstance(value, dict) or hasattr(value, "items"):
        for key, part in value.items():
            yield from leaves(part, f"{path}.{key}" if path else str(key))
    elif isinstance(value, (tuple, list)):
        for index, part in enumerate(value):
            yield from leaves(part, f"{path}.#{index}" if path else f"#{index}")
    elif value is not None:
        yield path, value.detach().numpy() if hasattr(value, "detach") else np.asarray(value)


def nested(flat):
    """The nest whose leaves these are; the reverse of `leaves`."""
    if set(flat) == {""}:
        return flat[""]
    groups = {}
    for path, value in flat.items():
        head, _, rest = path.partition(".")
        groups.setdefault(head, {})[rest] = value
    parts = {head: nested(group) for head, group in groups.items()}
    if all(head.startswith("#") for head in parts):
        return tuple(parts[f"#{index}"] for index in range(len(parts)))
    return parts


class Recording:
    """One recorded case.

    Args:
        folder: `<release>/<case>/`, with `io.npz`, `io.json` and `algo_checkpoint/`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = f"{folder.parent.name}/{folder.name}"
        self.release = tuple(int(part) for part in folder.parent.name.split(".")[:2])
        self.meta = json.loads((folder / "io.json").read_text(encoding="utf-8"))
        self.is_noisy = "noisy" in self.name

    @cached_property
    def arrays(self):
        with np.load(self.folder / "io.npz") as held:
            arrays = {name: held[name] for name in held.files}
        return {**arrays, **{k: arrays[same] for k, same in self.meta["aliases"].items()}}

    @property
    def policy_ids(self):
        return list(self.meta["policies"])

    def custom_model(self, policy_id):
        return (self.meta["policies"][policy_id].get("model_config") or {}).get("custom_model")

    def load(self, policy_id, **options):
        """The policy of the algorithm's checkpoint, adapted as it was for the recording."""
        found = Policy.from_checkpoint(self.folder / "algo_checkpoint", **options)
        return self.adapted(found[policy_id])

    def adapted(self, policy):
        if self.meta["options"].get("adapt"):
            ctx = ConnectorContext.from_policy(policy)
            policy.agent_connectors.prepend(LAMBDAS["DropLastTwoFeatures"](ctx))
            policy.action_connectors.append(LAMBDAS["AddFakeAction"](ctx))
        return policy

    def is_rollout_true(self, policy_id):
        """Whether Ray itself acted rightly: 2.3 to 2.5 forget states, noise is redrawn."""
        recurrent = self.meta["policies"][policy_id].get("is_recurrent")
        return not self.is_noisy and not (recurrent and self.release in ((2, 3), (2, 5)))

    def stages(self, policy_id, prefix):
        names = {key.split("|")[1] for key in self.arrays if key.startswith(f"{policy_id}|")}
        return sorted(
            (n for n in names if re.match(rf"{prefix}\d+:", n)),
            key=lambda n: int(n[len(prefix) :].split(":")[0]),
        )

    def rows(self, policy_id, stage):
        """Path -> step -> row of a stage."""
        recorded = self.meta["policies"][policy_id]
        found = {}
        for key, array in self.arrays.items():
            holder, of, path = [*key.split("|", 2), ""][:3]
            if holder == policy_id and of == stage:
                steps = recorded["arrays"].get(key, {}).get("steps", "all")
                steps = range(recorded["num_steps"]) if steps == "all" else steps
                by_step = found.setdefault(path.split("@")[0], {})
                by_step.update(zip(steps, array, strict=False))
        return found

    def steps(self, policy_id):
        """(step, env_id, whether an episode starts, observation, keywords) of the rollout."""
        recorded = self.meta["policies"][policy_id]
        raw = self.rows(policy_id, "raw_obs")
        fed = self.rows(policy_id, "reward")
        starts = {each["first_step"]: each["env_id"] for each in recorded["episodes"]}
        env_id = None
        for step in range(recorded["num_steps"]):
            env_id = starts.get(step, env_id)
            flat = {
                path.removeprefix("obs").lstrip("."): _native(by_step[step])
                for path, by_step in raw.items()
                if step in by_step
            }
            keywords = {}
            if step in fed.get("reward", {}):
                keywords = {
                    "reward": float(fed["reward"][step]),
                    "terminated": bool(fed["done"][step]),
                    "truncated": False,
                    "info": {},
                }
            yield step, env_id, step in starts, nested(flat), keywords

    def batch(self, policy_id, stage):
        """What one of the batch stages holds, nested."""
        prefix = f"{policy_id}|{stage}|"
        return {k[len(prefix) :]: v for k, v in self.arrays.items() if k.startswith(prefix)}


def _native(value):
    return value.item() if value.ndim == 0 and value.dtype.kind in "iu" else value


def rollout(policy, recording, policy_id):
    """The outputs of a policy stepped through the recorded observations."""
    for step, env_id, starts, obs, keywords in recording.steps(policy_id):
        if starts:
            policy.agent_connectors.reset(env_id)
        (output,) = local_policy_inference(
            policy, env_id, "0", copy.deepcopy(obs), explore=False, **keywords
        )
        yield step, output


def batch_outputs(policy, recording, policy_id):
    """What the policy answers to the recorded batch, or None where none was recorded."""
    flat = recording.batch(policy_id, "batch_in")
    if not flat:
        return None
    return policy.compute_actions_from_input_dict(SampleBatch(nested(flat)), explore=False)


def named(output):
    """The leaves of (actions, states, fetches) by recorded path."""
    actions, states, fetches = output
    return dict(leaves({"actions": actions, "states": list(states), "fetches": dict(fetches)}))


class Tap:
    """Stands in a pipeline for a connector and keeps what leaves it."""

    def __init__(self, connector, stage, kept):
        self.connector, self.stage, self.kept = connector, stage, kept

    def __getattr__(self, name):
        return getattr(self.connector, name)

    def __call__(self, given):
        left = self.connector(given)
        if isinstance(left, list):
            data = left[0].data
            if hasattr(data, "raw_dict"):
                data = {"raw_dict": data.raw_dict, "sample_batch": dict(data.sample_batch)}
            self.kept[self.stage] = dict(leaves(data))
        else:
            self.kept[self.stage] = named(left.output)
        return left


def tapped(policy, recording, policy_id):
    """Put taps around the policy's connectors; the dict they fill, by stage."""
    kept = {}
    for prefix, pipeline in (
        ("agent", policy.agent_connectors),
        ("action", policy.action_connectors),
    ):
        stages = recording.stages(policy_id, prefix)
        if len(stages) == len(pipeline.connectors):
            pipeline.connectors = [
                Tap(connector, stage, kept)
                for connector, stage in zip(pipeline.connectors, stages, strict=True)
            ]
    return kept


def gap(want, got, *, is_batched=False):
    """Why two arrays differ, in words; empty where they do not."""
    if is_batched and want.ndim == got.ndim + 1 and len(want) == 1:
        want = want[0]
    if want.shape != got.shape:
        return f"shape {got.shape}, recorded {want.shape}"
    if want.dtype.kind not in "fiub":
        return ""
    wanted, found = want.astype(np.float64), got.astype(np.float64)
    finite = np.abs(wanted[np.isfinite(wanted)])
    close = np.isclose(
        wanted, found, rtol=0, atol=TOLERANCE * max(1.0, finite.max(initial=0)), equal_nan=True
    )
    return "" if close.all() else f"differs by {np.nanmax(np.abs(wanted - found)):.3g}"


def _both(data, change):
    return {**data, **{k: change(data[k]) for k in ("obs", "new_obs") if k in data}}


def _plus_one(value):
    if isinstance(value, (tuple, list)):
        return type(value)(map(_plus_one, value))
    return value + np.ones_like(value)


LAMBDAS = {
    "HalveObs": register_lambda_agent_connector(
        "HalveObs", lambda data: _both(data, lambda obs: obs * 0.5)
    ),
    "DropLastTwoFeatures": register_lambda_agent_connector(
        "DropLastTwoFeatures", lambda data: _both(data, lambda obs: obs[:-2])
    ),
    "ShiftAction": register_lambda_action_connector(
        "ShiftAction", lambda actions, states, fetches: (_plus_one(actions), states, fetches)
    ),
    "AddFakeAction": register_lambda_action_connector(
        "AddFakeAction",
        lambda actions, states, fetches: (
            {"ON": actions, "BOGUS": np.zeros(2, np.int64)},
            states,
            fetches,
        ),
    ),
}
