"""Equivalents of all connectors, and the order in which a migration can apply its steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from ... import v2
from ...core import nest
from ...core.adapters import AdapterChain
from ...core.formulas.preprocessors import PreprocessPlan, flatten_observations_plan
from ...core.spaces.values import corners
from ...core.spaces.walk import leaf_spaces
from ...legacy.connectors.adapted import seen_space
from ...legacy.policy.policy import Policy
from ..wrap.legacy_columns import columns_beside, is_observation_stacked
from .twin import (
    MigrationStep,
    Refusal,
    Side,
    Twin,
    action_snippet,
    agent_snippet,
    gone,
    native,
    network_snippet,
    twin_of_own,
    wrapped,
)

_PROBES: Final = 8


def agent_twin(policy: Policy, connector: Any) -> Twin:
    """Return the equivalent of one agent connector of a policy."""
    make = _AGENT_TWINS.get(type(connector).__name__)
    if make is None or not type(connector).__module__.startswith(__name__.split(".")[0] + "."):
        return twin_of_own(connector, agent_snippet)
    return make(policy, connector)


def _clip_rewards(policy: Policy, connector: Any) -> Twin:
    if _sees_rewards(policy):
        return wrapped("the network looks at earlier rewards, clipped by it")
    settings = {"sign": connector.sign, "limit": connector.limit}
    twin = native(
        f"ClipRewards(sign={connector.sign}, limit={connector.limit}) for the learner",
        list,
        "rewards only matter in learning: the clipping moves to the learner's pipeline",
    )
    return replace(twin, learner=lambda: [v2.ClipRewards(**settings)])


def _preprocess(policy: Policy, connector: Any) -> Twin:
    preprocessor = connector.preprocessor
    plan: PreprocessPlan | None = getattr(preprocessor, "plan", None)
    if plan is None:
        return wrapped(f"{type(preprocessor).__name__} is its author's own preprocessor")
    if plan.is_identity:
        return gone("this space needs no preprocessing")
    if plan.kind == "repeated":
        return wrapped("V2 has no space of lists of varying length")
    if plan.kind in ("one_hot", "tuple", "dict") and _flattens_alike(plan):
        return native(
            "FlattenObservations()", lambda: [v2.FlattenObservations()], "the same numbers"
        )
    model = policy.config.get("model") or {}
    settings = {
        name: model[name]
        for name in ("dim", "grayscale", "zero_mean", "image_backend")
        if model.get(name) is not None
    }
    return native(
        f"PreprocessObservations({_words(settings)})",
        lambda: [v2.PreprocessObservations(**settings)],
        "FlattenObservations sorts keys or leaves pictures as they are, so it would change numbers",
    )


def _flattens_alike(plan: PreprocessPlan) -> bool:
    """Whether V2's own flattening gives the same numbers, on draws and on corners."""
    try:
        other = flatten_observations_plan(plan.space)
    except ValueError:
        return False
    if other.shape != plan.shape:
        return False
    drawn = [plan.space.sample() for _ in range(_PROBES)]
    probes = [*drawn, *(value for _, value in corners(plan.space))]
    return all(
        np.array_equal(plan.transform(probe), other.transform(probe), equal_nan=True)
        for probe in probes
    )


def _filter(policy: Policy, connector: Any) -> Twin:
    old_filter = connector.filter
    space = policy.observation_space
    dtype = np.dtype(space.dtype or object)
    if old_filter.no_preprocessor or not isinstance(space, spaces.Box) or dtype.kind not in "fi":
        return wrapped(f"V2's filter takes one array of signed numbers, not {space}")
    stats = [stat.to_state("v2") for stat in nest.flatten(old_filter.running_stats)]
    settings = {
        "de_mean_to_zero": bool(old_filter.demean),
        "de_std_to_one": bool(old_filter.destd),
        "clip_by_value": float(old_filter.clip) if old_filter.clip else None,
        "update_stats": False,
        "lone_variance": "mean_squared",
        "is_narrow": False,
    }

    def make() -> list[Any]:
        piece = v2.MeanStdFilter(**settings)  # type: ignore[arg-type]  # by name
        piece.set_state({None: {"running_stats": stats}})
        return [piece]

    clip = f"the source's clip ({settings['clip_by_value']}; V2's default is 10)"
    return native(
        f"MeanStdFilter({_words(settings)})",
        make,
        f"{clip}, its {old_filter.running_stats.n} observations and its variance; "
        "it stands still, as in inference",
    )


def _state_buffer(policy: Policy, connector: Any) -> Twin:
    beside = _beside(policy)
    if beside and _previous(policy) is None:
        return wrapped(f"the views behind it need the policy's last answer ({beside})")
    return gone("episodes hold actions and states; AddStatesFromEpisodesToBatch reads them")


