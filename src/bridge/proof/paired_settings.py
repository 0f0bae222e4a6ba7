"""The numbers of the pieces around two networks, side by side, where both are built alike.

A statistic of a filter that no sample touches, a bound that nothing reaches, rewards that only
learning sees and how a policy explores show in no output: they are compared themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from gymnasium.spaces import Box, Dict, Space, Tuple

from ...core.errors import RlconnectError
from ...core.importing.torch_needed import has_torch
from ...core.spaces.fit import open_ended
from ...core.types import Array
from ...legacy.policy.policy import Policy
from ...legacy.policy.stages import LegacyStages
from ...v2.connectors.connector import ConnectorV2
from ..twins.twin import Refusal
from ..wrap.wrapped_connector import WrappedConnector
from .staged import Staged, are_of_triple

if TYPE_CHECKING:
    from .v2_stages import V2Stages

_SPACES: Final = ("input_observation_space", "input_action_space", "observation_space")
_WHERE: Final = ("device", "pin_memory", "is_narrow", "lone_variance")
"""Settings that say where a piece works, not what it does, and two that Ray's files cannot hold:
how a filter rounds, and what it divides by after one observation, show in what it gives."""

_AROUND: Final = ("action_space", "policy_config", "model", "framework", "last_timestep")
"""What an exploration knows of the policy around it."""

_UNBOUNDED: Final = float(np.finfo(np.float32).max)
"""What Ray's pieces are given in place of no bound."""

_OURS: Final = __name__.partition(".")[0]
_DEEPEST: Final = 30

Settings = list[tuple[str, dict[str, Any]]]
"""For each piece its class and its numbers and words, by place."""

PairedSettings = tuple[Settings, Settings]


def paired_settings(ours: Staged, theirs: Staged) -> PairedSettings | None:
    """The settings and statistics of both's pieces, in order; None where those are other ones."""
    try:
        mine, yours = _settings(ours, theirs), _settings(theirs, ours)
        bounds = _bounds(ours), _bounds(theirs)
    except RlconnectError:  # a connector of the author's own that cannot say what it holds
        return None
    if mine is None or yours is None or [name for name, _ in mine] != [name for name, _ in yours]:
        return None
    return [("spaces", bounds[0]), *mine], [("spaces", bounds[1]), *yours]


def _bounds(staged: Staged) -> dict[str, Any]:
    """The bounds of what goes in and comes out, by place."""
    spaces = {"observation": staged.observation_space, "action": staged.action_space}
    return dict(_leaves(spaces))


def settings_stage(mine: Settings, yours: Settings) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Numbers of both as a stage, and the first setting that is no number and differs."""
    ours: dict[str, Any] = {}
    theirs: dict[str, Any] = {}
    note = ""
    for place, ((name, one), (_, other)) in enumerate(zip(mine, yours, strict=True)):
        for key in {**one, **other}:
            one_value, other_value = one.get(key, "nothing"), other.get(key, "nothing")
            where = f"{name}.{key}"
            if (
                _is_number(one_value)
                and _is_number(other_value)
                and np.shape(one_value) == np.shape(other_value)
            ):
                ours[f"{place} {where}"] = np.reshape(one_value, (1, -1))
                theirs[f"{place} {where}"] = np.reshape(other_value, (1, -1))
            elif not note and _words(one_value) != _words(other_value):
                note = f"{where} is {_words(one_value)} beside {_words(other_value)}"
    return ours, theirs, note


def numbers_of_piece(piece: ConnectorV2) -> dict[str, Any]:
    """What a piece is set to and what it has learnt, by place."""
    if isinstance(piece, WrappedConnector):
        return dict(_leaves(list(piece.connector.to_state())))
    args, kwargs = piece.get_ctor_args_and_kwargs()
    left_out = {*_SPACES, *_WHERE}
    settings = {name: value for name, value in kwargs.items() if name not in left_out}
    return dict(_leaves({"settings": [*args, settings], "state": piece.get_state()}))


def _settings(staged: Staged, beside: Staged) -> Settings | None:
    if isinstance(staged, LegacyStages):
        return _of_policy(staged.policy, beside)
    if not are_of_triple(staged):
        return None
    learner = [staged.triple.learner] if _learn(staged, beside) else []
    pipelines = (staged.env_to_module, staged.module_to_env, *learner)
    return _of_pieces(*pipelines) + _exploring(staged.module)


def _learn(*both: Staged) -> bool:
    """Whether both have what learning needs in front; an old policy's connectors say it."""
    return all(side.triple.learner is not None if are_of_triple(side) else True for side in both)


def _of_pieces(*pipelines: Any) -> Settings:
    return [
        (_name(piece), numbers_of_piece(piece))
        for pipeline in pipelines
        for piece in getattr(pipeline, "connectors", [pipeline])
    ]


def _of_policy(policy: Policy, beside: Staged) -> Settings | None:
    """The pieces of an old policy, in the form in which the other one has them."""
    if not are_of_triple(beside):
        sides = (policy.agent_connectors, policy.action_connectors)
        settings = [
            (type(piece).__name__, dict(_leaves(list(piece.to_state()))))
            for side in sides
            for piece in getattr(side, "connectors", [])
        ]
        return [*settings, *_explored(policy)]
    return _as_migrated(policy, beside)


