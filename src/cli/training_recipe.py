"""What `rlconnect train` is to do: a file, the options over it, and what a folder holds already.

A recipe is settings as TOML has them, with a table `run` beside them; it lies in a run's folder as
`run.toml`, so that the run can go on.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..core.errors import CheckpointNotFoundError, ConfigError
from ..core.text.near_names import did_you_mean
from .environments import Environment, registered_env

if TYPE_CHECKING:
    from ..v2.config.algorithm_config import AlgorithmConfig
    from ..v2.runs.training_run import TrainingRun

RECIPE: Final = "run.toml"
START: Final = "start"
"""Where a run keeps the policy that it began from."""
TEACHER: Final = "teacher"
"""Where a run keeps the policy that it learns from."""
_NO_NAME: Final = re.compile(r"[^\w.-]+")
_BUFFER: Final = "store_buffer_in_checkpoints"
_SIZE: Final = "train_batch_size"
_SIZE_OF_EACH: Final = "train_batch_size_per_learner"
_KEEP: Final = 3
_SAVE_EVERY: Final = 10
_TABLES: Final = ("run", "environment", "debugging", "evaluation")
_RUN_KEYS: Final = (
    "stop", "keep", "save_every", "score", "mode", "from", "teacher", "video", "agents",
)  # fmt: skip


class Recipe:
    """Settings of a run, and how it is run.

    Args:
        data: As TOML has it.
        is_mine: Whether the caller wrote it; a folder may be anybody's.

    Attributes:
        data: Likewise.
    """

    def __init__(self, data: Mapping[str, Any], *, is_mine: bool = True) -> None:
        self.data: dict[str, Any] = dict(data)
        self._is_mine = is_mine
        self._told: list[str] = []
        for name in _TABLES:
            if not isinstance(self.data.get(name, {}), Mapping):
                raise ConfigError(f"[{name}]", expected="a table", found=repr(self.data[name]))
        unknown = sorted(set(self.run) - set(_RUN_KEYS))
        if unknown:
            raise ConfigError(
                f"[run] has no setting {unknown[0]!r}",
                expected=", ".join(_RUN_KEYS),
                hint=did_you_mean(unknown[0], _RUN_KEYS),
            )

    @classmethod
    def of_folder(cls, folder: Path) -> Recipe:
        """What lies in a run's folder.

        Raises:
            CheckpointNotFoundError: It is no such folder.
        """
        from ..v2.config.toml_settings import data_in

        if not (folder / RECIPE).is_file():
            raise CheckpointNotFoundError(
                f"{folder} holds no run to go on with",
                expected=f"a folder that `rlconnect train` wrote, with {RECIPE}",
                hint="begin one: rlconnect train --algo PPO --env CartPole-v1",
            )
        return cls(data_in(folder / RECIPE), is_mine=False)

    @property
    def algorithm(self) -> str:
        """What learns."""
        return str(self.data.get("algorithm", ""))

    @property
    def run(self) -> Mapping[str, Any]:
        """How it is run: when it ends, what is kept."""
        run_table: Mapping[str, Any] = self.data.get("run", {})
        return run_table

    @property
    def config_class(self) -> type[AlgorithmConfig]:
        """The settings that the algorithm has."""
        from ..v2.saving.class_slots import algorithm_named

        return type(algorithm_named(self.algorithm).get_default_config())

    def tell(self, words: list[str]) -> None:
        """Lay what was told in words over the settings."""
        from ..v2.config.told_settings import add_told

        names = {word.partition("=")[0].strip().rpartition(".")[2] for word in words}
        if _SIZE in names and _SIZE_OF_EACH not in names:  # The other one would go before it.
            words = [*words, f"{_SIZE_OF_EACH}=none"]
        for word in words:
            add_told(self.data, self.config_class, word)
            self._told.append(word.partition("=")[0].split(".")[0])

    def put(self, table: str, **settings: Any) -> None:
        """Set what options say; None says nothing."""
        said = {name: value for name, value in settings.items() if value is not None}
        self.data[table] = {**self.data.get(table, {}), **said}
        self._told += said

    def take_env(self, environment: Environment) -> None:
        """Take the environment that options name; one's own is known by that name from now on."""
        if environment.env is not None:
            self.put("environment", env=registered_env(environment.env))
        self.put("environment", env_config=environment.settings())

    @property
    def env(self) -> str:
        """What is acted in; empty if nobody says."""
        return str(self.data.get("environment", {}).get("env", ""))

    @property
    def place(self) -> Environment:
        """What is acted in, as options name it."""
        settings = self.data["environment"].get("env_config")
        return Environment(self.env, [json.dumps(settings)] if settings else None)

    def config(self, folder: Path) -> AlgorithmConfig:
        """The settings."""
        from ..v2.config.file_settings import attributes_of, check_counts, tell_paths
        from ..v2.config.toml_settings import take_settings
        from ..v2.modules.model_config import DefaultModelConfig

        cls = self.config_class
        config = cls().env_runners(num_env_runners=0)  # In this process, unless somebody asks.
        if _BUFFER in cls.SECTIONS["training"].settings:
            config.update_from_dict({_BUFFER: True})  # Without it no run goes on as it was.
        if self.run.get("from"):
            config.from_migrated(folder / START)
        if self.run.get("agents"):
            config.multi_agent(policies=self.policies, policy_mapping_fn=self._policy_of())
        take_settings(config, self.data)
        network = config.model_config
        if network.get("use_lstm") and "max_seq_len" not in network:
            length = DefaultModelConfig().max_seq_len
            config.rl_module(model_config={**network, "max_seq_len": length})
        if not self._is_mine:
            mine = {*attributes_of(cls, self._told), "_rl_module_spec"}  # of START, or none
            check_counts(config, mine)
            tell_paths(config, mine, "--set NAME=PATH for {!r}")
        if self.run.get("teacher") and self.teacher is None:
            config.update_from_dict({TEACHER: str(folder / TEACHER)})
        return config

    @property
    def policies(self) -> list[str]:
        """The policies that agents are mapped to."""
        agents = self.run.get("agents", {})
        if not isinstance(agents, Mapping) or not all(isinstance(x, str) for x in agents.values()):
            raise ConfigError(
                "[run] agents", expected="a table of agents with policies", found=repr(agents)
            )
        return sorted(set(agents.values()))

    def _policy_of(self) -> Callable[..., str]:
        """Which policy plays an agent: by its name, or by the first pattern that fits."""
        from ..bridge.loading.mapping import Casting

        casting = Casting(self.policies, dict(self.run["agents"]))
        return lambda agent_id, episode=None, **more: casting(agent_id)

    @property
    def teacher(self) -> str | None:
        """The path of a policy that it learns from; None if nobody says."""
        path: str | None = self.data.get("training", {}).get(TEACHER)
        return path

    def keep_teacher(self) -> None:
        """Take the teacher from the run's folder from now on, where its copy lies."""
        training = dict(self.data["training"])
        self.put("run", teacher=training.pop(TEACHER))
        self.data["training"] = training

    def _told_of(self, name: str, default: Any) -> Any:
        """What the table `run` says of something, which is of the kind that its default is."""
        value = self.run.get(name, default)
        if type(value) is not type(default):
            kind = "an integer" if isinstance(default, int) else "a text"
            raise ConfigError(f"[run] {name}", expected=kind, found=repr(value))
        return value

    def training(self, folder: Path) -> TrainingRun:
        """The run."""
        from ..v2.config.toml_settings import toml_of
        from ..v2.runs.stop_criteria import enough_of
        from ..v2.runs.training_run import RETURN, TrainingRun

        stop = enough_of(self.run.get("stop", {}))
        beside = {RECIPE: toml_of(self.data)}
        return TrainingRun(
            self.config(folder),
            folder,
            stop=stop,
            keep=self._told_of("keep", _KEEP),
            save_every=self._told_of("save_every", _SAVE_EVERY),
            score=self._told_of("score", RETURN),
            mode=self._told_of("mode", "max"),
            beside=beside,
            video=self._told_of("video", "") or None,
        )


def free_folder(recipe: Recipe) -> Path:
    """A new folder for a run, named after what it is."""
    env = _NO_NAME.sub("-", recipe.env.rpartition(":")[2]).strip("-") or "run"
    above = Path("runs")
    name = f"{recipe.algorithm}-{env}"
    number = 1
    while os.path.lexists(above / (name if number == 1 else f"{name}-{number}")):
        number += 1
    return above / (name if number == 1 else f"{name}-{number}")
