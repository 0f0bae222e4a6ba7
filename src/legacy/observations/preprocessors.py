"""The old stack's preprocessors by their names; core/formulas/preprocessors.py does the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np
from gymnasium.spaces import Box, Space

from ...core.errors import PieceError
from ...core.formulas.preprocessors import (
    VALIDATION_INTERVAL,
    PreprocessPlan,
    check_observation,
    kind_of,
    preprocessor_for,
)
from ...core.registry import Registry
from ...core.types import Array, Nest


class Preprocessor:
    """Convert observations of one space to arrays of one shape.

    For a custom preprocessor, override `_init_shape` and `transform`.

    Args:
        obs_space: Of raw observations.
        options: A model config; settings such as "dim" and "grayscale" are read from it, and
            "image_backend" ("skimage" or "cv2": the library whose way of scaling to follow).

    Attributes:
        shape: Of one output.
        array_shape: Of one raw observation; None where that is no array.
        samples_checks: Whether the first observation, and then one in so many, is checked to lie
            in the space, as RLlib does.

    Example:
        >>> class Halves(Preprocessor):
        ...     def _init_shape(self, obs_space, options):
        ...         return obs_space.shape
        ...     def transform(self, observation):
        ...         return observation / 2
        >>> Halves(Box(-1, 1, (3,))).shape
        (3,)
    """

    def __init__(self, obs_space: Space[Any], options: Mapping[str, Any] | None = None) -> None:
        self._obs_space: Final = obs_space
        self._options: Final = dict(options or {})
        self.array_shape = obs_space.shape
        self._calls = 0
        self.samples_checks = True
        self.shape = self._init_shape(obs_space, self._options)

    def _init_shape(self, obs_space: Space[Any], options: Mapping[str, Any]) -> Any:
        """The shape of one output."""
        raise PieceError(
            f"{type(self).__name__} does not say what shape its outputs have.",
            hint="override _init_shape(obs_space, options).",
        )

    def transform(self, observation: Nest) -> Any:
        """One observation as an array."""
        raise PieceError(
            f"{type(self).__name__} does nothing.", hint="override transform(observation)."
        )

    def write(self, observation: Nest, array: Array, offset: int) -> None:
        """Write the flattened output into `array` from `offset` on."""
        array[offset : offset + self.size] = np.ravel(self.transform(observation))

    def check_shape(self, observation: Any) -> None:
        """Refuse an observation outside of the space; a shape always, values now and then.

        Raises:
            SpaceError: It lies outside. Also a ValueError.
        """
        is_due = self._calls % VALIDATION_INTERVAL == 0
        self._calls += 1
        shape = getattr(observation, "shape", None)
        is_odd = shape != self.array_shape and shape is not None and self.array_shape is not None
        if is_odd or (is_due and self.samples_checks):
            check_observation(self._obs_space, observation)

    def check_due(self, observations: Sequence[Nest] | Array) -> None:
        """Check those of several observations, all of the right shape, whose turn it is.

        Raises:
            SpaceError: One lies outside of the space.
        """
        if not self.samples_checks:
            return
        first = -self._calls % VALIDATION_INTERVAL
        self._calls += len(observations)
        for position in range(first, len(observations), VALIDATION_INTERVAL):
            check_observation(self._obs_space, observations[position])

    @property
    def size(self) -> int:
        """Number of values in one output."""
        return int(np.prod(self.shape))

    @property
    def observation_space(self) -> Space[Any]:
        """The space of outputs; `original_space` on it is the raw one."""
        space = Box(-1.0, 1.0, tuple(self.shape), dtype=np.float32)
        space.original_space = self._obs_space  # type: ignore[attr-defined]  # where RLlib keeps it
        return space


class PlannedPreprocessor(Preprocessor):
    """A preprocessor that a plan of core stands behind.

    Attributes:
        plan: What it does.
    """

    _includes_multi_binary: ClassVar[bool] = False
    plan: PreprocessPlan

    def _init_shape(self, obs_space: Space[Any], options: Mapping[str, Any]) -> Any:
        self.plan = preprocessor_for(
            obs_space,
            options,
            include_multi_binary=self._includes_multi_binary,
            image_backend=options.get("image_backend", "skimage"),
        )
        return self.plan.shape

    def transform(self, observation: Nest) -> Any:
        """One observation as an array."""
        self.check_shape(observation)
        return self.plan.transform(observation)

    @property
    def observation_space(self) -> Space[Any]:
        """The space of outputs; `original_space` on it is the raw one."""
        return self.plan.output_space


class NoPreprocessor(PlannedPreprocessor):
    """Hands observations on; a list becomes an array of the space's dtype.

    Example:
        >>> NoPreprocessor(Box(-1, 1, (2,))).transform([0.5, 0.25])
        array([0.5 , 0.25], dtype=float32)
    """

    def transform(self, observation: Nest) -> Any:
        """The observation itself."""
        self.check_shape(observation)
        return (
            np.asarray(observation, self._obs_space.dtype)
            if isinstance(observation, list)
            else observation
        )


class MultiBinaryPreprocessor(PlannedPreprocessor):
    """MultiBinary observations as floats; RLModules of the old stack asked for it."""

    _includes_multi_binary: ClassVar[bool] = True


class OneHotPreprocessor(PlannedPreprocessor):
    """Discrete and MultiDiscrete observations as ones among zeros.

    Example:
        >>> from gymnasium.spaces import Discrete
        >>> OneHotPreprocessor(Discrete(3)).transform(1)
        array([0., 1., 0.], dtype=float32)
    """


class GenericPixelPreprocessor(PlannedPreprocessor):
    """Atari frames, cropped, scaled down and centred."""


class AtariRamPreprocessor(PlannedPreprocessor):
    """The 128 bytes of an Atari console, centred."""


class TupleFlatteningPreprocessor(PlannedPreprocessor):
    """Tuples as one vector, each part preprocessed."""


class DictFlatteningPreprocessor(PlannedPreprocessor):
    """Dicts as one vector, each part preprocessed."""


class RepeatedValuesPreprocessor(PlannedPreprocessor):
    """Lists of varying length as one vector: the length, then the items, then zeros."""


CLASSES: Final[Mapping[str, type[PlannedPreprocessor]]] = {
    "none": NoPreprocessor,
    "multi_binary": MultiBinaryPreprocessor,
    "one_hot": OneHotPreprocessor,
    "pixels": GenericPixelPreprocessor,
    "ram": AtariRamPreprocessor,
    "tuple": TupleFlatteningPreprocessor,
    "dict": DictFlatteningPreprocessor,
    "repeated": RepeatedValuesPreprocessor,
}

CUSTOM_PREPROCESSORS: Final = Registry[Preprocessor]("custom preprocessor")
"""Preprocessors that a model config names as its "custom_preprocessor"."""


def get_preprocessor(
    space: Space[Any], include_multi_binary: bool = False
) -> type[PlannedPreprocessor]:
    """The class of preprocessor that the old stack takes for a space.

    Example:
        >>> get_preprocessor(Box(-1, 1, (3,))).__name__
        'NoPreprocessor'
    """
    return CLASSES[kind_of(space, include_multi_binary=include_multi_binary)]


def register_custom_preprocessor(name: str, preprocessor: type[Preprocessor]) -> None:
    """Register a custom preprocessor for the setting "custom_preprocessor" of a model config."""
    CUSTOM_PREPROCESSORS.register(name, preprocessor)


def get_preprocessor_for_space(
    observation_space: Space[Any],
    options: Mapping[str, Any] | None = None,
    include_multi_binary: bool = False,
) -> Preprocessor:
    """The preprocessor of a space, built.

    Args:
        observation_space: Of raw observations.
        options: A model config. Its "custom_preprocessor" is a name given to
            `register_custom_preprocessor`, or a class.
        include_multi_binary: Turn MultiBinary into floats.

    Raises:
        UnknownNameError: The custom preprocessor was not registered.
    """
    options = options or {}
    custom = options.get("custom_preprocessor")
    if custom:
        factory = CUSTOM_PREPROCESSORS.get(custom) if isinstance(custom, str) else custom
        preprocessor: Preprocessor = factory(observation_space, options)
        return preprocessor
    return get_preprocessor(observation_space, include_multi_binary)(observation_space, options)