def _as_migrated(policy: Policy, beside: V2Stages) -> Settings:
    """The pieces that an old policy becomes, wrapped where the other one's are."""
    from ...v2.connectors.learner.learner_connector_pipeline import learner_pipeline
    from ..twins.mixture import learner_pieces, mixed_pipelines
    from ..twins.native_module import native_module
    from ..twins.step_order import steps_of
    from ..twins.twin import Refusal
    from ..wrap.policy_module import LegacyPolicyModule
    from ..wrap.triple import wrapped_pipelines

    wrapped = [
        type(piece.connector).__name__
        for pipeline in (beside.env_to_module, beside.module_to_env)
        for piece in getattr(pipeline, "connectors", [])
        if isinstance(piece, WrappedConnector)
    ]
    module = beside.module
    is_native = not isinstance(module, LegacyPolicyModule)
    exploring = _exploring(native_module(policy)) if is_native else _explored(policy)
    if any(name.endswith("ConnectorPipeline") for name in wrapped):
        return _of_pieces(*wrapped_pipelines(policy)) + exploring
    steps = steps_of(policy, module if is_native else Refusal("it is wrapped"))
    for step in steps:
        base_name = step.name.rpartition("_")[0] if step.name[-1:].isdigit() else step.name
        step.is_applied = step.is_native and base_name not in wrapped and step.name not in wrapped
    learner = [learner_pipeline(custom=learner_pieces(steps))] if _learn(beside) else []
    pipelines = (*mixed_pipelines(policy, steps, is_native=is_native), *learner)
    return _of_pieces(*pipelines) + exploring


def _explored(policy: Policy) -> Settings:
    """How an old policy explores."""
    exploration = policy.exploration
    settings = {name: value for name, value in vars(exploration).items() if name not in _AROUND}
    parts = {"settings": settings, "state": exploration.get_state()}
    return [(type(exploration).__name__, dict(_leaves(parts)))]


def _exploring(module: Any) -> Settings:
    """How a module is built and explores."""
    from ..wrap.policy_module import LegacyPolicyModule

    if isinstance(module, LegacyPolicyModule):
        return _explored(module.policy)
    return [("model_config", dict(_leaves(getattr(module, "model_config", {}))))]


def _name(piece: Any) -> str:
    return type(piece.connector if isinstance(piece, WrappedConnector) else piece).__name__


def _leaves(value: Any, place: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """What a nest holds, by place; what is no plain data by the name of its class."""
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _leaves(part, f"{place}.{key}" if place else str(key), depth + 1)
    elif isinstance(value, (list, tuple)):
        for index, part in enumerate(value):
            yield from _leaves(part, f"{place}.{index}" if place else str(index), depth + 1)
    elif isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufc":
        yield place, np.asarray(value)
    elif value is None or isinstance(value, (bool, int, float, str)):
        yield place, value
    elif isinstance(value, Box):
        box = open_ended(value)
        yield from _leaves({"low": box.low, "high": box.high}, place, depth + 1)
    elif isinstance(value, (Dict, Tuple)):
        yield from _leaves(value.spaces, place, depth + 1)
    elif isinstance(value, Space):
        yield place, str(value)
    elif type(value).__module__.partition(".")[0] == _OURS and hasattr(value, "__dict__"):
        yield from _leaves(vars(value), place, depth + 1)  # a schedule
    else:
        yield place, f"a {type(value).__name__}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (np.ndarray, int, float)) and not isinstance(value, bool)


def _words(value: Any) -> str:
    if value is None or (isinstance(value, float) and value >= _UNBOUNDED):
        return "no bound"
    return " ".join(str(value).split())[:100]


Weights = Mapping[str, Array]


def paired_weights(ours: Staged, theirs: Staged) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The weights of both by name, a row of numbers each; None where they are built unlike.

    A policy of the old stack beside a native module is taken as the module that it becomes.
    """
    for mine, yours in _pairs(_source(ours), _source(theirs)):
        if mine is None or yours is None or _is_policy(mine) is not _is_policy(yours):
            continue
        weights = _weights(mine), _weights(yours)
        if _form(weights[0]) == _form(weights[1]):
            return _rows(weights[0]), _rows(weights[1])
    return None


def weights_behind(staged: Staged) -> Weights | None:
    """The weights of the policy behind stages, by name; None for stages of another kind."""
    source = _source(staged)
    return None if source is None else _weights(source)


def weights_of(ours: Staged, theirs: Staged) -> Weights:
    """The weights of either policy by name; empty if neither shows them."""
    return weights_behind(ours) or weights_behind(theirs) or {}


def _source(staged: Staged) -> Any:
    """The policy or the module behind stages."""
    if isinstance(staged, LegacyStages):
        return staged.policy
    if not are_of_triple(staged):
        return None
    from ..wrap.policy_module import LegacyPolicyModule

    module = staged.module
    return module.policy if isinstance(module, LegacyPolicyModule) else module


def _pairs(mine: Any, yours: Any) -> Iterator[tuple[Any, Any]]:
    """Both, and each as the module that it becomes, which is built only where nothing else fits."""
    yield mine, yours
    native = _native(mine) if _is_policy(mine) else None
    if native is not None:
        yield native, yours
    if _is_policy(yours):
        becomes = _native(yours)
        yield mine, becomes
        yield native, becomes


def _is_policy(source: Any) -> bool:
    return hasattr(source, "get_weights")


def _native(policy: Any) -> Any:
    """The module that a policy becomes; None where it becomes none, and without torch."""
    if not has_torch():
        return None
    from ..twins.native_module import native_module

    module = native_module(policy)
    return None if isinstance(module, Refusal) else module


def _weights(source: Any) -> Weights:
    weights: Weights = source.get_weights() if _is_policy(source) else source.get_state()
    return weights


def _form(weights: Weights) -> dict[str, tuple[int, ...]]:
    return {name: np.shape(weight) for name, weight in weights.items()}


def _rows(weights: Weights) -> dict[str, Any]:
    return {name: np.reshape(weights[name], (1, -1)) for name in sorted(weights)}
