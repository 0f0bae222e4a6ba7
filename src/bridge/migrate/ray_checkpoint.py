"""A migrated policy as a new-stack checkpoint that Ray itself loads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import numpy as np

from ...core.errors import ConfigError
from ...core.vault.saved_tree import replaced_tree
from ...v2.class_names import saved_name
from ...v2.connector import ConnectorV2
from ...v2.env_to_module.env_to_module_pipeline import EnvToModulePipeline
from ...v2.env_to_module.mean_std_filter import MeanStdFilter
from ...v2.module_to_env.module_to_env_pipeline import ModuleToEnvPipeline
from .checkpoint import ENV_TO_MODULE, MODULE, MODULE_TO_ENV
from .plan import MigrationPlan

_NO_CLIP: Final = float(np.finfo(np.float32).max)
"""Ray's filter needs a bound; no float32 lies beyond this one."""


def to_ray(plan: MigrationPlan, path: str | os.PathLike[str], *, only_module: bool = False) -> None:
    """Write a migrated policy so that Ray loads it: the module, and the pipelines with states.

    `RLModule.from_checkpoint(path / "rl_module")` loads the module, and the pipelines' classes
    load `env_to_module_connector` and `module_to_env_connector`, whose names are those of an
    env-runner's checkpoint. A whole algorithm's folder would hold Ray's own config object, so an
    algorithm is built from a config of yours (`rl_module(model_config=module.model_config)`, and
    the pieces of the pipeline as its connectors), and takes the parts over:

        algo.restore_from_path(
            path / "rl_module", component="learner_group/learner/rl_module/default_policy")
        algo.env_runner.restore_from_path(
            path / "env_to_module_connector", component="env_to_module_connector")

    In Ray, best actions of Dict and Tuple spaces fail in its own GetActions; exploring works.

    Args:
        plan: Its applied steps are native.
        path: The folder to write.
        only_module: Whether to leave the pipelines out.

    Raises:
        ConfigError: A piece has no class in Ray; it is named.
    """
    env_to_module, module, module_to_env = plan.triple()
    problems = [] if _is_rays(module) else [f"{type(module).__name__}: {_why(plan, 'network')}"]
    pipelines: list[Any] = []
    if not only_module:
        for pipeline in (env_to_module, module_to_env):
            pieces, missing = _rays_pieces(plan, pipeline.connectors)
            problems += missing
            pipelines.append(pieces)
    if getattr(module, "model_config", {}).get("qf_encoder_joins_inputs") and not problems:
        module = _acting_half(module)
    if problems:
        raise ConfigError(
            "Ray has no class for a part of this policy",
            found="; ".join(problems),
            hint="to_ray(plan, path, only_module=True) writes the module alone."
            if _is_rays(module) and not only_module
            else "migrate(..., to='v2') keeps all of it.",
        )
    with replaced_tree(Path(os.path.abspath(path))) as folder:
        module.save_to_path(folder / MODULE)
        if only_module:
            return
        kinds = (EnvToModulePipeline, ModuleToEnvPipeline)
        for kind, name, old, pieces in zip(
            kinds,
            (ENV_TO_MODULE, MODULE_TO_ENV),
            (env_to_module, module_to_env),
            pipelines,
            strict=True,
        ):
            made = kind(old.input_observation_space, old.input_action_space, connectors=pieces)
            made.save_to_path(folder / name)


def _rays_pieces(
    plan: MigrationPlan, pieces: list[ConnectorV2]
) -> tuple[list[ConnectorV2], list[str]]:
    """The pieces as Ray has them, and those it does not have."""
    found: list[ConnectorV2] = []
    missing: list[str] = []
    for piece in pieces:
        if isinstance(piece, MeanStdFilter):
            own = _rays_filter(piece)
            if isinstance(own, str):
                missing.append(own)
                continue
            found.append(own)
        elif _is_rays(piece):
            found.append(piece)
        else:
            missing.append(_described(piece))
    return found, missing


def _rays_filter(piece: MeanStdFilter) -> MeanStdFilter | str:
    """A filter with settings that Ray has, which gives the same numbers; or why there is none."""
    state = piece.get_state()
    counts = [stat["num_pushes"] for own in state.values() for stat in own["running_stats"]]
    if piece.lone_variance != "zero" and min(counts, default=0) < 2:
        return "MeanStdFilter: of fewer than two observations Ray's has another variance"
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
    return saved_name(type(part))[0].startswith("ray.")


def _described(piece: Any) -> str:
    inner = getattr(piece, "connector", None)
    of = "" if inner is None else f"({type(inner).__name__})"
    return f"{type(piece).__name__}{of}"


def _why(plan: MigrationPlan, name: str) -> str:
    return next((step.reason for step in plan.steps if step.name == name), "")
