"""Settings from a file: counts are checked against limits, paths are marked and not used."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

from ...core.errors import ConfigError
from ...core.limits.asking import check_count, check_space
from ..modules.model_config import as_settings
from .algorithm_config import AlgorithmConfig
from .store import leaves, with_leaves

_CALL: Final = "from_checkpoint(path, settings={{{!r}: ...}})"

_COUNTS: Final[Mapping[str, str]] = {
    "num_envs_per_env_runner": "environments",
    "num_env_runners": "processes",
    "evaluation_num_env_runners": "processes",
    "num_learners": "processes",
    "episode_lookback_horizon": "steps",
    "rollout_fragment_length": "batch",
    "train_batch_size": "batch",
    "_train_batch_size_per_learner": "batch",
    "train_batch_size_per_learner": "batch",
    "minibatch_size": "batch",
    "min_train_timesteps_per_iteration": "batch",
    "min_sample_timesteps_per_iteration": "batch",
    "num_epochs": "rounds",
    "dataset_num_iters_per_learner": "rounds",
    "evaluation_duration": "rounds",
    "metrics_num_episodes_for_smoothing": "rounds",
    "max_num_env_runner_restarts": "rounds",
}
"""Settings that are counts, and the limit of each."""

_MODEL_COUNTS: Final[Mapping[str, str]] = {"max_seq_len": "steps"}
"""The same in a module's settings; the sizes of its layers follow the weights."""

_BUFFER_COUNTS: Final[Mapping[str, str]] = {
    "capacity": "batch",
    "batch_size_B": "batch",
    "batch_length_T": "steps",
}
"""The same in those of a replay buffer."""

_PATHS: Final = ("output", "input_", "teacher", "input_config", "output_config")
_NETWORKS: Final = ("model_config", "_model_config", "rl_module_spec", "_rl_module_spec")
_SAMPLER: Final = "sampler"


class ToldPath(str):
    """A path that a file names: it is shown and saved again, and never read or written.

    Example:
        >>> ToldPath("/data/episodes")
        ToldPath('/data/episodes')
    """

    def __repr__(self) -> str:
        return f"ToldPath({str(self)!r})"


def is_told(value: Any) -> bool:
    """Whether a setting is, or holds, a path that a file named."""
    return any(isinstance(leaf, ToldPath) for leaf in leaves(value))


def plain_paths(value: Any) -> Any:
    """Settings as files hold them, told paths as text."""
    return with_leaves(lambda leaf: str(leaf) if isinstance(leaf, ToldPath) else leaf, value)


def attributes_of(cls: type[AlgorithmConfig], names: Iterable[str]) -> set[str]:
    """Return the attributes of settings by name, including older names."""
    found = set(names)
    for section in cls.SECTIONS.values():
        for name in list(found):
            now = section.renamed.get(name, name)
            if now in section.settings:
                found.add(section.attribute(now))
    return found


def check_counts(config: AlgorithmConfig, mine: Collection[str] = ()) -> None:
    """Hold the counts and spaces of a config from a file to their bounds.

    Raises:
        AskedTooMuchError: The file asks for more of something than it may.
        ConfigError: A count is none.
    """
    _check_counts(config, {key: value for key, value in vars(config).items() if key not in mine})


def tell_paths(config: AlgorithmConfig, mine: Collection[str] = (), call: str = _CALL) -> None:
    """Mark the paths in a config from a file, and emit a warning.

    Attributes in `mine` were set by the caller. `call` shows how to set one, with `{!r}` for its
    name.
    """
    settings = {key: value for key, value in vars(config).items() if key not in mine}
    paths = _tell_paths(config, settings)
    if paths:
        names = ", ".join(f"{name}={value!r}"[:120] for name, value in paths.items())
        warnings.warn(
            f"the checkpoint's settings name paths, which are not used: {names}. To use them, give "
            f"them: {call.format(next(iter(paths)))}.",
            UserWarning,
            stacklevel=4,
        )


