"""Measures cases as their names come in, one a line, and answers with seconds a call.

    python worker.py CASES BACKEND FOLDER CLOCK SECONDS

CASES is a module beside this file with `make(name, backend, folder)`: a function to call over and
over, a pair (prepare, call) where every call needs fresh arguments, or None.
"""

import gc
import json
import os
import sys
import time
from importlib import import_module
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])
ANSWERS = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)  # whatever a backend prints does not mix with the answers


def once(case, clock, seconds):
    """Seconds a call, over a loop of about the given length."""
    if isinstance(case, tuple):
        prepare, call = case
        spent, calls = 0.0, 0
        while spent < seconds and calls < 20_000:
            given = prepare()
            start = clock()
            call(given)
            spent += clock() - start
            calls += 1
        return spent / calls
    start = clock()
    case()
    calls = max(1, int(seconds / max(clock() - start, 1e-7)))
    gc.collect()
    start = clock()
    for _ in range(calls):
        case()
    return (clock() - start) / calls


def main(module, backend, folder, clock, seconds):
    make = import_module(f"measure.{module}").make
    tick = time.process_time if clock == "cpu" else time.perf_counter
    made = {}
    for line in sys.stdin:
        name = line.strip()
        try:
            if name not in made:
                made = {name: make(name, backend, Path(folder))}
            case = made[name]
            answer = {} if case is None else {"seconds": once(case, tick, float(seconds))}
        except Exception as error:  # told to the parent, which goes on with the other cases
            made[name] = None
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(answer), file=ANSWERS)


if __name__ == "__main__":
    main(*sys.argv[1:])