def _views(policy: Policy, connector: Any) -> Twin:
    beside = _beside(policy)
    previous = _previous(policy)
    if beside and previous is not None:
        return native(
            f"AddPreviousSteps({_words(previous)})",
            lambda: [v2.AddPreviousSteps(actions=previous["actions"], rewards=previous["rewards"])],
            "episodes hold the last action and reward",
        )
    if beside:
        return wrapped(
            f"the network, which stays, looks at {beside}; for a native one V2 has "
            "PrevActionsPrevRewards and FrameStacking"
        )
    return gone("AddObservationsFromEpisodesToBatch does it, the network sees one observation")


def _beside(policy: Policy) -> str:
    ctx = _context(policy)
    names = list(columns_beside(ctx))
    if is_observation_stacked(ctx):
        names.append("stacked observations")
    return ", ".join(names)


def _previous(policy: Policy) -> dict[str, str | None] | None:
    """Settings of `AddPreviousSteps` that give what the network looks at; None if none do."""
    ctx = _context(policy)
    simple = (spaces.Discrete, spaces.MultiDiscrete, spaces.Box)
    if is_observation_stacked(ctx) or not isinstance(policy.action_space, simple):
        return None
    settings: dict[str, str | None] = {"actions": None, "rewards": None}
    for name, column in columns_beside(ctx).items():
        view = (ctx.view_requirements or {})[name]
        source = view.data_col or name
        if source not in settings or settings[source] or view.shift_arr.tolist() != [-1]:
            return None
        settings[source] = column
    agent: Any = policy.agent_connectors
    if settings["rewards"] and agent["ClipRewardAgentConnector"]:
        return None  # the network was trained on clipped ones
    return settings


def _sees_rewards(policy: Policy) -> bool:
    return any(
        view.used_for_compute_actions and (view.data_col or name) == "rewards"
        for name, view in (_context(policy).view_requirements or {}).items()
    )


def _context(policy: Policy) -> Any:
    from ...legacy.connectors.context import ConnectorContext

    return ConnectorContext.from_policy(policy)


def _env_sampling(policy: Policy, connector: Any) -> Twin:
    return gone("it does nothing")


def _flatten_data(policy: Policy, connector: Any) -> Twin:
    shape = policy.observation_space.shape
    if shape is not None and len(shape) == 1 and not _beside(policy):
        return gone("the network's input is already flat")
    return wrapped("it flattens columns that V2 keeps in shape")


def _adapted_observations(policy: Policy, connector: Any) -> Twin:

    chain = AdapterChain(obs=connector.chain.obs)
    if connector.chain.agents:
        return wrapped("it renames agents, which V2 does in policy_mapping_fn")
    if connector.chain.reward:
        return wrapped("it changes rewards, which V2 does in the learner's pipeline")
    return native(
        "AdaptObservations(chain)", lambda: [v2.AdaptObservations(chain=chain)], "same steps"
    )


def cast_for_network(policy: Policy) -> Twin | None:
    """Return the piece that casts the inputs of a native network; None if they are float32.

    Old networks cast their inputs, those of the new stack require floats.
    """
    space = policy.observation_space
    shape = space.shape or ()
    if len(shape) == 1 and isinstance(space, spaces.Box) and np.dtype(space.dtype).kind == "f":
        return None
    if len(shape) != 3:
        return native("FlattenObservations()", lambda: [v2.FlattenObservations()], "floats, flat")
    if np.dtype(space.dtype or object).kind == "f":
        return None
    from ...core.adapters import Cast

    chain = AdapterChain(obs=[Cast("float32")])
    return native(
        "AdaptObservations(Cast('float32'))", lambda: [v2.AdaptObservations(chain=chain)], ""
    )


def environment_space(policy: Policy) -> Any:
    """Return the observation space of the environment."""
    return seen_space(policy)


def _words(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in settings.items())


_AGENT_TWINS: Final[dict[str, Callable[[Policy, Any], Twin]]] = {
    "AdaptObservationsAgentConnector": _adapted_observations,
    "ClipRewardAgentConnector": _clip_rewards,
    "ConcurrentMeanStdObservationFilterAgentConnector": _filter,
    "EnvSamplingAgentConnector": _env_sampling,
    "FlattenDataAgentConnector": _flatten_data,
    "MeanStdObservationFilterAgentConnector": _filter,
    "ObsPreprocessorConnector": _preprocess,
    "StateBufferConnector": _state_buffer,
    "ViewRequirementAgentConnector": _views,
}
"""Class of the old stack -> what becomes of it."""


def action_twin(policy: Policy, connector: Any, before: Sequence[Any]) -> Twin:
    """Return the equivalent of one action connector of a policy."""
    make = _ACTION_TWINS.get(type(connector).__name__)
    if make is None or not type(connector).__module__.startswith(__name__.split(".")[0] + "."):
        return twin_of_own(connector, action_snippet)
    return make(policy, before)


