"""The process that carries attacks out; its parent sees whether it lives and answers.

    python -m tests.fuzz.worker SEED FIRST SCRATCH MEMORY_MIB [KIND [DOOR]]

One JSON line when a case begins and one when it has ended, on the standard output as it was.
"""

import json
import os
import resource
import sys
import traceback
import warnings

from tests.fuzz.cases import Cases, Outcome
from tests.fuzz.watch import Watch

WARM = 40


def main(seed, first, scratch, memory, kinds="", door=""):
    """Carry out cases from `first` on, until somebody ends the process."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    warnings.simplefilter("ignore")
    os.makedirs(os.path.join(scratch, "tmp"), exist_ok=True)
    os.environ["TMPDIR"] = os.path.join(scratch, "tmp")
    os.environ["RLCONNECT_TRACEBACK"] = "1"
    os.chdir(scratch)
    _traps()
    cases = Cases(int(seed), scratch, Watch(scratch), kinds, door or None)
    _warm(cases)
    _bound_memory(int(memory))
    os.dup2(nothing, 2)
    number = int(first)
    while True:
        answers.write(json.dumps({"number": number}) + "\n")
        try:
            outcome = cases.run(number)
        except Exception as error:  # a mistake of the fuzzer's, to be seen as one
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{type(error).__name__} at {last.filename}:{last.lineno}"
            outcome = Outcome("fuzzer", "", repr(error)[:300], place)
        answers.write(json.dumps({"number": number, **vars(outcome)}) + "\n")
        number += 1


def _traps():
    """A module in the current folder that nobody may import."""
    with open("fuzz_unread.py", "w", encoding="utf-8") as file:
        file.write("from tests.fuzz import gadgets\ngadgets.FIRED.append('fuzz_unread')\n")
    sys.path.insert(0, "")


def _warm(cases):
    """Load what is loaded on first use, so that it does not count as memory of a case."""
    import rlconnect.bridge.compiled.artifact
    import rlconnect.cli.app
    import rlconnect.v2
    import torch._dynamo  # noqa: F401  # torch loads it when an optimiser is made

    assert rlconnect.v2
    for number in range(-WARM, 0):
        cases.run(number)


def _bound_memory(mebibytes):
    with open("/proc/self/statm", encoding="ascii") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + mebibytes * 2**20, hard))


if __name__ == "__main__":
    main(*sys.argv[1:])
