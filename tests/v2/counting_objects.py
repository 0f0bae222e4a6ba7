"""How many objects there are: what grows by iteration shows without waiting for memory."""

import gc
from collections import Counter, deque

GROWING = (dict, list, set, deque)


class Newer:
    """Objects that have come since it was made; those of all other tests are left alone.

    Containers that were there before count by how much lies in them.
    """

    def __init__(self):
        gc.collect()
        gc.unfreeze()
        self._older = [each for each in gc.get_objects() if type(each) in GROWING]
        gc.freeze()

    def held(self):
        """How many objects there are of each class, and how much lies in all containers together.

        The collector sees no numbers, words and arrays: what holds them is longer.
        """
        gc.collect()
        objects = gc.get_objects()
        kinds = Counter(map(type, objects))
        newer = (each for each in objects if type(each) in GROWING and each is not objects)
        parts = sum(map(len, newer)) + sum(map(len, self._older))
        told = {f"{kind.__module__}.{kind.__qualname__}": n for kind, n in kinds.items()}
        return {**told, "what lies in containers": parts}


def grown(before, after, at_most):
    """The classes of which there are more than so many more."""
    more = {kind: n - before.get(kind, 0) for kind, n in after.items()}
    return {kind: n for kind, n in more.items() if n > at_most}
