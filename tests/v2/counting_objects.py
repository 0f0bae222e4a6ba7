"""How many objects there are: what grows by iteration shows without waiting for memory."""

import gc
from collections import Counter


def held():
    """How many objects there are of each class, those inside of others included; not integers."""
    gc.collect()
    seen = {id(each): each for each in gc.get_objects()}
    for each in [*seen.values()]:
        seen.update((id(part), part) for part in gc.get_referents(each))
    kinds = Counter(map(type, seen.values()))
    del seen
    return {
        f"{kind.__module__}.{kind.__qualname__}": n for kind, n in kinds.items() if kind is not int
    }


def grown(before, after, at_most):
    """The classes of which there are more than so many more."""
    more = {kind: n - before.get(kind, 0) for kind, n in after.items()}
    return {kind: n for kind, n in more.items() if n > at_most}
