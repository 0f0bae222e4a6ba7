"""What a checkpoint holds, as frozen plain data: the product of the vault.

    Checkpoint
      policies: id -> PolicyRecord      old stack: spaces, config, weights, connectors
      modules: id -> ModuleRecord       new stack: class, constructor arguments, weights
      components: ComponentRecord ...   new stack: pipelines, pieces, runners and their states
      foreign, skipped, problems        user classes it names; what was not read, and why

Nothing here is live: each stack builds its own objects from these records. Unknown keys stay in
`extra`, never dropped.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np
from gymnasium import Space

from ...errors import UnsafeContentWarning
from ...text.visible import visible
from .weights import WeightTable

Kind = Literal[
    "algorithm", "policy", "policies", "module", "multi_module", "component", "actor", "migrated"
]
Stack = Literal["old", "new", "rlconnect"]
ProblemKind = Literal["note", "missing", "damaged"]

# With one of these on, policies of the old stack compute with RLModules.
_MOST_SHOWN: Final = 8
_MODULE_SWITCHES: Final = (
    "_enable_rl_module_api",
    "_enable_new_api_stack",
    "enable_rl_module_and_learner",
)


@dataclass(frozen=True)
class FilterRecord:
    """Running statistics of an observation filter.

    Args:
        kind: "MeanStdFilter", "ConcurrentMeanStdFilter" or "NoFilter".
        count: Observations seen, per leaf of the observation.
        mean: Mean, per leaf.
        sum_of_squares: Sum of squared differences from the mean, per leaf (Ray calls it std).
        demean: Whether the mean is taken off.
        destd: Whether the result is divided by the deviation.
        clip: Largest magnitude let through; None for any.
        where: Where in the checkpoint it lies.
        state: The filter's state as its owner takes it back.
        is_from_worker: Whether a rollout worker held it, not a connector (Ray 2.0 and older).
    """

    kind: str
    count: tuple[int, ...] = ()
    mean: tuple[np.ndarray[Any, Any], ...] = ()
    sum_of_squares: tuple[np.ndarray[Any, Any], ...] = ()
    demean: bool = True
    destd: bool = True
    clip: float | None = None
    where: str = ""
    state: Any = None
    is_from_worker: bool = False

    @property
    def std(self) -> tuple[np.ndarray[Any, Any], ...]:
        """Standard deviations as Ray derives them: |mean| until there are two observations."""
        pairs = zip(self.count, self.mean, self.sum_of_squares, strict=True)
        return tuple(np.sqrt(s / (n - 1)) if n > 1 else np.abs(m) for n, m, s in pairs)


@dataclass(frozen=True)
class ConnectorRecord:
    """One connector of an old-stack pipeline, or one piece of a new-stack one.

    Args:
        name: Its registered name or class name.
        params: What it is rebuilt from, as plain data.
        module: Where its class was defined, if the file says so.
        children: Pieces of a nested pipeline.
    """

    name: str
    params: Any = None
    module: str = ""
    children: tuple[ConnectorRecord, ...] = ()

    @property
    def is_pipeline(self) -> bool:
        """True if this is a pipeline of further connectors."""
        return bool(self.children) or self.name.endswith(("Pipeline", "PipelineV2"))

    def flat(self) -> Iterator[ConnectorRecord]:
        """The pieces in order, nested pipelines unfolded."""
        for child in self.children:
            yield from child.flat() if child.is_pipeline else (child,)


@dataclass(frozen=True)
class PolicyRecord:
    """A policy of the old stack.

    Args:
        id: Its name in the algorithm.
        policy_class: The class that wrote it, a name or dotted path; empty when unknown.
        algorithm: The algorithm in RLlib's spelling ("PPO"); empty when unknown.
        framework: "torch", "tf" or "tf2".
        observation_space: As the model sees it; its `original_space` is the environment's.
        action_space: The environment's.
        config: The old trainer config as plain data.
        weights: Arrays by name.
        agent_connectors: The pipeline towards the policy, or None where none was saved.
        action_connectors: The pipeline towards the environment.
        filters: Observation filters with their statistics.
        global_timestep: Steps trained.
        exploration_state: What the exploration scheme saved.
        optimizer: Optimiser variables as data; their tensors are arrays.
        extra: Every other key of the saved state.
        where: The file it was read from.
        ray_version: The Ray release that wrote it; empty when nothing says.
    """

    id: str
    policy_class: str = ""
    algorithm: str = ""
    framework: str = ""
    observation_space: Space[Any] | None = None
    action_space: Space[Any] | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    weights: WeightTable = field(default_factory=WeightTable)
    agent_connectors: ConnectorRecord | None = None
    action_connectors: ConnectorRecord | None = None
    filters: tuple[FilterRecord, ...] = ()
    global_timestep: int | None = None
    exploration_state: Any = None
    optimizer: Any = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""
    ray_version: str = ""

    def __repr__(self) -> str:
        return _brief(self, self.policy_class)

    @property
    def environment_space(self) -> Space[Any] | None:
        """The observation space before preprocessing."""
        return getattr(self.observation_space, "original_space", None) or self.observation_space

    @property
    def model_config(self) -> Mapping[str, Any]:
        """The model part of the config; empty when the config is lost."""
        model = self.config.get("model")
        return model if isinstance(model, dict) else {}

    @property
    def custom_model(self) -> str:
        """Name of the user's own model or module class, or empty."""
        from ..decode.standins import class_path

        name = self.model_config.get("custom_model")
        return class_path(name) if name is not None else self._own_module

    @property
    def _own_module(self) -> str:
        """The RLModule of its author's that an old policy of Ray 2.5 and later has."""
        from ..decode.standins import class_path, mapping_of

        if not any(self.config.get(switch) is True for switch in _MODULE_SWITCHES):
            return ""
        specs = (self.config.get(key) for key in ("rl_module_spec", "_rl_module_spec"))
        spec = next((mapping_of(each) for each in specs if mapping_of(each)), {})
        several = mapping_of(spec.get("module_specs") or spec.get("rl_module_specs"))
        path = class_path(mapping_of(several.get(self.id, spec)).get("module_class"))
        return "" if path.startswith("ray.") else path

    @property
    def holds_module_weights(self) -> bool:
        """True if the weights are an RLModule's (the PPO default of Ray 2.5 to 2.9)."""
        return any(name.startswith("encoder.") for name in self.weights)


