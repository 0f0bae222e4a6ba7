"""A user's connector as a formula over batches, checked against what it does item by item."""

from __future__ import annotations

import copy
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any, Final

import numpy as np

from ...core import array_namespace as xp
from ...core import nest
from ...core.arrays.batching import batch, unbatch
from ...core.step.part import Part
from ...core.text.first_line import first_line
from ...core.types import Nest
from ...legacy.connectors.connector import ActionConnector, AgentConnector
from ...legacy.connectors.types import ActionConnectorDataType, AgentConnectorDataType
from .front import Rewriting
from .functions import array, constant
from .recorded import Recorded, has_recorded, is_recorded
from .tape import Tape, Untraceable


class Unread:
    """Stands for something beside the value that is traced.

    Args:
        name: What it is, as a user calls it.
    """

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __copy__(self) -> Unread:
        return self

    def __deepcopy__(self, memo: Any) -> Unread:
        return self

    def _refused(self, *args: Any, **kwargs: Any) -> Any:
        raise Untraceable(f"reads {object.__getattribute__(self, '_name')}")

    def __hash__(self) -> int:
        return int(self._refused())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._refused()


_WORDS: Final = (
    "add radd iadd sub rsub isub mul rmul imul truediv rtruediv itruediv floordiv rfloordiv mod"
    " rmod pow rpow matmul rmatmul and rand or ror xor rxor neg pos abs invert eq ne lt le gt ge"
    " bool int float index complex round len iter contains getitem setitem delitem call str repr"
    " format array array_ufunc array_function setattr"
)
for _name in _WORDS.split():
    setattr(Unread, f"__{_name}__", Unread._refused)


TRACED: Final = " (traced)"
"""What the name of a traced part ends in."""
_OBS: Final = "new_obs"
_BESIDE: Final[Mapping[str, Any]] = {
    "rewards": 0.5,
    "terminateds": False,
    "truncateds": False,
    "dones": False,
    "infos": {},
}
"""What else an environment tells in a step."""

_CLOSE: Final = 1e-5
_TINY: Final = 1e-7
Call = Callable[[Any, Nest], Nest]


def traced_observation(
    connector: Any, rows: Nest, beside: Sequence[str] = ()
) -> tuple[Part, frozenset[str]]:
    """An agent connector as a part of a plan, and the other columns that it changes.

    `rows` are observations as it meets them; of the columns `beside` them, no environment tells.
    What has no batched form is Untraceable.
    """
    if type(connector).reset is not AgentConnector.reset:
        raise Untraceable("is told when episodes begin")
    if type(connector).on_policy_output is not AgentConnector.on_policy_output:
        raise Untraceable("is told what the policy answered")
    touched: set[str] = set()
    always = dict.fromkeys(beside, 0)

    def unread(connector: Any, item: Nest) -> Nest:
        columns = {name: Unread(name) for name in (*_BESIDE, *beside)}
        env, agent = Unread("the id of the environment"), Unread("the id of the agent")
        record = connector.transform(AgentConnectorDataType(env, agent, {_OBS: item, **columns}))
        if record.env_id is not env or record.agent_id is not agent:
            raise Untraceable("changes ids")
        data = record.data
        names = (data.keys() | columns.keys()) - {_OBS}
        touched.update(str(name) for name in names if data.get(name) is not columns.get(name, 0))
        return data[_OBS]

    def real(connector: Any, item: Nest) -> Nest:
        record = AgentConnectorDataType("env", "agent", {_OBS: item, **always, **_BESIDE})
        return connector.transform(record).data[_OBS]

    def bare(connector: Any, item: Nest) -> Nest:
        record = AgentConnectorDataType("env", "agent", {_OBS: item, **always})
        return connector.transform(record).data[_OBS]

    part = _traced(connector, AgentConnector, rows, unread, real)
    with _undisturbed():
        try:
            bare(copy.copy(connector), copy.deepcopy(unbatch(rows)[0]))
        except KeyError:  # it needs what no first step tells, where it fails on its own
            return part, frozenset(touched)
        except Exception as error:
            raise Untraceable(f"fails on a first step ({first_line(error)})") from error
    _compare(part, connector, bare, rows)
    return part, frozenset(touched)


def traced_action(connector: Any, rows: Nest) -> Part:
    """An action connector as a part of a plan.

    What has no batched form is Untraceable.
    """

    def unread(connector: Any, item: Nest) -> Nest:
        rest = Unread("states"), Unread("fetches")
        ids = Unread("the id of the environment"), Unread("the id of the agent")
        record = ActionConnectorDataType(*ids, Unread("what the policy saw"), (item, *rest))
        actions, *others = connector.transform(record).output
        if others[0] is not rest[0] or others[1] is not rest[1]:
            raise Untraceable("changes states or fetches")
        return actions

    def real(connector: Any, item: Nest) -> Nest:
        return connector.transform(
            ActionConnectorDataType("env", "agent", {}, (item, [], {}))
        ).output[0]

    return _traced(connector, ActionConnector, rows, unread, real)


