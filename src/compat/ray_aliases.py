"""Let code that says `from ray.rllib... import ...` run on rlconnect, with no Ray installed.

    from rlconnect.bridge import ray_aliases

    ray_aliases.activate()              # steps aside where real Ray is installed
    import my_old_connectors            # from ray.rllib.connectors.connector_v2 import ConnectorV2

or, for a script that is left as it is:

    python -m rlconnect.compat.ray_aliases my_script.py --its-arguments

Names are found under the module that RLlib has them in. What rlconnect lacks is told when it is
imported, with the nearest name there is. `rlconnect codemod` rewrites the imports for good.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from ..core.errors import ConfigError
from .aliases.activation import Activation, activate, deactivate, is_active, is_ray_installed
from .aliases.finder import UnknownRayModuleError, UnknownRayNameError
from .aliases.stand_ins import StandInError

__all__ = [
    "Activation",
    "StandInError",
    "UnknownRayModuleError",
    "UnknownRayNameError",
    "activate",
    "deactivate",
    "is_active",
    "is_ray_installed",
    "main",
    "run",
]


def run(script: str | Path, arguments: Sequence[str] = (), *, force: bool = False) -> None:
    """Run a script as `python SCRIPT ARGUMENTS` would, under Ray's names.

    Args:
        script: The file; its folder is where its own imports are looked for.
        arguments: What the script finds in `sys.argv` behind its own name.
        force: Use rlconnect also where Ray is installed.

    Raises:
        ConfigError: There is no such file.
    """
    path = Path(script)
    if not path.is_file():
        raise ConfigError(f"no script at {str(path)!r}", hint="give the path of a Python file.")
    argv, import_path = sys.argv, list(sys.path)
    sys.argv = [str(path), *arguments]
    sys.path.insert(0, str(path.resolve().parent))
    try:
        with activate(force=force):
            runpy.run_path(str(path), run_name="__main__")
    finally:
        sys.argv, sys.path[:] = argv, import_path


def main(argv: Sequence[str] | None = None) -> int:
    """Run a script as the command line asks; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m rlconnect.compat.ray_aliases",
        description="Run a script that imports ray.rllib on rlconnect.",
    )
    parser.add_argument("--force", action="store_true", help="also where Ray is installed")
    parser.add_argument("script", help="the Python file to run")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its own arguments")
    arguments = parser.parse_args(argv)
    if not Path(arguments.script).is_file():
        parser.error(f"no script at {arguments.script!r}")
    run(arguments.script, arguments.arguments, force=arguments.force)
    return 0


if __name__ == "__main__":
    sys.exit(main())
