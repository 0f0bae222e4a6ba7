"""ConnectorV2: one piece of the way between environment, module and learner."""

from __future__ import annotations

import abc
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np
from gymnasium.spaces import Space
from typing_extensions import override

from ...core.errors import PieceError
from ...core.limits.asking import check_count, check_space
from ...core.trust import Names
from ..saving.checkpointable import Checkpointable, Components
from . import batch_items
from .construction import arguments_of, recorded

_warned: Final[set[tuple[type, str]]] = set()


class FixedSpaceError(PieceError, AttributeError):
    """A space was set that is computed."""


class ConnectorV2(Checkpointable):
    """A callable that transforms a batch, episodes or both, and computes its output spaces.

    A subclass overrides `__call__`, and the two `recompute_output_...` methods if it changes a
    space. Spaces passed to the constructor take effect after the complete constructor has run, so a
    subclass may call `super().__init__` first or last.

    Args:
        input_observation_space: Of what comes in; a pipeline sets it too.
        input_action_space: Of what comes in.
        **kwargs: For subclasses.

    Example:
        >>> class Shift(ConnectorV2):
        ...     def __call__(self, *, batch, **kwargs):
        ...         batch["obs"] = batch["obs"] + 1
        ...         return batch
        >>> Shift()(rl_module=None, batch={"obs": 1}, episodes=[])
        {'obs': 2}
    """

    SAVES_WITHOUT_STATE: ClassVar[bool] = False

    # The item helpers, by RLlib's names; see batch_items.
    single_agent_episode_iterator = staticmethod(batch_items.single_agent_episode_iterator)
    add_batch_item = staticmethod(batch_items.add_batch_item)
    add_n_batch_items = staticmethod(batch_items.add_n_batch_items)
    foreach_batch_item_change_in_place = staticmethod(
        batch_items.foreach_batch_item_change_in_place
    )
    switch_batch_from_column_to_module_ids = staticmethod(
        batch_items.switch_batch_from_column_to_module_ids
    )

    _input_observation_space: Any = None
    _input_action_space: Any = None
    _observation_space: Any = None
    _action_space: Any = None
    _is_built: bool = False
    # Spaces that somebody said go out, whatever comes in.
    _own_observation_space: Any = None
    _own_action_space: Any = None
    # How often anybody said so, of any piece: pipelines look whether there is news.
    times_told: ClassVar[int] = 0
    # Whether an output space has yet to be computed.
    _is_observation_stale: bool = False
    _is_action_stale: bool = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            cls.__init__ = recorded(cls.__init__)  # type: ignore[method-assign]

    @recorded
    def __init__(
        self,
        input_observation_space: Space[Any] | None = None,
        input_action_space: Space[Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self._input_observation_space = input_observation_space
        self._input_action_space = input_action_space
        self._is_observation_stale = input_observation_space is not None
        self._is_action_stale = input_action_space is not None

    def _finish_construction(self) -> None:
        self._is_built = True
        self._refresh_action_space()
        self._refresh_observation_space()

    @abc.abstractmethod
    def __call__(
        self,
        *,
        rl_module: Any,
        batch: dict[str, Any],
        episodes: list[Any],
        explore: bool | None = None,
        shared_data: dict[str, Any] | None = None,
        metrics: Any = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Transform a batch.

        Args:
            rl_module: The module the pipeline leads to or comes from.
            batch: What the pieces before have made; may be changed in place.
            episodes: Where the data comes from; changes to them stay.
            explore: Whether the module explores.
            shared_data: For pieces and pipelines to tell each other things.
            metrics: A logger, or None.
            **kwargs: Whatever else a caller passes on.

        Returns:
            The new batch.
        """

    # Spaces

    def recompute_output_observation_space(
        self, input_observation_space: Space[Any], input_action_space: Space[Any]
    ) -> Space[Any]:
        """Compute the space of observations after this piece; the base changes nothing."""
        old = self._old_hook("recompute_observation_space_from_input_spaces")
        return input_observation_space if old is None else old()

    def recompute_output_action_space(
        self, input_observation_space: Space[Any], input_action_space: Space[Any]
    ) -> Space[Any]:
        """Compute the space of actions after this piece; the base changes nothing."""
        old = self._old_hook("recompute_action_space_from_input_spaces")
        return input_action_space if old is None else old()

    def _old_hook(self, name: str) -> Any:
        hook = getattr(self, name, None)
        if hook is not None:
            warn_once(
                type(self),
                name,
                f"{type(self).__name__}.{name}() is an old spelling: define "
                "recompute_output_...(input_observation_space, input_action_space).",
            )
        return hook

    @property
    def input_observation_space(self) -> Any:
        """The space of observations that come in; setting it computes what goes out."""
        return self._input_observation_space

    @input_observation_space.setter
    def input_observation_space(self, value: Any) -> None:
        self._input_observation_space = value
        self._is_observation_stale = value is not None  # None is no news: the output stays.
        self._refresh_observation_space()

    @property
    def input_action_space(self) -> Any:
        """The space of actions that come in; setting it computes what goes out."""
        return self._input_action_space

    @input_action_space.setter
    def input_action_space(self, value: Any) -> None:
        self._input_action_space = value
        self._is_action_stale = value is not None
        self._refresh_action_space()

    @property
    def observation_space(self) -> Any:
        """Observation space after this piece; None until the input space is set.

        While a piece is being built, or has no space yet, the space can be set; it is then not
        computed.

        Raises:
            FixedSpaceError: It is set although it follows from the input space.
        """
        if self._own_observation_space is not None:
            return self._own_observation_space
        self._refresh_observation_space()
        return self._observation_space

    @observation_space.setter
    def observation_space(self, value: Any) -> None:
        if self._own_observation_space is None and self._input_observation_space is not None:
            self._check_told("observation_space", self._observation_space)
        self._own_observation_space = value
        ConnectorV2.times_told += 1

    @property
    def action_space(self) -> Any:
        """Action space after this piece; it can be set like the observation space."""
        if self._own_action_space is not None:
            return self._own_action_space
        self._refresh_action_space()
        return self._action_space

    @action_space.setter
    def action_space(self, value: Any) -> None:
        if self._own_action_space is None and self._input_action_space is not None:
            self._check_told("action_space", self._action_space)
        self._own_action_space = value
        ConnectorV2.times_told += 1

    def _check_told(self, name: str, computed: Any) -> None:
        if self._is_built:
            raise FixedSpaceError(
                f"the {name} of {type(self).__name__} follows from what comes in",
                found=str(computed),
                hint=f"set input_{name}, or override recompute_output_{name}(); what goes out can "
                "be set in a constructor, or before spaces come in.",
            )

    def _refresh_observation_space(self) -> None:
        if self._is_observation_stale:
            self._observation_space = self.recompute_output_observation_space(
                self._input_observation_space, self._input_action_space
            )
            self._is_observation_stale = False

    def _refresh_action_space(self) -> None:
        if self._is_action_stale:
            self._action_space = self.recompute_output_action_space(
                self._input_observation_space, self._input_action_space
            )
            self._is_action_stale = False

    # State

    @override
    def get_state(
        self, components: Components = None, *, not_components: Components = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Return the state as plain data; the base has none."""
        return {}

    @override
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `get_state` gave; the base has no state."""

    def reset_state(self) -> None:
        """Reset the state; the base class has none."""
        return None

    def merge_states(self, states: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Merge the states of pieces like this one into the state all of them should have.

        Args:
            states: What their `get_state` gave.
        """
        return {}

    @classmethod
    @override
    def _live_arguments(
        cls, args: tuple[Any, ...], kwargs: Mapping[str, Any], names: Names
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        live, by_name = super()._live_arguments(args, kwargs, names)
        call = f"build the {cls.__name__} in code, and call its restore_from_path()"
        for name, value in [*enumerate(live), *by_name.items()]:
            check_space(value, f"{cls.__name__}({name}=...)", call)
            if isinstance(value, (int, np.integer)):
                check_count(f"{cls.__name__}({name}=...)", value, "steps", call)
        return live, by_name

    @override
    def get_ctor_args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments it was constructed with, by name."""
        return arguments_of(self)

    def __str__(self, indentation: int = 0) -> str:
        return " " * indentation + type(self).__name__


def warn_once(owner: type, what: str, message: str) -> None:
    """Warn of an old spelling, once for each class that has it."""
    if (owner, what) not in _warned:
        _warned.add((owner, what))
        warnings.warn(message, DeprecationWarning, stacklevel=4)
