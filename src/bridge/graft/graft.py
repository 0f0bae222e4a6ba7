"""An old policy as a new-stack one for a changed environment: the same at first, able to learn."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import torch
from gymnasium.spaces import Space

from ...core.adapters import AdapterChain
from ...core.errors import PieceError, WeightsError
from ...core.spaces.values import sampled_courses
from ...legacy.policy.policy import Policy
from ...v2.connectors.module_to_env.adapt_actions import AdaptActions
from ...v2.connectors.module_to_env.normalize_and_clip_actions import NormalizeAndClipActions
from ...v2.modules.dqn import DefaultDQNTorchRLModule
from ..adapting.adapt import Steps, chain_between, env_spaces, native_of
from ..adapting.adapt_triple import adapted_triple
from ..loading.natives import Source
from ..migrate.plan import plan_migration
from ..proof.v2_stages import V2Stages
from ..proof.verdict import Verdict
from ..proof.verify import at_rest, verify
from ..triple import V2Triple
from ..twins.twin import Refusal
from .network import LEARN_FROM, grown_module, parts_of
from .outputs import Outputs, outputs_of, silent_bias
from .pipelines import feature_names, with_features

GRAFT: Final = "graft"
"""Where a grafted policy tells how it came about, in its `migration`."""

_LENGTH: Final = 4
_TOLERANCE: Final = 1e-6
_RELATIVE: Final = 1e-5
"""Sums of more numbers are rounded otherwise, however many of them are zeros."""


def graft(
    source: Source,
    env: Any = None,
    *,
    policy: str | None = None,
    obs: Steps | None = None,
    action: Steps | None = None,
    network: Mapping[str, Any] | None = None,
    features: Sequence[int] | None = None,
    new_action_probability: float = 0.0,
    observation_space: Space[Any] | None = None,
    action_space: Space[Any] | None = None,
    samples: int = 1_000,
    seed: int = 0,
    **options: Any,
) -> V2Triple:
    """Give a policy of the new stack that does what the adapted policy does, and can learn more.

    What the adapter leaves out of an observation reaches the network with zero weights; actions
    that the adapter never takes stand beside the others; a larger network computes the same. All
    of it is held to the adapted policy on drawn observations before anything is given.

    Args:
        source: A path, what `rlconnect.load` gave, or a policy of either stack; it stays as it is.
        env: The new environment: a live one, an id, or a function that makes one.
        policy: Which of several policies.
        obs: Steps from the new observation to the policy's; those that the spaces prove if None.
        action: Steps from the policy's action to the new environment's; likewise.
        network: Settings of a larger network: `{"fcnet_hiddens": [512, 512]}`, `{"use_lstm": True}`
            for a memory beside the layers, ...
        features: Places of the new features; all that the steps leave out if None, none if [].
        new_action_probability: How likely each new choice is at first; 0 for what the adapter does:
            never.
        observation_space: The new one's, in place of `env`.
        action_space: The new one's, in place of `env`.
        samples: How many observations the proof draws.
        seed: Of new weights and of the draws.
        **options: As for `rlconnect.load`, of a path.

    Returns:
        The policy; `triple.migration["graft"]` tells what is new and what was proven. It trains on
        as what `migrate` gives does.

    Raises:
        PieceError: A part cannot be grafted, or what changed leaves questions open.
        WeightsError: What was grown does not do the same.

    Example:
        >>> from gymnasium.spaces import Box, Discrete
        >>> from rlconnect.core.adapters import DropFeatures
        >>> from rlconnect.legacy import Policy
        >>> old = Policy(Box(-1, 1, (4,)), Discrete(2), {"seed": 0})
        >>> grown = graft(old, observation_space=Box(-1, 1, (6,)), obs=DropFeatures([4, 5]))
        >>> grown.module.observation_space.shape, grown.migration["graft"]["features"]
        ((6,), ['[4]', '[5]'])
    """
    native = native_of(source, policy, options)
    sees, takes = env_spaces(env, observation_space, action_space)
    chain = chain_between(native, sees, takes, obs=obs, action=action)
    start, training = _native_triple(native)
    takes = start.action_space if takes is None else takes
    adapted = adapted_triple(start, chain, sees)
    grown, kept = with_features(copy.deepcopy(adapted), features)
    outputs, is_in_front = _outputs(adapted, takes)
    space = grown.env_to_module.observation_space
    module = grown_module(adapted.module, space, outputs, dict(network or {}), seed=seed)
    if not is_in_front:
        for piece in list(grown.module_to_env[AdaptActions]):
            grown.module_to_env.remove(piece)
        grown.module_to_env.input_action_space = takes
        grown.env_to_module.input_action_space = takes
    grown = replace(grown, module=module)
    courses = sampled_courses(
        sees, count=max(1, samples // _LENGTH), length=_LENGTH, seed=seed, with_corners=False
    )
    _start_new_actions(adapted, grown, outputs, courses, new_action_probability)
    proof = _proven(adapted, grown, outputs, courses, new_action_probability)
    record = {
        "features": feature_names(sees, kept),
        "actions": _actions_text(outputs),
        "in_front": [str(step) for step in chain.action] if is_in_front else [],
        "network": dict(network or {}),
        "proof": proof.summary(),
    }
    return replace(
        grown,
        migration={**start.migration, "training": training, GRAFT: record},
        certificate={},
        learner=None,
    )


def _native_triple(native: Any) -> tuple[V2Triple, dict[str, Any]]:
    """A policy by native pieces only, and what its training was set to.

    Raises:
        PieceError: A part of it has no native piece.
    """
    if not isinstance(native, Policy):
        triple = V2Triple.of(native).with_pipelines()
        return triple, dict(triple.migration.get("training") or {})
    plan = plan_migration(native).apply()
    for step in plan.steps:
        if not step.is_applied:
            reason = plan.module.reason if isinstance(plan.module, Refusal) else step.differed
            raise PieceError(
                f"{native.name} cannot be grafted: {step.name} has no native piece",
                found=reason or step.twin.reason,
                hint=LEARN_FROM,
            )
    return plan.triple(), plan.training


def _outputs(adapted: V2Triple, takes: Space[Any]) -> tuple[Outputs, bool]:
    """Where the old outputs will be, and whether the adapter of actions stays in front."""
    gives = adapted.module.action_space
    pieces = adapted.module_to_env[AdaptActions]
    steps = [step for piece in pieces for step in piece.chain.action]
    if not steps and gives == takes:
        same = outputs_of(gives, takes, lambda value: value, is_stretched=False)
        assert same is not None, "nothing changes"
        return same, False
    bound = AdapterChain(action=steps).bind(adapted.observation_space, gives)
    bounding = adapted.module_to_env[NormalizeAndClipActions]
    is_stretched = any(piece.normalize_actions for piece in bounding)
    outputs = outputs_of(gives, takes, bound.act, is_stretched=is_stretched)
    if outputs is not None:
        return outputs, False
    same = outputs_of(gives, gives, lambda value: value, is_stretched=False)
    assert same is not None, "nothing changes"
    return same, True


def _actions_text(outputs: Outputs) -> list[str]:
    """New actions in words."""
    texts = [f"choice {place}" for rest, _ in outputs.silent for place in rest.tolist()]
    return texts + [
        f"output {place} starts at {value:.3g}" for place, value in outputs.biases.items()
    ]


def _start_new_actions(
    adapted: V2Triple,
    grown: V2Triple,
    outputs: Outputs,
    courses: list[Any],
    probability: float,
) -> None:
    """Set what new outputs start with.

    A new choice of a policy starts silent. A new action value is the mean of the others, which
    leaves them what they are in a dueling network, too, and is never the largest.
    """
    module = grown.module
    if isinstance(module, DefaultDQNTorchRLModule):
        _start_action_values(module, outputs)
        return
    last = _last_layer(parts_of(module)[1])
    biases = dict(outputs.biases)
    if outputs.silent:
        inputs = _dist_inputs(adapted, courses)
        for rest, beside in outputs.silent:
            biases.update(dict.fromkeys(rest.tolist(), silent_bias(inputs, beside, probability)))
    with torch.no_grad():
        for place, value in biases.items():
            if place < len(last.bias):
                last.bias[place] = value
            else:  # deviations that are parameters of their own
                parts_of(module)[1].log_std[place - len(last.bias)] = value


def _start_action_values(module: Any, outputs: Outputs) -> None:
    """Initialize new actions with the mean of the others; a distribution with its lowest value.

    Where values and advantages are apart, the values take up what the lean does to the mean.
    """
    new = [place for rest, _ in outputs.silent for place in rest.tolist()]
    if not new:
        return
    last, atoms = _last_layer(module.af), module.num_atoms
    lean = -torch.arange(atoms, dtype=torch.float32) if atoms > 1 else torch.zeros(1)
    count = len(outputs.places) + len(new)
    with torch.no_grad():
        for parameter in (last.weight, last.bias):
            by_action = parameter.view(count, atoms, *parameter.shape[1:])
            by_action[new] = by_action[torch.as_tensor(outputs.places)].mean(0)
        last.bias.view(count, atoms)[new] += lean
        if module.uses_dueling:
            _last_layer(module.vf).bias += lean * (len(new) / count)


def _last_layer(head: Any) -> Any:
    return [part for part in head.modules() if isinstance(part, torch.nn.Linear)][-1]


def _dist_inputs(triple: V2Triple, courses: list[Any]) -> Any:
    """Inputs of the old distribution at the first observation of each course."""
    stages = at_rest(triple)
    slots = [f"first-{place}" for place in range(len(courses))]
    by_stage = stages.step(slots, [course[0] for course in courses], None)
    return np.asarray(by_stage["outputs"])


def _proven(
    adapted: V2Triple,
    grown: V2Triple,
    outputs: Outputs,
    courses: list[Any],
    probability: float,
) -> Verdict:
    """Check that the grown policy does what the adapted one does.

    Raises:
        WeightsError: It gives other numbers.
    """
    verdict = verify(
        _Compared(grown, outputs.places, acts=not probability),
        _Compared(adapted, None, acts=not probability),
        observations=courses,
        absolute=_TOLERANCE,
        relative=_RELATIVE,
    )
    if not verdict.is_equal:
        raise WeightsError(
            "what was grown does not do what the adapted policy does",
            expected=f"equal within {_TOLERANCE:g}",
            found=verdict.summary()["words"],
            hint="this is a mistake of ours; please report it with the checkpoint's settings.",
        )
    return verdict


class _Compared:
    """A triple whose outputs are reordered as the adapted policy has them.

    Args:
        triple: The policy.
        places: Where those outputs are; None for all.
        acts: Whether actions are compared.
    """

    def __init__(self, triple: V2Triple, places: Any, *, acts: bool) -> None:
        self._stages = V2Stages(triple)
        self._stages.is_at_rest = True
        self._places, self._acts = places, acts
        self.name = self._stages.name
        self.observation_space = triple.observation_space
        self.action_space = triple.action_space

    def pieces(self) -> list[tuple[str, str]]:
        """Its pieces."""
        return self._stages.pieces()

    def reset(self, slots: Sequence[Any]) -> None:
        """Begin an episode in each slot."""
        self._stages.reset(slots)

    def step(self, slots: Any, observations: Any, rewards: Any) -> dict[str, Any]:
        """What both give: outputs, values, and actions as the environment gets them."""
        by_stage = self._stages.step(slots, observations, rewards)
        names = ("outputs", "value", *(["action"] if self._acts else []))
        compared: dict[str, Any] = {name: by_stage[name] for name in names if name in by_stage}
        if self._places is not None and "outputs" in compared:
            compared["outputs"] = compared["outputs"][..., self._places]
        return compared
