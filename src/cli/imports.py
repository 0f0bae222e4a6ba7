"""Code of the user's own, named on the command line: `module:NAME`, `file.py:NAME`, `--import`."""

from __future__ import annotations

import operator
import os
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from ..core.data.damage import blame_user
from ..core.errors import ConfigError
from ..core.importing.user_files import load_user_file


def user_module(name: str, option: str) -> ModuleType:
    """Import a module of the user's; importing it is the user's act.

    What it runs may fail: that is theirs, and passes as it is.

    Args:
        name: Of a module on the path or in the current folder, or a `.py` file.
        option: What named it.

    Raises:
        ConfigError: There is no such module.
    """
    here = os.getcwd()
    if here not in sys.path:  # Last: nothing that lies there stands in for a library.
        sys.path.append(here)
    try:
        return _file_module(Path(name), option) if name.endswith(".py") else import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            blame_user(error)
            raise
        near = f"; there is no {name.partition('.')[0]}.py in this folder"
        raise ConfigError(
            f"{option} {name!r}",
            expected="a module on the path or in this folder, or a .py file",
            found=f"{error}{near}",
            hint="go to the folder it lies in, or name the file: FILE.py.",
        ) from None
    except (ImportError, SyntaxError) as error:
        blame_user(error)
        raise
    except (TypeError, ValueError) as error:  # no name of a module: "", ".x", "a..b"
        if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
            raise
        raise ConfigError(f"{option} {name!r}", expected="the name of a module") from None


def _file_module(path: Path, option: str) -> ModuleType:
    """A module from its file, under the file's name where that is free."""
    if not path.is_file():
        raise ConfigError(
            f"{option} {str(path)!r}",
            expected="a Python file",
            found="nothing lies there",
            hint="check the path.",
        )
    file = str(path.resolve())
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    loaded = sys.modules.get(path.stem)
    if loaded is not None and getattr(loaded, "__file__", None) == file:
        return loaded
    name = path.stem if loaded is None else f"file_{path.stem}"
    return load_user_file(name, file)


def from_user(name: str, option: str) -> Any:
    """What the user named as `module:NAME` or `file.py:NAME`.

    Raises:
        ConfigError: There is no such thing.
    """
    where, colon, attribute = name.rpartition(":")
    if not colon or not attribute or not where:
        raise ConfigError(
            f"{option} {name!r}",
            expected="MODULE:NAME or FILE.py:NAME of a class or function",
            hint="put a colon between the module and the name.",
        )
    module = user_module(where, option)
    try:
        return operator.attrgetter(attribute)(module)
    except AttributeError:
        names = [public for public in vars(module) if not public.startswith("_")]
        raise ConfigError(
            f"{option} {name!r}",
            expected=f"a name in {where}",
            found=", ".join(names[:12]) or "an empty module",
            hint="check its spelling.",
        ) from None
