"""Run the user code of the alias tests on real Ray and write what it gives.

    python tests/golden/aliases/record.py

in an interpreter that has Ray (2.60.0 wrote the file beside this one) and not rlconnect.
"""

import importlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
USER_CODE = HERE.parents[1] / "bridge" / "aliases" / "user_code"


def plain(value):
    """Results as JSON: arrays and tuples are lists."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def main():
    sys.path.insert(0, str(USER_CODE))
    import ray

    results = {}
    for path in sorted(USER_CODE.glob("*.py")):
        module = importlib.import_module(path.stem)
        if hasattr(module, "run"):
            try:
                results[path.stem] = plain(module.run())
            except Exception as error:
                print(path.stem, type(error).__name__, str(error)[:300])
    recorded = {"ray": ray.__version__, "results": results}
    (HERE / "user_code.json").write_text(json.dumps(recorded, indent=1))
    print(len(results), "recorded")


if __name__ == "__main__":
    main()
