"""Modules from Python files that the user named; other processes load the same files."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

_files: dict[str, str] = {}


def user_files() -> dict[str, str]:
    """Return the files loaded so far, by the name of their module."""
    return dict(_files)


def load_user_file(name: str, file: str) -> ModuleType:
    """Load a Python file as a module of a given name."""
    spec = spec_from_file_location(name, file)
    assert spec is not None, "a .py file has a loader"
    assert spec.loader is not None, "a .py file has a loader"
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    _files[name] = file
    return module


def load_user_files(files: Mapping[str, str]) -> None:
    """Load what `user_files` returned in another process, as far as the files exist here."""
    for name, file in files.items():
        if name not in _files and Path(file).is_file():
            load_user_file(name, file)