def _traced(connector: Any, base: type, rows: Nest, unread: Call, real: Call) -> Part:
    kind = type(connector)
    if kind.__call__ is not base.__call__:
        raise Untraceable("works on all records together")
    item = unbatch(rows)[0]
    tape = Tape(item)
    leaves = [Recorded(tape, at, leaf, is_given=True) for at, leaf in enumerate(nest.flatten(item))]
    try:
        rewritten = _rewritten(connector, base, Rewriting(tape))
        output = unread(rewritten, nest.unflatten_as(item, leaves))
    except Untraceable:
        raise
    except Exception as error:  # whatever a user's code makes of a value it cannot see
        raise Untraceable(f"fails on a value it cannot see ({first_line(error)})") from error
    if isinstance(output, list):  # as an item that is an array
        output = array(output) if has_recorded(output) else np.asarray(output)
    result = nest.map_structure(lambda leaf: _register(tape, leaf), output)
    formula, constants = tape.formula(result)
    part = Part(kind.__name__ + TRACED, formula, constants)
    _compare(part, connector, real, rows)
    return part


def _register(tape: Tape, leaf: Any) -> int:
    if is_recorded(leaf):
        return int(leaf.at)
    array = np.asarray(leaf)
    if array.dtype.kind not in "biuf":
        raise Untraceable(f"gives a {type(leaf).__name__}")
    return constant(tape, array).at


def _rewritten(connector: Any, base: type, rewriting: Rewriting) -> Any:
    """A copy of a connector whose own functions and attributes are seen through a front."""
    methods: dict[str, Any] = {}
    kind = type(connector)
    for cls in reversed(kind.__mro__[: kind.__mro__.index(base)]):
        for name, member in vars(cls).items():
            function = member.__func__ if isinstance(member, staticmethod) else member
            if isinstance(function, FunctionType):
                method = rewriting.of(function)
                methods[name] = staticmethod(method) if function is not member else method
    rewritten = copy.copy(connector)
    vars(rewritten).update({name: rewriting.of(member) for name, member in vars(rewritten).items()})
    rewritten.__class__ = type(kind.__name__, (kind,), methods)
    return rewritten


def _compare(part: Part, connector: Any, real: Call, rows: Nest) -> None:
    """Check a part against its connector, item by item, in two orders."""
    items = unbatch(rows)
    copied = copy.copy(connector)
    before = dict(vars(copied))
    with _undisturbed():
        try:
            expected = _rows([real(copied, copy.deepcopy(item)) for item in items])
            again = _rows([real(copied, copy.deepcopy(item)) for item in reversed(items)][::-1])
        except Exception as error:  # whatever a user's code makes of a sample
            shapes = nest.map_structure(np.shape, items[0])
            raise Untraceable(
                f"fails on a sample of shape {shapes} ({first_line(error)})"
            ) from error
        if any(vars(copied)[name] is not before.get(name) for name in vars(copied)):
            raise Untraceable("keeps notes")
        if not _are_alike(expected, again):
            raise Untraceable("answers the same value in different ways")
        try:
            traced = part.formula(rows, *part.constants)
            tensors = part.formula(
                nest.map_structure(lambda leaf: xp.on_device(leaf, "cpu"), rows),
                *(xp.on_device(constant, "cpu") for constant in part.constants),
            )
        except Exception as error:  # whatever torch does not do with some dtype
            raise Untraceable(f"does what batches cannot ({first_line(error)})") from error
    for result in (traced, nest.map_structure(xp.to_numpy, tensors)):
        if not _are_alike(expected, result):
            raise Untraceable("depends on values in ways that leave no trace")


def _rows(items: list[Nest]) -> Nest:
    return batch([nest.map_structure(np.asarray, item) for item in items])


def _are_alike(expected: Nest, traced: Nest) -> bool:
    if _paths(expected) != _paths(traced):
        return False
    return all(map(_is_alike, nest.flatten(expected), nest.flatten(traced)))


def _paths(value: Nest) -> list[Any]:
    return [path for path, _ in nest.flatten_with_path(value)]


def _is_alike(expected: Any, traced: Any) -> bool:
    if expected.shape != traced.shape or expected.dtype != traced.dtype:
        return False
    if expected.dtype.kind != "f":
        return bool((expected == traced).all())
    close = 1e-2 if expected.dtype.itemsize == 2 else _CLOSE
    finite = np.abs(expected[np.isfinite(expected)])
    far = close * float(finite.max(initial=0)) + _TINY
    return bool(np.allclose(expected, traced, close, far, equal_nan=True))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Nobody outside notices that random numbers were drawn; numpy keeps its remarks."""
    torch = sys.modules.get("torch")
    before = random.getstate(), np.random.get_state(), torch and torch.get_rng_state()  # noqa: NPY002
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002
        if torch is not None:
            torch.set_rng_state(before[2])
