"""What an environment is told when it is made: its settings, and which one of many it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import Self


class EnvContext(dict[str, Any]):
    """The `env_config` of a config as a dict, with the place of the environment as attributes.

    Args:
        env_config: The settings.
        worker_index: The index of the env runner; 0 is the local one.
        vector_index: The index among the environments of one env runner.
        remote: Whether each environment is an actor of its own.
        num_workers: How many env runners there are.
        recreated_worker: Whether the env runner takes the place of one that failed.

    Example:
        >>> context = EnvContext({"size": 4}, worker_index=2, vector_index=1)
        >>> context["size"], context.worker_index, context.vector_index
        (4, 2, 1)
    """

    def __init__(
        self,
        env_config: Mapping[str, Any] | None = None,
        worker_index: int = 0,
        vector_index: int = 0,
        remote: bool = False,
        num_workers: int | None = None,
        recreated_worker: bool = False,
    ) -> None:
        super().__init__(env_config or {})
        self.worker_index = worker_index
        self.vector_index = vector_index
        self.remote = remote
        self.num_workers = num_workers
        self.recreated_worker = recreated_worker

    def copy_with_overrides(
        self,
        env_config: Mapping[str, Any] | None = None,
        worker_index: int | None = None,
        vector_index: int | None = None,
        remote: bool | None = None,
        num_workers: int | None = None,
        recreated_worker: bool | None = None,
    ) -> Self:
        """Give a copy in which everything that is not None is replaced."""
        return type(self)(
            self if env_config is None else env_config,
            self.worker_index if worker_index is None else worker_index,
            self.vector_index if vector_index is None else vector_index,
            self.remote if remote is None else remote,
            self.num_workers if num_workers is None else num_workers,
            self.recreated_worker if recreated_worker is None else recreated_worker,
        )

    def set_defaults(self, defaults: Mapping[str, Any]) -> None:
        """Add the settings that are not there yet."""
        for name, value in defaults.items():
            self.setdefault(name, value)
