"""How many objects there are: what grows by iteration shows without waiting for memory."""

import gc
from collections import Counter, deque
from itertools import chain, pairwise

GROWING = (dict, list, set, deque)


class Newer:
    """Objects that have come since it was made; those of all other tests are left alone.

    Containers that were there before count by how much lies in each.
    """

    def __init__(self):
        gc.collect()
        gc.unfreeze()
        self._older = [each for each in gc.get_objects() if type(each) in GROWING]
        gc.freeze()

    def held(self):
        """How many objects there are of each class, and how much lies in each container.

        The collector sees no numbers, words and arrays: what holds them is longer.
        """
        gc.collect()
        objects = gc.get_objects()
        kinds = Counter(map(type, objects))
        told = {f"{kind.__module__}.{kind.__qualname__}": n for kind, n in kinds.items()}
        for each in chain(self._older, objects):
            if type(each) in GROWING and each is not objects:
                told[type(each), id(each)] = len(each)
        return told


def grown(counts, at_most):
    """The classes of which more than so many come from each count to the next, and containers.

    What comes once is no leak: xdist hands out more tests while one runs, and caches fill.
    """
    steps = [*pairwise(counts)]
    return {
        kind: count
        for kind, count in counts[-1].items()
        # A container that is new is no longer one.
        if isinstance(kind, str) or all(kind in each for each in counts)
        if all(after.get(kind, 0) - before.get(kind, 0) > at_most for before, after in steps)
    }
