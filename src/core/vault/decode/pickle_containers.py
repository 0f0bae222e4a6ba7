"""Tuples, lists, dicts and sets that pickle opcodes make and fill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .standins import Opaque

if TYPE_CHECKING:
    from .pickle_machine import PickleMachine


def tuple_of_marked(m: PickleMachine) -> None:
    """A tuple of all items above the mark."""
    items = m.pop_mark()
    m.push(tuple(items), 48 + 8 * len(items), "a tuple")


def tuple_of_one(m: PickleMachine) -> None:
    """A tuple of the item on top."""
    m.budget.spend(56, "a tuple")
    m.stack[-1] = (m.stack[-1],)


def tuple_of_two(m: PickleMachine) -> None:
    """A tuple of the two on top."""
    m.budget.spend(64, "a tuple")
    second = m.stack.pop()
    m.stack[-1] = (m.stack[-1], second)


def tuple_of_three(m: PickleMachine) -> None:
    """A tuple of the three on top."""
    m.budget.spend(72, "a tuple")
    third, second = m.stack.pop(), m.stack.pop()
    m.stack[-1] = (m.stack[-1], second, third)


def append(m: PickleMachine) -> None:
    """Put the item on top into the list below it."""
    value = m.stack.pop()
    extend(m, [value])


def extend(m: PickleMachine, items: list[Any]) -> None:
    """Put items into the list on top."""
    target = m.stack[-1]
    m.budget.spend(9 * len(items), "a list")
    if type(target) is list:
        target.extend(items)
    elif type(target) is Opaque:
        target.items.extend(items)
    else:
        m.patch(target)
        raise m.damaged(f"items appended to a {type(target).__name__}")


def set_items(m: PickleMachine, items: list[Any]) -> None:
    """Put keys and values, by turns, into the dict on top."""
    target = m.stack[-1]
    if len(items) % 2:
        raise m.damaged("a key without a value")
    if type(target) is dict:
        m.fill(target, items)
    elif type(target) is Opaque:
        m.budget.spend(40 * len(items), "entries")
        target.entries.extend(zip(items[::2], items[1::2], strict=True))
    else:
        m.patch(target)
        raise m.damaged(f"entries set on a {type(target).__name__}")


def set_item(m: PickleMachine) -> None:
    """Put the key and value on top into the dict below them."""
    value = m.stack.pop()
    set_items(m, [m.stack.pop(), value])


def add_items(m: PickleMachine) -> None:
    """Put all items above the mark into the set below it."""
    items = m.pop_mark()
    target = m.stack[-1]
    m.budget.spend(80 * len(items), "a set")
    if type(target) is set:
        target.update(map(m.key, items))
    elif type(target) is Opaque:
        target.items.extend(items)
    else:
        m.patch(target)
        raise m.damaged(f"items added to a {type(target).__name__}")


def dict_of_marked(m: PickleMachine) -> None:
    """A dict of the keys and values above the mark."""
    items = m.pop_mark()
    m.push({}, 72, "a dict")
    set_items(m, items)


def list_of_marked(m: PickleMachine) -> None:
    """A list of all items above the mark."""
    items = m.pop_mark()
    m.push(items, 64 + 9 * len(items), "a list")


def frozenset_of_marked(m: PickleMachine) -> None:
    """A frozenset of all items above the mark."""
    items = m.pop_mark()
    m.budget.spend(224 + 80 * len(items), "a set")
    m.stack.append(frozenset(map(m.key, items)))