@dataclass(frozen=True)
class ModuleRecord:
    """An RLModule of the new stack.

    Args:
        id: Its name in the multi-module; "default_policy" for a single one.
        module_class: Dotted path of its class; empty when unknown.
        catalog_class: Dotted path of its catalog class.
        observation_space: What it takes.
        action_space: What it gives.
        model_config: As plain data.
        inference_only: Whether value nets were left out.
        weights: Arrays by name.
        extra: Every other constructor argument.
        where: The folder it was read from.
    """

    id: str
    module_class: str = ""
    catalog_class: str = ""
    observation_space: Space[Any] | None = None
    action_space: Space[Any] | None = None
    model_config: Mapping[str, Any] = field(default_factory=dict)
    inference_only: bool | None = None
    weights: WeightTable = field(default_factory=WeightTable)
    extra: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""

    def __repr__(self) -> str:
        return _brief(self, self.module_class)


def _brief(record: PolicyRecord | ModuleRecord, class_name: str) -> str:
    """A policy or module in a line."""
    spaces = f"{record.observation_space} -> {record.action_space}"
    size = f"{len(record.weights)} array{'' if len(record.weights) == 1 else 's'}"
    kind = type(record).__name__
    return visible(f"<{kind} {record.id!r} {class_name}: {spaces:.200}, {size}>", 500)


@dataclass(frozen=True)
class ComponentRecord:
    """Any other saved part of the new stack: a pipeline, a piece, a runner, a learner.

    Args:
        path: Its folder, relative to the checkpoint; empty for the checkpoint itself.
        component_class: Dotted path of its class.
        args: Positional constructor arguments as data.
        kwargs: Keyword constructor arguments as data.
        state: Its own state as data.
        pieces: Connector pieces in order, when it is a pipeline.
        filters: Observation filters with their statistics, when it holds some.
    """

    path: str
    component_class: str = ""
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    state: Any = None
    pieces: tuple[ConnectorRecord, ...] = ()
    filters: tuple[FilterRecord, ...] = ()


@dataclass(frozen=True)
class ForeignReference:
    """Something of the user's own that the file names and rlconnect does not have.

    Args:
        name: Dotted name.
        kind: "class or function" by reference, "function" or "class" held by value.
        where: File and path inside it.
        python: Versions of Python that could run code held by value, if known.
    """

    name: str
    kind: str
    where: str
    python: str = ""


@dataclass(frozen=True)
class CallRecord:
    """A call or look-up that an ordinary unpickler would make on opening the files.

    Args:
        name: Dotted name of the function or class.
        kind: "rebuilding", "author", "unknown" or "runner"; see `audit.kinds`.
        what: What it is or does, in words.
        how: "called", "named" without a call, or "changed" where attributes of it would be set.
        where: File, and the path inside it or the byte where that is first.
        count: How often.
        arguments: Those of the first call, in short.
    """

    name: str
    kind: str
    what: str
    how: str
    where: str
    count: int = 1
    arguments: str = ""

    def __str__(self) -> str:
        call = f"{self.name}({self.arguments})" if self.how == "called" else self.name
        return f"{call} ({self.what}) in {self.where}"


