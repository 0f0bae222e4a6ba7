"""Let coverage lead: bytes that reach new lines of a reader are kept and changed further (atheris).

    python -m tests.fuzz.coverage_guided [--seconds 60] [--reader pickle]

An optional tool: `pip install atheris`. Each reader runs in a process of its own and ends with a
report of libFuzzer; a finding is a traceback, and a file `crash-...` in build/fuzz.
"""

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
LARGEST = 20_000


def _decoded(data, encoding):
    from rlconnect.core.vault.decode.load_limits import Limits
    from rlconnect.core.vault.decoding import Decoding

    limits = Limits(base_memory=8 * 2**20, max_operations=100_000)
    return Decoding(Path("."), limits).decode_bytes(data, "fuzzed", encoding)


def _document(data):
    from rlconnect.core.data.budget import one_load
    from rlconnect.core.vault.files.json_text import parse_json
    from rlconnect.core.vault.own.document_decoder import decode

    with one_load():
        return decode(parse_json(data, "fuzzed"), "fuzzed", find=lambda reference: None)


def _space(data):
    import json

    from rlconnect.core.spaces.own_layout import space_from_data
    from rlconnect.core.spaces.ray_layouts import space_from_ray

    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return
    for read in (space_from_data, space_from_ray):
        try:
            read(tree)
        except _ours():
            continue


READERS = {
    "pickle": (lambda data: _decoded(data, "pickle"), ("*.pkl",)),
    "msgpack": (lambda data: _decoded(data, "msgpack"), ("*.msgpack", "*.msgpck")),
    "zip": (lambda data: _decoded(data, "torch"), ("*.pt", "*.npz")),
    "json": (_document, ("*.json",)),
    "space": (_space, ("spaces/*.json",)),
}
"""What reads bytes, and the recorded files it starts from."""


def _ours():
    from rlconnect.core.errors import RlconnectError

    return RlconnectError


def attack(name, seconds):
    """Run one reader in this process; libFuzzer ends it."""
    import atheris

    with atheris.instrument_imports(include=["rlconnect.core"]):
        import rlconnect.core.spaces.own_layout
        import rlconnect.core.spaces.ray_layouts
        import rlconnect.core.vault.decode.msgpack_file
        import rlconnect.core.vault.decode.torch_file
        import rlconnect.core.vault.decoding
        import rlconnect.core.vault.own.document_decoder  # noqa: F401
    read, patterns = READERS[name]
    error = _ours()
    folder = ROOT / "build" / "fuzz" / name
    folder.mkdir(parents=True, exist_ok=True)
    for number, file in enumerate(f for p in patterns for f in sorted(GOLDEN.rglob(p))):
        if file.stat().st_size <= LARGEST:
            (folder / f"golden-{number}").write_bytes(file.read_bytes())

    def one(data):
        try:
            read(data)
        except error:
            return

    limits = [f"-max_total_time={seconds}", "-max_len=20000", "-timeout=20", "-rss_limit_mb=2048"]
    words = [*limits, "-print_final_stats=1", f"-artifact_prefix={folder.parent}/"]
    atheris.Setup([sys.argv[0], *words, str(folder)], one)
    atheris.Fuzz()


def main():
    """Run all readers, or one."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=int, default=60, help="for each reader")
    parser.add_argument("--reader", choices=list(READERS))
    parser.add_argument("--here", action="store_true", help="in this very process")
    options = parser.parse_args()
    try:
        import atheris  # noqa: F401
    except ImportError:
        print("atheris is not installed: pip install atheris")
        return 2
    if options.here:
        attack(options.reader, options.seconds)
        return 0
    failed = []
    for name in [options.reader] if options.reader else list(READERS):
        print(f"== {name}", flush=True)
        words = ["--here", "--reader", name, "--seconds", str(options.seconds)]
        command = [sys.executable, "-m", "tests.fuzz.coverage_guided", *words]
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            failed.append(name)
    print(f"{len(failed)} readers with findings{': ' if failed else ''}{', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