def _to_numpy(policy: Policy, before: Sequence[Any]) -> Twin:
    return gone("TensorToNumpy does it", "TensorToNumpy(), one of the defaults")


def _normalize(policy: Policy, before: Sequence[Any]) -> Twin:
    strange = [
        connector for connector in before if type(connector).__name__ != "ConvertToNumpyConnector"
    ]
    if strange:
        return wrapped(f"{type(strange[0]).__name__} changes actions before it")
    return native(
        "NormalizeAndClipActions(normalize_actions=True, clip_actions=False)",
        lambda: [v2.NormalizeAndClipActions(normalize_actions=True, clip_actions=False)],
        "the same formula",
    )


def _clip(policy: Policy, before: Sequence[Any]) -> Twin:
    names = [type(connector).__name__ for connector in before]
    strange = [
        name
        for name in names
        if name not in ("ConvertToNumpyConnector", "NormalizeActionsConnector")
    ]
    if strange:
        return wrapped(f"{strange[0]} changes actions before it")
    if "NormalizeActionsConnector" not in names:
        return native(
            "NormalizeAndClipActions(normalize_actions=False, clip_actions=True)",
            lambda: [v2.NormalizeAndClipActions(normalize_actions=False, clip_actions=True)],
            "the same formula",
        )
    boxes = [leaf for _, leaf in leaf_spaces(policy.action_space) if isinstance(leaf, spaces.Box)]
    if all(box.is_bounded() and np.dtype(box.dtype).kind == "f" for box in boxes):
        return gone("actions that were normalised are within their bounds")
    return wrapped("V2 either normalises or clips; this policy does both, for other spaces")


def _immutable(policy: Policy, before: Sequence[Any]) -> Twin:
    return gone("V2 hands the environment copies, so there is nothing to protect")


def _adapted_actions(policy: Policy, before: Sequence[Any]) -> Twin:

    (connector,) = [
        connector
        for connector in policy.action_connectors.connectors  # type: ignore[union-attr]  # it has some
        if type(connector).__name__ == "AdaptActionsConnector" and connector not in before
    ][:1]
    chain = AdapterChain(action=connector.chain.action)
    return native("AdaptActions(chain)", lambda: [v2.AdaptActions(chain=chain)], "the same steps")


_ACTION_TWINS: Final[dict[str, Callable[[Policy, Sequence[Any]], Twin]]] = {
    "AdaptActionsConnector": _adapted_actions,
    "ClipActionsConnector": _clip,
    "ConvertToNumpyConnector": _to_numpy,
    "ImmutableActionsConnector": _immutable,
    "NormalizeActionsConnector": _normalize,
}
"""Class of the old stack -> what becomes of it."""


_FIRST: Final = ("ViewRequirementAgentConnector", "FlattenDataAgentConnector")
"""They need what StateBufferConnector gives, so they go before it does."""


def steps_of(policy: Policy, module: Any) -> list[MigrationStep]:
    """A step for each connector and the network."""
    agent: Any = policy.agent_connectors
    action: Any = policy.action_connectors
    before = [
        _step("agent", place, connector, agent_twin(policy, connector))
        for place, connector in enumerate(agent.connectors)
    ]
    # A piece goes before those whose output it needs; sorting keeps the others' order.
    behind = [step for step in before if step.name == "StateBufferConnector"]
    others = [step for step in before if step.name != "StateBufferConnector"]
    steps = [
        *(step for step in others if step.name not in _FIRST),
        *(step for step in reversed(others) if step.name in _FIRST),
        *behind,
        _network_step(policy, module),
        *(
            _step(
                "action",
                place,
                connector,
                action_twin(policy, connector, action.connectors[:place]),
            )
            for place, connector in enumerate(action.connectors)
        ),
    ]
    _number(steps)
    return steps


def _step(side: Side, place: int, connector: Any, twin: Twin) -> MigrationStep:
    return MigrationStep(type(connector).__name__, side, place, twin, twin.kind != "code")


def _network_step(policy: Policy, module: Any) -> MigrationStep:
    if not isinstance(module, Refusal):
        text = f"{type(module).__name__}"
        twin = Twin("native", "its weights fit V2's default network", text)
        return MigrationStep("network", "network", 0, twin)
    model = policy.networks.torch().head.model
    is_own = "of its author" in module.reason
    twin = Twin(
        "code" if is_own else "wrapped",
        module.reason,
        "the old network, wrapped",
        snippet=network_snippet(type(model).__name__) if is_own else "",
    )
    return MigrationStep("network", "network", 0, twin, is_builtin=not is_own)


def _number(steps: list[MigrationStep]) -> None:
    """Make names unique: the second one of a class is `Class_2`."""
    counts: dict[str, int] = {}
    for step in sorted(steps, key=lambda step: (step.side, step.place)):
        counts[step.name] = count = counts.get(step.name, 0) + 1
        if count > 1:
            step.name = f"{step.name}_{count}"
