"""Pieces and modules as Ray has them, or as `rlconnect.ray_pieces` brings them there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from ...core.errors import ConfigError
from ...v2.connectors.env_to_module.mean_std_filter import MeanStdFilter
from ...v2.connectors.module_to_env.get_actions import GetActions
from ...v2.connectors.module_to_env.normalize_and_clip_actions import NormalizeAndClipActions
from ...v2.saving.class_names import RAY_PIECES, saved_name
from ..wrap.policy_module import CUSTOM
from .faces import has_face, use_face

_NO_CLIP: Final = float(np.finfo(np.float32).max)
"""Ray's filter needs a bound; no float32 lies beyond this one."""


@dataclass(frozen=True)
class RayNeeds:
    """Requirements of an export, and what Ray can do with it.

    Args:
        faces: Classes of `rlconnect.ray_pieces` that it names.
        code: The author's own: connectors by their registered names, classes by their paths.
        to_learn: Such classes that the algorithm alone names: what it does before it learns.
        algorithm: The algorithm that `Algorithm.from_checkpoint` makes of it; empty if none.
        env: The environment that has to be registered there for that; empty if none has.
        no_training: Why that algorithm only plays; empty if it trains, too.
    """

    faces: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    to_learn: tuple[str, ...] = ()
    algorithm: str = ""
    env: str = ""
    no_training: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, with a sentence for people."""
        fields = {name: list(v) if isinstance(v, tuple) else v for name, v in vars(self).items()}
        return {**fields, "words": str(self)}

    def __str__(self) -> str:
        words = "complete for Ray alone"
        if self.faces:
            words = f"needs rlconnect in addition to Ray, for {', '.join(self.faces)}"
        if self.code:
            words += f", and your own {', '.join(self.code)}, registered or importable there"
        if self.algorithm:
            words += f"; Algorithm.from_checkpoint makes it {self.algorithm}"
            if self.to_learn and not self.faces:
                words += f" if rlconnect is installed, for {', '.join(self.to_learn)}"
        if self.env:
            words += f", once {self.env!r} is registered there (ray.tune.register_env)"
        if self.no_training:
            words += f"; it plays there and does not train: {self.no_training}"
        return words


@dataclass
class RayParts:
    """Components to be exported to Ray, each in its saved form.

    Args:
        module_action_space: The action space of the module, if the environment's differs; Ray only
            passes the environment's space to its pieces.

    Attributes:
        parts: All components.
    """

    module_action_space: Any = None
    parts: list[Any] = field(default_factory=list)

    def take(self, part: Any) -> Any:
        """A piece or module as Ray has it, or else as `rlconnect.ray_pieces` brings it there.

        Args:
            part: May be changed.

        Raises:
            ConfigError: Neither has a class for it.
        """
        pinned = self.module_action_space is not None
        is_bound = pinned and isinstance(part, NormalizeAndClipActions)
        for_ray = use_face(part) if is_bound else _for_ray(part)
        if not (_is_rays(for_ray) or is_face(for_ray)):
            raise ConfigError(
                "neither Ray nor rlconnect.ray_pieces has a class for a part of this policy",
                found=".".join(saved_name(type(for_ray))),
                hint="migrate(..., to='v2') keeps all of it.",
            )
        self.parts.append(for_ray)
        return for_ray

    def take_all(self, parts: Iterable[Any]) -> list[Any]:
        """The same for each of several."""
        return [self.take(part) for part in parts]

    def faces(self) -> tuple[str, ...]:
        """The classes of `rlconnect.ray_pieces` among them."""
        names = (saved_name(type(part))[1] for part in self.parts if is_face(part))
        return tuple(dict.fromkeys(names))

    def needs(self, **beside: Any) -> RayNeeds:
        """Return the requirements of the components.

        Args:
            **beside: Other fields of `RayNeeds`.
        """
        code: list[str] = []
        for part in self.parts:
            code += _authors_own(getattr(part, "connector", None))
            for classes in (getattr(part, "model_config", {}).get(CUSTOM) or {}).values():
                code += [".".join(saved_name(cls)) for cls in classes.values()]
        return RayNeeds(self.faces(), tuple(dict.fromkeys(code)), **beside)


def _for_ray(part: Any) -> Any:
    if isinstance(part, MeanStdFilter):
        rays_filter = _rays_filter(part)
        return use_face(part) if rays_filter is None else rays_filter
    if isinstance(part, GetActions):
        # Ray's own piece cannot compute greedy actions for nested spaces.
        is_nested = isinstance(part.input_action_space, (spaces.Dict, spaces.Tuple))
        return use_face(part) if is_nested else part
    if getattr(part, "model_config", {}).get("qf_encoder_joins_inputs"):
        return _acting_half(part)
    return use_face(part) if has_face(part) and not _is_rays(part) else part


def _rays_filter(piece: MeanStdFilter) -> MeanStdFilter | None:
    """A filter with settings that Ray has, which gives the same numbers; None if there is none."""
    state = piece.get_state()
    counts = [
        stat["num_pushes"]
        for agent_state in state.values()
        for stat in agent_state["running_stats"]
    ]
    if piece.lone_variance != "zero" and min(counts, default=0) < 2:
        return None  # of fewer than two observations Ray's has another variance
    rays = MeanStdFilter(
        multi_agent=piece.multi_agent,
        de_mean_to_zero=piece.de_mean_to_zero,
        de_std_to_one=piece.de_std_to_one,
        clip_by_value=piece.clip_by_value or _NO_CLIP,
        update_stats=piece.update_stats,
    )
    rays.set_state(state)
    return rays


def _acting_half(module: Any) -> Any:
    """SAC's policy alone: Ray joins observation and action elsewhere since 2.49."""
    settings = {
        name: value
        for name, value in module.model_config.items()
        if name != "qf_encoder_joins_inputs"
    }
    half = type(module)(
        observation_space=module.observation_space,
        action_space=module.action_space,
        inference_only=True,
        model_config=settings,
    )
    half.set_state(module.get_state(inference_only=True))
    return half


def _is_rays(part: Any) -> bool:
    return saved_name(type(part))[0].startswith("ray.")


def is_face(part: Any) -> bool:
    """Whether a part is saved as a class of `rlconnect.ray_pieces`."""
    return saved_name(type(part))[0] == RAY_PIECES


def _authors_own(connector: Any) -> list[str]:
    """The connectors in one, or in a pipeline, that are no class of ours."""
    if hasattr(connector, "connectors"):
        return [name for inner in connector.connectors for name in _authors_own(inner)]
    is_ours = type(connector).__module__.startswith(f"{__name__.partition('.')[0]}.")
    return [] if connector is None or is_ours else [str(connector.to_state()[0])]
