"""An algorithm as a checkpoint: what is in its state, and how a run goes on from it.

    rllib_checkpoint.json, class_and_ctor_args.pkl     the class and its settings
    algorithm_state.pkl                                metrics, counters, random generators
    learner_group/learner/                             optimisers, coefficients; rl_module/<id>/
    env_runner/, eval_env_runner/                      the states of connectors

A run that goes on has the same weights, optimisers, schedules, filters, counters and random
numbers, and its running episodes go on in the middle, as if it had never stopped. Environments are
held as data for that, by their attributes or by a `get_state` of their own; where they cannot be (a
simulator, a vector of somebody else's), all begin with a reset.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Final

from typing_extensions import Self, override

from ...core.data.budget import one_load
from ...core.data.damage import at, calling
from ...core.errors import CheckpointError, ConfigError, WeightsError
from ...core.limits.asking import as_the_caller_says, loading_from
from ...core.trust import Names as FileNames
from ...core.trust import Trust, Words, find, resolve
from ...core.vault.decode.standins import class_path
from ...core.vault.file_names import ALGORITHM_JSON, ALGORITHM_STATE
from ...core.vault.save_manifest import folder_of, of_one_save
from ...core.vault.saved_tree import replaced_tree
from ..config.file_settings import plain_paths
from ..config.saved_config import restored_config, saved_settings
from ..env_runners.callback_hooks import CallbackHooks
from ..metrics import names
from ..modules.loading import misfit_with
from ..saving.checkpoint_files import locate_component, read_constructor
from ..saving.checkpointable import Checkpointable, Components
from ..saving.class_slots import ALGORITHM
from .evaluation import Evaluation
from .iteration import Progress, Rates
from .random_states import random_state_of, set_random_state
from .saved_run import SavedRun

_RANDOM: Final = "random_states"
_EVALUATION: Final = "evaluation_metrics"
_GIVE: Final = "if you want it so, give the settings: from_checkpoint(path, settings={...})."


class SavedAlgorithm(Checkpointable):
    """The part of an algorithm that is saved and comes back."""

    STATE_FILE_NAME: ClassVar[str] = ALGORITHM_STATE
    METADATA_FILE_NAME: ClassVar[str] = ALGORITHM_JSON

    config: Any
    metrics: Any
    learner_group: Any
    env_runner_group: Any
    _evaluation: Evaluation
    _hooks: CallbackHooks
    _progress: Progress
    _rates: Rates
    _last_result: dict[str, Any]
    _loaded_random: Any = None

    @override
    def get_state(
        self, components: Components = None, *, not_components: Components = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Return everything that is needed to resume a run.

        Args:
            components: Only these of "learner_group", "env_runner", "eval_env_runner" and
                "metrics_logger".
            not_components: All but these.
            **kwargs: Handed on.
        """
        self.metrics.settle()
        state: dict[str, Any] = {}
        for name, part in self.get_checkpointable_components():
            if not self._check_component(name, components, not_components):
                continue
            without = self._get_subcomponents(name, not_components) or []
            if name != names.COMPONENT_LEARNER_GROUP:  # Its weights are the learner's.
                without.append(names.COMPONENT_RL_MODULE)
            state[name] = part.get_state(
                self._get_subcomponents(name, components), not_components=without or None, **kwargs
            )
        if self._check_component(names.COMPONENT_METRICS_LOGGER, components, not_components):
            state[names.COMPONENT_METRICS_LOGGER] = self.metrics.get_state()
            state[_EVALUATION] = self._evaluation.metrics.get_state()
        state["training_iteration"] = self._progress.iteration
        state["time_total_s"] = self._progress.seconds
        state[_RANDOM] = self._random_states()
        return state

    @override
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `get_state` gave, the parts that are there."""
        for name, part in self.get_checkpointable_components():
            if name in state:
                with at(name):
                    part.set_state(state[name])
        if names.COMPONENT_METRICS_LOGGER in state:
            with at(names.COMPONENT_METRICS_LOGGER):
                self.metrics.set_state(state[names.COMPONENT_METRICS_LOGGER])
        if _EVALUATION in state:
            with at(_EVALUATION):
                self._evaluation.metrics.set_state(state[_EVALUATION])
        self._progress.continue_from(state)
        self._rates.continue_from(self.metrics)
        self._loaded_random = state.get(_RANDOM)
        self._after_loading(self._loaded_random)

    def _after_loading(self, random_states: Any) -> None:
        """Send the state of the learner and connectors, and random states, to the env runners."""
        for group in (self.env_runner_group, self._evaluation.group):
            if group is None:
                continue
            group.sync_weights(
                from_worker_or_learner_group=self.learner_group,
                inference_only=True,
                is_forced=True,
            )
            group.set_connector_state(group.connector_state())
            group.foreach_env_runner(_begin_anew)
        if random_states:
            with at(_RANDOM):
                self._set_random_states(random_states)

    def _random_states(self) -> dict[str, Any]:
        states: dict[str, Any] = {}
        for key, group in self._random_groups():
            states[key] = group.foreach_env_runner(random_state_of)
        if not states:
            states["process"] = random_state_of(None)
        return states

    def _set_random_states(self, states: Mapping[str, Any]) -> None:
        if "process" in states:
            set_random_state(None, states["process"])
        # The training runners last: theirs is the state of this process.
        for key, group in reversed(self._random_groups()):
            held = states.get(key)
            if held and len(held) == group.num_runners():
                group.foreach_with(set_random_state, held)

    def _random_groups(self) -> list[tuple[str, Any]]:
        groups = (
            (names.COMPONENT_ENV_RUNNER, self.env_runner_group),
            (names.COMPONENT_EVAL_ENV_RUNNER, self._evaluation.group),
        )
        return [(key, group) for key, group in groups if group is not None]

    @override
    def get_checkpointable_components(self) -> list[tuple[str, Checkpointable]]:
        """Return the learners and the env runners of this process."""
        found: list[tuple[str, Checkpointable]] = []
        for name, group in self._random_groups():
            if group.local_env_runner is not None:
                found.append((name, group.local_env_runner))
        return [*found, (names.COMPONENT_LEARNER_GROUP, self.learner_group)]

    @override
    def get_ctor_args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (plain_paths(saved_settings(self.config)),), {}

    # Files

    @override
    def _state_to_save(self) -> Mapping[str, Any]:
        return self.get_state()  # its parts alone would give more: their weights, say

    @override
    def _restored(self, component: str | None) -> None:
        # The state file was read first; what lies in folders of its own is there only now.
        random_states, self._loaded_random = self._loaded_random, None
        self._after_loading(random_states if component is None else None)
        self._hooks.call("on_checkpoint_loaded", algorithm=self)

    @classmethod
    @override
    @of_one_save
    def from_checkpoint(
        cls,
        path: str | os.PathLike[str],
        filesystem: Any = None,
        *,
        config: Any = None,
        settings: Mapping[str, Any] | None = None,
        env: Any = None,
        trust: Words = None,
        module_classes: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Build the algorithm that a folder holds; no code of the folder runs.

        Args:
            path: The folder; RLlib's are read, too.
            filesystem: Only None: local files.
            config: All settings, to take instead of the folder's.
            settings: Single settings that go before the folder's, by name. Only they may say which
                `output` is written and which `input_` is read, and ask for more than the bounds
                that `core.limits.asking` lists.
            env: The environment to take instead of the folder's, as for `config.environment`. What
                the folder names is made only if it is registered already.
            trust: Your own classes and functions that the folder names: connectors, environments,
                callbacks, mapping functions. A list of them, or a mapping of the dotted names in
                the file.
            module_classes: Another spelling of `trust`.
            **kwargs: Handed to `restore_from_path`.

        Raises:
            UnknownClassError: It names classes or functions that nobody has given; all are told.
            ConfigError: It holds something else than `cls`.
            AskedTooMuchError: It asks for more of something than a file may.
        """
        words = Trust.of(trust) | Trust.of(module_classes)
        with one_load():
            saved, args, ctor_kwargs = read_constructor(locate_component(path))
            found = _class_of(cls, class_path(saved), words)
            if config is None:
                held = args[0] if args else ctor_kwargs.get("config")
                if not isinstance(held, Mapping):
                    raise CheckpointError(
                        f"{path} holds no settings", hint="from_checkpoint(path, config=...)."
                    )
                in_file = FileNames(words)
                mine = {**(settings or {}), **({} if env is None else {"env": env})}
                config = restored_config(held, in_file, mine)
                in_file.check("from_checkpoint")
                with _saying_both(path, config), loading_from(path, _GIVE):
                    users = [found, *words.things, *mine.values()]
                    with at(cls.CLASS_AND_CTOR_ARGS_FILE_NAME), calling(*users):
                        made = found(config=config)
                    made.restore_from_path(path, filesystem=filesystem, **kwargs)
            else:
                if env is not None:
                    config = config.copy(copy_frozen=False).environment(env)
                with as_the_caller_says():
                    made = found(config=config)
                    made.restore_from_path(path, filesystem=filesystem, **kwargs)
        return made  # type: ignore[no-any-return]

    def save(self, checkpoint_dir: str | os.PathLike[str] | None = None) -> SavedRun:
        """Save everything, by `save_checkpoint`.

        Args:
            checkpoint_dir: The folder; None makes one.

        Returns:
            The folder as text, which also has RLlib's `checkpoint` and `metrics`.
        """
        path = tempfile.mkdtemp() if checkpoint_dir is None else os.fspath(checkpoint_dir)
        with replaced_tree(Path(path)) as folder:
            self.save_checkpoint(str(folder))
        return SavedRun(path, self._last_result)

    def restore(self, checkpoint_path: str | os.PathLike[str]) -> None:
        """Take a checkpoint's state over, by `load_checkpoint`."""
        self.load_checkpoint(os.fspath(folder_of(checkpoint_path)))

    def save_checkpoint(self, checkpoint_dir: str) -> Any:
        """Write everything into a folder; subclasses may write less."""
        return self.save_to_path(checkpoint_dir)

    def load_checkpoint(self, checkpoint_dir: str) -> None:
        """Take over what a folder holds."""
        self.restore_from_path(checkpoint_dir)


def _class_of(cls: type[Any], path: str, trust: Trust) -> Any:
    found = cls if path == f"{cls.__module__}.{cls.__qualname__}" else None
    found = find(path, ALGORITHM, trust) or found
    if found is None and not cls.__abstractmethods__:
        found = cls
    if found is None:
        found = resolve(path, ALGORITHM, trust)
    if not issubclass(found, cls):
        raise ConfigError(
            "the checkpoint is of another class", expected=cls.__name__, found=found.__name__
        )
    return found


@contextmanager
def _saying_both(path: str | os.PathLike[str], config: Any) -> Iterator[None]:
    """Tell weights that do not fit with the setting that asks for others."""
    try:
        yield
    except WeightsError as error:
        misfit = misfit_with(path, config.model_config)
        if misfit is None:
            raise
        raise misfit from error


def _begin_anew(runner: Any) -> None:
    """Let a runner's next sample begin with a reset."""
    runner.needs_initial_reset = True