def _check_counts(config: AlgorithmConfig, held: Mapping[str, Any], where: str = "") -> None:
    is_async = str(held.get("gym_env_vectorize_mode")).lower().endswith("async")
    has_processes = is_async or held.get("env_step_timeout_s") is not None
    for name, value in held.items():
        bound = _COUNTS.get(name)
        if bound is not None:
            _check_rule(config, name, value)
            if has_processes and bound == "environments":
                bound = "processes"
            check_count(where + name, value, bound, _CALL.format(name))
    for name in ("observation_space", "action_space"):
        check_space(held.get(name), where + name, _CALL.format(name))
    for spec in _specs_of(config) if not where else ():
        for name in ("observation_space", "action_space"):
            check_space(getattr(spec, name, None), name, _CALL.format(name))
        _check_model(getattr(spec, "model_config", None))
    _check_model(held.get("_model_config", held.get("model_config")))
    _check_buffer(held.get("replay_buffer_config"))
    _check_inner(config, held, where)


def _check_buffer(settings: Any) -> None:
    for name, bound in _BUFFER_COUNTS.items():
        if isinstance(settings, Mapping) and name in settings:
            check_count(
                f"replay_buffer_config: {name}",
                settings[name],
                bound,
                _CALL.format("replay_buffer_config"),
            )


def _check_inner(config: AlgorithmConfig, held: Mapping[str, Any], where: str) -> None:
    """Settings in settings: those for evaluation, and those of single modules."""
    evaluating = held.get("evaluation_config")
    if isinstance(evaluating, AlgorithmConfig):
        evaluating = vars(evaluating)
    inner = {"evaluation_config": evaluating}
    per_module = held.get("algorithm_config_overrides_per_module")
    if isinstance(per_module, Mapping):
        inner.update(per_module)
    for name, settings in inner.items():
        if not isinstance(settings, Mapping) or where.count(":") > 2:
            continue
        for network in _NETWORKS:
            sizes = settings.get(network)
            if name == "evaluation_config" and sizes and sizes != vars(config).get(network):
                raise ConfigError(
                    f"the file's evaluation_config asks for other networks by its {network}",
                    expected="the networks that are trained",
                    hint=f"{_CALL.format('evaluation_config')}.",
                )
        _check_counts(config, settings, f"{where}{name}: ")


def _check_rule(config: AlgorithmConfig, name: str, value: Any) -> None:
    for section in type(config).SECTIONS.values():
        setting = section.settings.get(name)
        if setting is not None and setting.rule is not None and value is not None:
            section.check(name, value)


def _check_model(model_config: Any) -> None:
    if not isinstance(model_config, Mapping) and not is_dataclass(model_config):
        return
    settings = as_settings(model_config)
    for name, bound in _MODEL_COUNTS.items():
        check_count(name, settings.get(name), bound, _CALL.format("model_config"))


def _specs_of(config: AlgorithmConfig) -> list[Any]:
    specs = (*_specs_in(vars(config).get("_rl_module_spec")), *config.policies.values())
    return [spec for spec in specs if spec is not None]


def _specs_in(spec: Any) -> list[Any]:
    """A spec, and those by id that it holds."""
    inside = getattr(spec, "rl_module_specs", None)
    return [spec, *(inside.values() if isinstance(inside, Mapping) else ())]


def _tell_paths(config: AlgorithmConfig, held: Mapping[str, Any]) -> dict[str, Any]:
    """Mark the paths of a config; return those that would have been used."""
    found = {}
    for name in _PATHS:
        value = held.get(name)
        marked = with_leaves(_marked, value) if value != _SAMPLER else value
        if is_told(marked):
            vars(config)[name] = marked
            if not name.endswith("_config"):
                found[name] = value
    if "_rl_module_spec" in held or "rl_module_spec" in held:
        spec = vars(config).get("_rl_module_spec")
        paths = _starting_paths(spec)
        if paths:
            found["load_state_path"] = paths
            vars(config)["_rl_module_spec"] = _without_paths(spec)
    return found


def _marked(leaf: Any) -> Any:
    return ToldPath(leaf) if isinstance(leaf, str) else leaf


def _starting_paths(spec: Any) -> list[str]:
    paths = [getattr(inner, "load_state_path", None) for inner in _specs_in(spec)]
    return [str(path) for path in paths if path]


def _without_paths(spec: Any) -> Any:
    if not is_dataclass(spec) or isinstance(spec, type):
        return spec
    changes: dict[str, Any] = {"load_state_path": None}
    inside = getattr(spec, "rl_module_specs", None)
    if isinstance(inside, Mapping):
        changes["rl_module_specs"] = {key: _without_paths(inner) for key, inner in inside.items()}
    known = {field.name for field in fields(spec)}
    return replace(spec, **{name: value for name, value in changes.items() if name in known})
