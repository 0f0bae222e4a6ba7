"""Open hostile files one by one in processes of their own, and measure what each takes.

    python -m tests.trust.measured FOLDER

`FOLDER/cases.json` is a list of [door, path]; `FOLDER/results.json` gets for each what came of it,
memory in MiB, seconds of CPU, and what was executed.
"""

import json
import os
import resource
import subprocess
import sys
import warnings
from pathlib import Path

_MOST_CPU = 60


def _arrays(path):
    from rlconnect.core.vault.files.number_files import read_arrays

    return read_arrays(path)


def _audit(path):
    import rlconnect

    return rlconnect.audit(path)


def _load(path):
    import rlconnect

    return rlconnect.load(path)


def _load_program(path):
    import rlconnect

    return rlconnect.load(path, allow_program=True)


def _open(path):
    import rlconnect

    return rlconnect.open_checkpoint(path)


def _data(path):
    from rlconnect.offline import open_dataset

    data = open_dataset(path)
    data.info()
    return sum(1 for _ in data.episodes())


DOORS = {
    "arrays": _arrays,
    "audit": _audit,
    "data": _data,
    "load": _load,
    "open": _open,
    "program": _load_program,
}


def measured(cases, folder):
    """Results of [door, path] pairs, from one process that forks for each of them."""
    (folder / "cases.json").write_text(json.dumps([[door, str(path)] for door, path in cases]))
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-m", "tests.trust.measured", folder], cwd=root, check=True)
    return json.loads((folder / "results.json").read_text())


def _warm(cases, folder):
    """Load what is loaded on first use, so that it is no memory of a case."""
    import h5py
    import pyarrow.parquet

    assert h5py.File
    assert pyarrow.parquet.ParquetFile
    (folder / "none.json").write_text("{}")
    (folder / "none.npz").write_bytes(b"")
    for door in {door for door, _ in cases}:
        for name in ("none.json", "none.npz"):
            _outcome(door, folder / name)


def _outcome(door, path):
    from rlconnect.core.errors import RlconnectError

    try:
        DOORS[door](path)
    except RlconnectError as error:
        return type(error).__name__
    except Exception as error:
        return f"foreign {error!r:.200}"
    return "read"


def _one(door, path, watch, answer):
    """In a forked process: open one file, and write what it took."""
    before = _peak()
    with watch:
        outcome = _outcome(door, path)
    used = resource.getrusage(resource.RUSAGE_SELF)
    answer.write_text(
        json.dumps(
            {
                "outcome": outcome,
                "memory": (_peak() - before) / 1024,
                "cpu": used.ru_utime + used.ru_stime,
                "executed": watch.findings(),
            }
        )
    )


def _peak():
    """The most memory this process ever had, in KiB; a fork begins with what it has."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def main(folder):
    """Open all cases of a folder."""
    from tests.fuzz.watch import Watch

    warnings.simplefilter("ignore")
    folder = Path(folder)
    cases = json.loads((folder / "cases.json").read_text())
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    os.environ["TMPDIR"] = str(scratch)
    watch = Watch(folder)
    _warm(cases, folder)
    results = []
    for door, path in cases:
        answer = folder / "answer.json"
        answer.unlink(missing_ok=True)
        child = os.fork()
        if not child:
            resource.setrlimit(resource.RLIMIT_CPU, (_MOST_CPU, _MOST_CPU))
            _one(door, Path(path), watch, answer)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        died = {"outcome": f"died: {status}", "memory": 0, "cpu": _MOST_CPU, "executed": []}
        results.append(json.loads(answer.read_text()) if answer.exists() else died)
    (folder / "results.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1])
