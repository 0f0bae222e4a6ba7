"""Spaces as checkpoints hold them: Ray's dicts, pickled gym objects, gymnasium objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gymnasium import Space

from ...data.keys import table_of
from ...errors import CorruptCheckpointError, LimitExceededError, RlconnectError
from ...spaces.ray_layouts import space_from_ray
from ...spaces.ray_pickles import is_space, space_from_pickled
from ..decode.standins import Opaque, class_path

if TYPE_CHECKING:
    from ..decoding import Decoding

_DEEPEST = 32


def as_space(value: Any, decoding: Decoding, where: str) -> Space[Any] | None:
    """The space a decoded value describes, or None with a problem noted."""
    if value is None:
        return None
    try:
        return space_in(value)
    except RlconnectError as error:
        decoding.problem(where, f"the space cannot be read: {error.summary}", error.hint)
    except (LookupError, ValueError, TypeError, ArithmeticError, AttributeError) as error:
        decoding.problem(where, f"the space cannot be read ({type(error).__name__}: {error})"[:200])
    return None


def space_in(value: Any, depth: int = 0) -> Space[Any]:
    """The space a decoded value describes."""
    if depth > _DEEPEST:
        raise LimitExceededError("a space nested too deep")
    if isinstance(value, dict):
        return space_from_ray(value)
    if not isinstance(value, Opaque):
        raise CorruptCheckpointError(f"a {type(value).__name__} is no space")
    state = dict(value.mapping())
    if not state and value.args and isinstance(value.args[0], dict):
        state = dict(value.args[0])
    state = {name: _with_spaces(part, depth) for name, part in state.items()}
    return space_from_pickled(class_path(value), state)


def _with_spaces(part: Any, depth: int) -> Any:
    if isinstance(part, Opaque):
        state = part.mapping()
        if ".spaces" in class_path(part) or "space" in state or is_space(state):
            return space_in(part, depth + 1)
        if part.entries:  # a dict subclass that holds the sub-spaces
            table = table_of(part.entries)
            return {key: _with_spaces(item, depth + 1) for key, item in table.items()}
        return part
    if isinstance(part, dict):
        return {key: _with_spaces(item, depth + 1) for key, item in part.items()}
    if isinstance(part, (list, tuple)):
        return type(part)(_with_spaces(item, depth + 1) for item in part)
    return part
