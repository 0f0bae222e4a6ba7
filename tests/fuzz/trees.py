"""Decoded data as a tree: every place in it, and what may be put there instead."""

import contextlib
import copy
import sys

import numpy as np
from rlconnect.core.vault.decode.standins import Opaque

from tests.fuzz import gadgets
from tests.fuzz.gadgets import junk

MOST_PLACES = 4_000


@contextlib.contextmanager
def deep():
    """Room for what is nested deeper than a program is; not for the readers that are attacked."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 20_000))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def places(tree):
    """Each place that can be written to: (container, key); the top is (None, None)."""
    found, pending, seen = [(None, None)], [tree], set()
    while pending and len(found) < MOST_PLACES:
        part = pending.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        for key, child in _children(part):
            found.append((part, key))
            if isinstance(child, (dict, list, tuple, Opaque)):
                pending.append(child)
    return found


def _children(part):
    if isinstance(part, dict):
        return list(part.items())
    if isinstance(part, (list, tuple)):
        return list(enumerate(part))
    if isinstance(part, Opaque):
        named = [(name, getattr(part, name)) for name in ("ref", "args", "kwargs", "state")]
        return [*named, ("entries", part.entries), ("items", part.items)]
    return []


def read(container, key, tree):
    """What lies at a place."""
    if container is None:
        return tree
    return getattr(container, key) if isinstance(container, Opaque) else container[key]


def write(tree, container, key, value):
    """The tree with another value at a place; containers are changed as they are."""
    if container is None:
        return value
    if isinstance(container, tuple):
        changed = tuple(value if at == key else each for at, each in enumerate(container))
        return _with(tree, container, changed)
    if isinstance(container, Opaque):
        setattr(container, key, value)
    else:
        container[key] = value
    return tree


def copied(tree, memo=None):
    """The same containers and arrays anew; what else is in them is shared."""
    memo = {} if memo is None else memo
    if id(tree) in memo:
        return memo[id(tree)]
    if isinstance(tree, dict):
        new = memo[id(tree)] = type(tree)()
        for key, part in tree.items():
            new[key] = copied(part, memo)
    elif isinstance(tree, list):
        new = memo[id(tree)] = []
        new.extend(copied(part, memo) for part in tree)
    elif type(tree) is tuple:
        new = memo[id(tree)] = tuple(copied(part, memo) for part in tree)
    elif isinstance(tree, Opaque):
        new = memo[id(tree)] = Opaque(tree.ref)
        for name in Opaque.__slots__:
            setattr(new, name, copied(getattr(tree, name), memo))
    elif isinstance(tree, np.ndarray):
        new = memo[id(tree)] = tree.copy()
    else:
        new = tree
    return new


def _with(tree, old, new):
    """The tree with a tuple of it replaced."""
    if tree is old:
        return new
    for container, key in places(tree):
        if container is not None and read(container, key, tree) is old:
            return write(tree, container, key, new)
    return tree


class Mutation:
    """Changes of a tree, drawn by one generator.

    Args:
        rng: A `random.Random`.
        others: Other trees to take parts from.
    """

    def __init__(self, rng, others):
        self.rng = rng
        self.others = others

    def of(self, tree):
        """A changed copy, and what was done in words."""
        with deep():
            return self._of(tree)

    def _of(self, tree):
        tree = copied(tree)
        told = []
        for _ in range(self.rng.choice((1, 1, 1, 1, 2, 3))):
            container, key = self._place(tree)
            tree, what = self._changed(tree, container, key)
            told.append(f"{key!r:.60}: {what}")
        return tree, "; ".join(told)

    def _place(self, tree):
        rng = self.rng
        if rng.random() < 0.15:  # where a file may name something that is made or called
            slots = [place for place in places(tree) if _is_slot(place[1])]
            if slots:
                return rng.choice(slots)
        if rng.random() < 0.3:
            return rng.choice(places(tree))
        # A walk from the top: small containers are met as often as long lists.
        container, key, part = None, None, tree
        while True:
            below = [] if part is None else _children(part)
            if not below or (container is not None and rng.random() < 0.25):
                return container, key
            container = part
            key, part = rng.choice(below)

    def _changed(self, tree, container, key):
        rng = self.rng
        old = read(container, key, tree)
        if isinstance(container, (dict, list)) and rng.random() < 0.3:
            return tree, self._edit(container, key, old)
        changes = [self._junk, self._junk, self._elsewhere, self._wrapped]
        if _is_slot(key):
            changes += [self._named] * 6
        if isinstance(old, np.ndarray):
            changes += [_ARRAY] * 6
        elif isinstance(old, Opaque):
            changes += [self._of_opaque] * 4
        elif isinstance(old, (dict, list, tuple)):
            changes += [self._of_container] * 3
        elif isinstance(old, (int, float)):
            changes += [_NUMBER] * 4
        elif isinstance(old, str):
            changes += [self._of_text] * 3
        change = rng.choice(changes)
        if change is _ARRAY:
            new, what = changed_array(old, rng)
        elif change is _NUMBER:
            new, what = changed_number(old, rng)
        else:
            new, what = change(old, tree)
        return write(tree, container, key, new), what

    def _edit(self, container, key, old):
        rng = self.rng
        if isinstance(container, list):
            action = rng.choice(("drop", "double", "insert", "reverse", "clear"))
            if action == "drop":
                del container[key]
            elif action == "double":
                container.insert(key, old)
            elif action == "insert":
                container.insert(key, junk(rng))
            elif action == "reverse":
                container.reverse()
            else:
                container.clear()
            return action
        action = rng.choice(("drop", "drop", "drop", "rename", "add", "retype", "swap"))
        if action == "drop":
            del container[key]
        elif action == "rename":
            container[f"{key}_"] = container.pop(key)
        elif action == "add":
            container[rng.choice(_KEYS)] = junk(rng)
        elif action == "retype":
            value = container.pop(key)
            container[rng.choice((0, -1, None, 1.5, ("a", 1), b"x", "", True))] = value
        else:
            other = rng.choice(list(container))
            container[key], container[other] = container[other], container[key]
        return action

    def _junk(self, old, tree):
        new = junk(self.rng)
        return new, f"= {new!r:.80}"

    def _named(self, old, tree):
        made = self.rng.choice((gadgets.reference, gadgets.call, gadgets.text))(self.rng)
        return made, f"= {made!r:.80}"

    def _elsewhere(self, old, tree):
        source = self.rng.choice((tree, *self.others))
        container, key = self.rng.choice(places(source))
        return copied(read(container, key, source)), f"= what lies at {key!r:.60}"

    def _wrapped(self, old, tree):
        kind = self.rng.randrange(5)
        if kind == 0:
            return [old], "in a list"
        if kind == 1:
            return {"value": old}, "in a dict"
        if kind == 2:
            return (old, old), "twice"
        levels = 90 if kind == 3 else 400
        for _ in range(levels):
            old = [old]
        return old, f"{levels} levels down"

    def _of_container(self, old, tree):
        new = self.rng.choice(
            (type(old)(), list(old), str(type(old)), None, 3, dict.fromkeys("ab"))
        )
        return new, f"= {new!r:.60}"

    def _of_text(self, old, tree):
        rng = self.rng
        choices = (
            *("", old + "x", old[:-1], old.upper(), old * 50, "\ud800", "\x00", "../../" + old),
            *("\x1b[31m" + old, old.encode("utf-8", "replace"), 7, "None", "e" * 5_000),
        )
        new = rng.choice(choices)
        return new, f"= {new!r:.60}"

    def _of_opaque(self, old, tree):
        rng = self.rng
        new = copy.copy(old)
        action = rng.choice(("ref", "args", "state", "entries", "plain", "gadget"))
        if action == "ref":
            new.ref = gadgets.reference(rng)
        elif action == "args":
            new.args = rng.choice(((), (None,), old.args[1:], (*old.args, junk(rng))))
        elif action == "state":
            new.state = rng.choice((None, {}, [], junk(rng)))
        elif action == "entries":
            new.entries = [(junk(rng), 1)] if rng.random() < 0.5 else []
        elif action == "plain":
            return old.mapping(), "as a dict"
        else:
            new.args = (junk(rng),)
        return new, action


_ARRAY, _NUMBER = "array", "number"
_SLOTS = (
    *("env", "class", "callback", "connector", "model", "space", "input", "output", "fn", "module"),
    *("name", "ref", "policy", "logger", "kind", "type", "path", "activation", "dist", "filter"),
)
_KEYS = ("", "x", "__class__", "state", "value", 0, -1, "../x", "\ud800", "params", "weights")


def _is_slot(key):
    return isinstance(key, str) and any(word in key for word in _SLOTS)


def changed_number(old, rng):
    """Another number, or what is none."""
    choices = (
        *(0, 1, -1, 2**31, -(2**31), 2**63, 2**200, 1e308, -1e308, 1e-320, 0.5, -0.5),
        *(float("nan"), float("inf"), float("-inf"), True, str(old), old + 1, None, 10**7),
        *(np.float32(old if abs(old) < 1e30 else 0), np.array(1), complex(1, 1)),
    )
    new = rng.choice(choices)
    return new, f"= {new!r:.60}"


def changed_array(old, rng):
    """An array of another shape, type or content."""
    flat = old.reshape(-1)
    is_number = old.dtype.kind in "biufc"
    action = rng.randrange(13)
    if action == 0:
        new = old[:0] if old.ndim else np.zeros((0,), old.dtype)
    elif action == 1:
        new = flat
    elif action == 2:
        new = old[None]
    elif action == 3:
        new = old[..., :-1] if old.ndim else old
    elif action == 4:
        new = np.concatenate([flat, flat])
    elif action == 5 and is_number:
        new = np.full(old.shape, rng.choice((np.nan, np.inf, -1.0, 1e30)), "float64")
    elif action == 6 and is_number and old.dtype.kind != "c":
        with np.errstate(all="ignore"):
            new = old.astype(rng.choice(("float16", "int8", "uint64", "bool", "complex64", "S3")))
    elif action == 7:
        new = np.array(old.tolist(), dtype=object)
    elif action == 8:
        new = old.tolist()
    elif action == 9:
        new = np.array(7)
    elif action == 10:
        new = old.T
    elif action == 11:
        new = np.zeros(rng.choice(((1,), (3, 3), (2, 0), (1, 1, 1, 1), (1000,))), old.dtype)
    else:
        new = old.astype("U8") if old.size < 1000 else old[:1]
    return new, f"array {old.dtype}{old.shape} -> {getattr(new, 'shape', type(new).__name__)}"
