"""Specs of modules as plain data, and back."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any

from gymnasium.spaces import Space
from typing_extensions import Self

from ...core.spaces.codec import gym_space_to_dict, space_from_ray
from ...core.trust import Names, Trust, Words


class SpecData:
    """A spec that data, as in a file, can become again."""

    @classmethod
    def from_dict(
        cls,
        d: Mapping[str, Any],
        *,
        trust: Words = None,
        module_classes: Mapping[str, Any] | None = None,
    ) -> Self:
        """Take back what `to_dict` gave.

        Args:
            d: The data.
            trust: Your own classes that it names: a list, or a mapping of the names in it.
            module_classes: Another spelling of `trust`.

        Raises:
            UnknownClassError: It names classes that nobody has given; all are told.
        """
        names = Names(Trust.of(trust) | Trust.of(module_classes))
        spec = cls.in_file(d, names)
        names.check("from_dict")
        return spec

    @classmethod
    @abc.abstractmethod
    def in_file(cls, d: Mapping[str, Any], names: Names) -> Self:
        """What a file holds of a spec, `to_dict`'s data or the attributes of a pickled one."""


def space_data(space: Space[Any] | None) -> Any:
    """A space as RLlib's dict."""
    return gym_space_to_dict(space)


def space_of(data: Any) -> Any:
    """The space in RLlib's dict; a space is kept."""
    return space_from_ray(data) if isinstance(data, Mapping) else data
