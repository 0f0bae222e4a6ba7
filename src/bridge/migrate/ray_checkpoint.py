"""A migrated policy as a new-stack checkpoint that Ray itself loads."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from ...core.errors import ConfigError
from ...core.vault.layout import ENV_TO_MODULE, MODULE, MODULE_TO_ENV
from ...core.vault.saved_tree import replaced_tree
from ...v2.class_names import RAY_PIECES, saved_name
from ...v2.env_to_module.env_to_module_pipeline import EnvToModulePipeline
from ...v2.env_to_module.mean_std_filter import MeanStdFilter
from ...v2.module_to_env.get_actions import GetActions
from ...v2.module_to_env.module_to_env_pipeline import ModuleToEnvPipeline
from ..wrap.policy_module import CUSTOM
from .checkpoint import write_evidence
from .faces import has_face, use_face
from .plan import MigrationPlan

_NO_CLIP: Final = float(np.finfo(np.float32).max)
"""Ray's filter needs a bound; no float32 lies beyond this one."""


@dataclass(frozen=True)
class RayNeeds:
    """What has to be beside Ray for an export to open there.

    Args:
        faces: Classes of `rlconnect.ray_pieces` that it names.
        code: The author's own: connectors by their registered names, classes by their paths.
    """

    faces: tuple[str, ...] = ()
    code: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, with a sentence for people."""
        return {"faces": list(self.faces), "code": list(self.code), "words": str(self)}

    def __str__(self) -> str:
        if not self.faces:
            return "complete for Ray alone"
        words = f"needs rlconnect beside Ray, for {', '.join(self.faces)}"
        if self.code:
            words += f", and your own {', '.join(self.code)}, registered or importable there"
        return words


def to_ray(
    plan: MigrationPlan, path: str | os.PathLike[str], *, only_module: bool = False
) -> RayNeeds:
    """Write a migrated policy so that Ray loads it: the module, and the pipelines with states.

    `RLModule.from_checkpoint(path / "rl_module")` loads the module, and the pipelines' classes
    load `env_to_module_connector` and `module_to_env_connector`, whose names are those of an
    env-runner's checkpoint. What Ray has no class for is named by those of `rlconnect.ray_pieces`:
    such an export opens where both are installed. `migration.json` says which kind it is.

    Args:
        plan: Its applied steps are native, the others stay wrapped.
        path: The folder to write.
        only_module: Whether to leave the pipelines out.

    Returns:
        What has to be beside Ray.

    Raises:
        ConfigError: A part has no class in Ray and none in `rlconnect.ray_pieces`; it is named.
    """
    env_to_module, module, module_to_env = plan.triple()
    found = [for_ray(module)]
    if not only_module:
        pieces = [for_ray(each) for each in (*env_to_module.connectors, *module_to_env.connectors)]
        found += pieces
        cut = len(env_to_module.connectors)
    foreign = [type(each).__name__ for each in found if not _is_rays(each)]
    if foreign:
        raise ConfigError(
            "neither Ray nor rlconnect.ray_pieces has a class for a part of this policy",
            found=", ".join(foreign),
            hint="migrate(..., to='v2') keeps all of it.",
        )
    needs = needs_of(found)
    with replaced_tree(Path(os.path.abspath(path))) as folder:
        found[0].save_to_path(folder / MODULE)
        if only_module:
            return needs
        for kind, name, old, own in (
            (EnvToModulePipeline, ENV_TO_MODULE, env_to_module, pieces[:cut]),
            (ModuleToEnvPipeline, MODULE_TO_ENV, module_to_env, pieces[cut:]),
        ):
            made = kind(old.input_observation_space, old.input_action_space, connectors=own)
            made.save_to_path(folder / name)
        write_evidence(plan, folder, ray=needs.to_dict())
    return needs


def for_ray(part: Any) -> Any:
    """A piece or module as Ray has it, or else as `rlconnect.ray_pieces` brings it there.

    Args:
        part: May be changed.
    """
    if isinstance(part, MeanStdFilter):
        own = _rays_filter(part)
        return use_face(part) if own is None else own
    if isinstance(part, GetActions):
        # Ray's own cannot take the best actions of several parts.
        is_nested = isinstance(part.input_action_space, (spaces.Dict, spaces.Tuple))
        return use_face(part) if is_nested else part
    if getattr(part, "model_config", {}).get("qf_encoder_joins_inputs"):
        return _acting_half(part)
    return use_face(part) if has_face(part) and not _is_rays(part) else part


def needs_of(parts: Iterable[Any]) -> RayNeeds:
    """What parts made by `for_ray` need beside Ray."""
    held = [*parts]
    faces = dict.fromkeys(saved_name(type(part))[1] for part in held if _is_face(part))
    wrapped = (getattr(part, "connector", None) for part in held)
    code = [name for each in wrapped if each is not None for name in _authors_own(each)]
    for part in held:
        for classes in (getattr(part, "model_config", {}).get(CUSTOM) or {}).values():
            code += [".".join(saved_name(each)) for each in classes.values()]
    return RayNeeds(tuple(faces), tuple(dict.fromkeys(code)))


def _rays_filter(piece: MeanStdFilter) -> MeanStdFilter | None:
    """A filter with settings that Ray has, which gives the same numbers; None if there is none."""
    state = piece.get_state()
    counts = [stat["num_pushes"] for own in state.values() for stat in own["running_stats"]]
    if piece.lone_variance != "zero" and min(counts, default=0) < 2:
        return None  # of fewer than two observations Ray's has another variance
    rays = MeanStdFilter(
        multi_agent=piece.multi_agent,
        de_mean_to_zero=piece.de_mean_to_zero,
        de_std_to_one=piece.de_std_to_one,
        clip_by_value=piece.clip_by_value or _NO_CLIP,
        update_stats=piece.update_stats,
    )
    rays.set_state({agent: {**own, **rays._settings()} for agent, own in state.items()})
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
    return saved_name(type(part))[0].startswith("ray.") or _is_face(part)


def _is_face(part: Any) -> bool:
    return saved_name(type(part))[0] == RAY_PIECES


def _authors_own(connector: Any) -> list[str]:
    """The connectors in one, or in a pipeline, that are no class of ours."""
    if hasattr(connector, "connectors"):
        return [name for each in connector.connectors for name in _authors_own(each)]
    is_ours = type(connector).__module__.startswith(f"{__name__.partition('.')[0]}.")
    return [] if is_ours else [str(connector.to_state()[0])]
