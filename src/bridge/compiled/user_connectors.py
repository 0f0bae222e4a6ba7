"""A user's connector as a formula over batches, checked against what it does item by item."""

from __future__ import annotations

import copy
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from ...core import nest
from ...core.arrays.batching import batch, unbatch
from ...core.step.part import Part
from ...core.text.first_line import first_line
from ...core.types import Nest
from ...legacy.connectors.connector import ActionConnector, AgentConnector
from ...legacy.connectors.types import ActionConnectorDataType, AgentConnectorDataType
from .numpy_functions import Untraceable, batched

TRACED: Final = " (traced)"
"""What the name of a traced part ends in."""
_OBS: Final = "new_obs"
_STEP: Final[Mapping[str, tuple[Any, Any]]] = {
    "rewards": (0.5, -1.25),
    "terminateds": (False, True),
    "truncateds": (False, True),
    "dones": (False, True),
    "infos": ({}, {"seen": 1}),
}
"""What else an environment returns in a step: two values each, which must make no difference."""

_CLOSE: Final = 1e-5
_TINY: Final = 1e-7
Call = Callable[[Any, Nest], Nest]


def traced_observation(
    connector: Any, rows: Nest, beside: Sequence[str] = (), *, is_probe: bool = False
) -> tuple[Part, frozenset[str]]:
    """Return an agent connector as a part of a plan, and the other columns that it changes.

    Args:
        connector: The connector; it stays as it is.
        rows: Observations as the connector gets them.
        beside: Columns that other connectors have put beside the observation.
        is_probe: Return a part that runs the connector item by item, only to see what it makes.

    Raises:
        Untraceable: The connector has no batched form.
    """
    if type(connector).reset is not AgentConnector.reset:
        raise Untraceable("is told when episodes begin")
    if type(connector).on_policy_output is not AgentConnector.on_policy_output:
        raise Untraceable("is told what the policy answered")
    columns = {**_STEP, **dict.fromkeys(beside, (0, 1))}
    usual = {name: values[0] for name, values in columns.items()}

    def given(columns: Mapping[str, Any], env: str = "env", agent: str = "agent") -> Call:
        def call(connector: Any, item: Nest) -> Nest:
            data = {_OBS: item, **columns}
            return connector.transform(AgentConnectorDataType(env, agent, data)).data[_OBS]

        return call

    if is_probe:
        _item_by_item(connector, given(usual), rows)
        name, call = type(connector).__name__ + TRACED, given(usual)
        return Part(name, lambda rows: _item_by_item(connector, call, rows)), frozenset()

    others = {f"reads {name}": given({**usual, name: columns[name][1]}) for name in columns}
    others["reads the id of the environment"] = given(usual, env="another")
    others["reads the id of the agent"] = given(usual, agent="another")
    part = _traced(connector, AgentConnector, rows, given(usual), others)
    bare = given({name: usual[name] for name in beside})
    with _undisturbed():
        item = unbatch(rows)[0]
        record = AgentConnectorDataType("env", "agent", {_OBS: copy.deepcopy(item), **usual})
        changed = copy.copy(connector).transform(record)
        if (changed.env_id, changed.agent_id) != ("env", "agent"):
            raise Untraceable("changes ids")
        touched = frozenset(
            str(name)
            for name in (changed.data.keys() | usual.keys()) - {_OBS}
            if name not in usual or changed.data.get(name, rows) is not usual[name]
        )
        try:
            bare(copy.copy(connector), copy.deepcopy(item))
        except KeyError:  # it needs what no first step has, where it fails on its own
            return part, touched
        except Exception as error:
            raise Untraceable(f"fails on a first step ({first_line(error)})") from error
    _compare(part, connector, bare, rows)
    return part, touched