@dataclass(frozen=True)
class Problem:
    """Something the checkpoint should hold and does not, or that could not be read.

    Args:
        where: The file or part concerned.
        what: What is wrong, in one line.
        hint: What to do.
        kind: "note" where nothing is lost that acting needs, "missing" where a policy's or
            module's file is not there, "damaged" where a file cannot be read.
    """

    where: str
    what: str
    hint: str = ""
    kind: ProblemKind = "note"

    def __str__(self) -> str:
        short = self.where.rpartition("/")[2]
        return f"{self.where}: {self.what}" if short not in self.what else self.what


@dataclass(frozen=True)
class FileRecord:
    """One file that was looked at: its name inside the checkpoint, its size, its role."""

    name: str
    size: int
    role: str


@dataclass(frozen=True)
class Checkpoint:
    """Everything one checkpoint says about itself.

    Args:
        path: Where it lies.
        kind: What was saved.
        stack: Which RLlib stack it belongs to.
        version: Version of its layout: "0", "0.1", "1.0" ... "2.1", or "rlconnect 1".
        encoding: "pickle", "msgpack", "torch" or "safetensors".
        ray_version: The Ray release that wrote it; empty when the file does not say.
        ray_commit: Its commit.
        algorithm: The algorithm in RLlib's spelling; empty when unknown.
        algorithm_class: Its class as the file names it.
        environment: Name or class of the environment.
        is_ours: Whether rlconnect wrote it, in whichever layout.
        policies: Old-stack policies by id.
        modules: New-stack modules by id.
        components: Other new-stack parts.
        config: The algorithm's config as plain data.
        counters: Training counters.
        training_iteration: How often `train()` had run.
        foreign: User classes and functions the files name.
        unsafe: What would run programs if an ordinary unpickler opened the files.
        skipped: What was passed over while decoding.
        problems: What is missing or damaged.
        files: The files it consists of.
        extra: Keys nobody described.
    """

    path: str
    kind: Kind
    stack: Stack
    version: str
    encoding: str = ""
    ray_version: str = ""
    ray_commit: str = ""
    algorithm: str = ""
    algorithm_class: str = ""
    environment: str = ""
    is_ours: bool = False
    policies: Mapping[str, PolicyRecord] = field(default_factory=dict)
    modules: Mapping[str, ModuleRecord] = field(default_factory=dict)
    components: tuple[ComponentRecord, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    counters: Mapping[str, Any] = field(default_factory=dict)
    training_iteration: int | None = None
    foreign: tuple[ForeignReference, ...] = ()
    unsafe: tuple[CallRecord, ...] = ()
    skipped: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    files: tuple[FileRecord, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        stack = f"the {self.stack} stack" if self.stack != "rlconnect" else "rlconnect"
        what = f"{self.algorithm} {self.kind} of {stack}".strip()
        release = f", Ray {self.ray_version}" if self.ray_version else ""
        shown = ", ".join(map(repr, [*self.acting][:_MOST_SHOWN]))
        more = len(self.acting) - _MOST_SHOWN
        rest = f" and {more} more" if more > 0 else ""
        return visible(f"<Checkpoint {what}{release}: {shown}{rest} in {self.path!r}>", 1000)

    @property
    def acting(self) -> Mapping[str, PolicyRecord | ModuleRecord]:
        """Policies or modules by id, whichever the checkpoint holds; all of a saved actor's."""
        if self.kind == "actor":
            return {**self.policies, **self.modules}
        return self.policies or self.modules

    @property
    def has_weights(self) -> bool:
        """True if any weights survive."""
        return any(record.weights for record in self.acting.values())


def fields_of(record: Any, names: Iterable[str]) -> dict[str, Any]:
    """Some fields of a record, by names that stand in our code."""
    return {name: getattr(record, name) for name in names}


def unsafe_line(calls: Sequence[CallRecord]) -> str:
    """What an ordinary unpickler would run, in one line."""
    more = f" and {len(calls) - 1} more" if len(calls) > 1 else ""
    return f"an ordinary unpickler would run {calls[0]}{more}; rlconnect reads it as data"


def warn_of_unsafe(calls: Sequence[CallRecord]) -> None:
    """Warn where an ordinary unpickler would run programs; silent for honest files."""
    if calls:
        warning = UnsafeContentWarning(
            unsafe_line(calls), hint="`inspect --audit` lists all of it."
        )
        warnings.warn(warning, stacklevel=3)