def traced_action(connector: Any, rows: Nest) -> Part:
    """Return an action connector as a part of a plan.

    Raises:
        Untraceable: The connector has no batched form.
    """

    def given(states: Any, fetches: Any, seen: Any, env: str, agent: str) -> Call:
        def call(connector: Any, item: Nest) -> Nest:
            record = ActionConnectorDataType(env, agent, seen, (item, states, fetches))
            return connector.transform(record).output[0]

        return call

    with _undisturbed():
        states, fetches = [np.zeros(1)], {"seen": np.zeros(1)}
        record = ActionConnectorDataType(
            "env", "agent", {}, (copy.deepcopy(unbatch(rows)[0]), states, fetches)
        )
        try:
            _, *others = copy.copy(connector).transform(record).output
        except Exception as error:
            raise Untraceable(f"fails on a sample ({first_line(error)})") from error
        if others[0] is not states or others[1] is not fetches:
            raise Untraceable("changes states or fetches")
    differing = {
        "reads states": given([np.ones(1)], {}, {}, "env", "agent"),
        "reads fetches": given([], {"seen": np.ones(1)}, {}, "env", "agent"),
        "reads what the policy saw": given([], {}, {"seen": np.ones(1)}, "env", "agent"),
        "reads the id of the environment": given([], {}, {}, "another", "agent"),
        "reads the id of the agent": given([], {}, {}, "env", "another"),
    }
    return _traced(connector, ActionConnector, rows, given([], {}, {}, "env", "agent"), differing)


def _traced(
    connector: Any, base: type, rows: Nest, call: Call, differing: Mapping[str, Call]
) -> Part:
    """A connector as a part; `differing` calls, by what they differ in, must give the same."""
    kind = type(connector)
    if kind.__call__ is not base.__call__:
        raise Untraceable("works on all records together")
    expected = _item_by_item(connector, call, rows)
    for reason, other in differing.items():
        try:
            found = _item_by_item(connector, other, rows)
        except Untraceable:
            raise Untraceable(reason) from None
        if not _are_alike(expected, found):
            raise Untraceable(reason)
    copied = copy.copy(connector)
    formula, constants = batched(lambda item: call(copied, item), rows)
    part = Part(kind.__name__ + TRACED, formula, constants)
    _compare(part, connector, call, rows)
    return part


def _item_by_item(connector: Any, call: Call, rows: Nest) -> Nest:
    """Apply a connector to each item; its result must not depend on the order."""
    items = unbatch(rows)
    copied = copy.copy(connector)
    before = dict(vars(copied))
    with _undisturbed():
        try:
            expected = _rows([call(copied, copy.deepcopy(item)) for item in items])
            again = _rows([call(copied, copy.deepcopy(item)) for item in reversed(items)][::-1])
        except Exception as error:  # whatever a user's code makes of a sample
            shapes = nest.map_structure(np.shape, items[0])
            raise Untraceable(
                f"fails on a sample of shape {shapes} ({first_line(error)})"
            ) from error
    if any(vars(copied)[name] is not before.get(name) for name in vars(copied)):
        raise Untraceable("keeps notes")
    if not _are_alike(expected, again):
        raise Untraceable("returns different results for the same value")
    return expected


def _compare(part: Part, connector: Any, call: Call, rows: Nest) -> None:
    """Check a part against its connector, item by item."""
    expected = _item_by_item(connector, call, rows)
    with _undisturbed():
        try:
            found = part.formula(rows, *part.constants)
        except Exception as error:  # whatever torch does not do with some dtype
            raise Untraceable(f"does what batches cannot ({first_line(error)})") from error
    if not _are_alike(expected, found):
        raise Untraceable("gives other values or types as tensors")


def _rows(items: list[Nest]) -> Nest:
    # A list is an item that is an array.
    arrays = [np.asarray(item) if isinstance(item, list) else item for item in items]
    result = batch([nest.map_structure(np.asarray, item) for item in arrays])
    kinds = {leaf.dtype for leaf in nest.flatten(result)}
    if any(kind.kind not in "biuf" for kind in kinds):
        raise Untraceable(f"returns values of {', '.join(map(str, kinds))}")
    return result


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
