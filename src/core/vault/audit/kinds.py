"""What kind of thing a name in a pickle is, by tables that stay with us.

    rebuilding   puts data together again: arrays, tensors, spaces, RLlib's own classes
    author       a class or function of whoever wrote the checkpoint
    unknown      something of a library that nobody looked at: to be treated as code
    runner       runs programs or Python source, imports, opens files, talks to the network, or
                 reaches something that does

The tables are in `listed_names`. A name that goes through what other modules
import (`numpy.core.os.system`) or through a double underscore reaches anything, so it is a runner.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Final, Literal, get_args

from .listed_names import BY_VALUE, CLASSES, CLOUDPICKLE, DATA, REBUILDING, RUNNERS, TENSOR

Kind = Literal["rebuilding", "author", "unknown", "runner"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

_BY_VALUE_WORDS: Final = "a function or class whose code lies in the file"
_AUTHOR_WORDS: Final = "a class or function of its author"
# What other modules import and so hand on under their own names.
_HANDED_ON_NAMES: Final = """
    __import__ Popen attrgetter check_call check_output compile ctypes eval exec execfile getattr
    getoutput import_module importlib loads methodcaller nt open os pickle popen posix resolve_name
    run_module run_path runstring setattr shutil spawnl spawnv subprocess sys system
"""
_HANDED_ON: Final = frozenset(_HANDED_ON_NAMES.split())
_FAMILY_NAMES: Final = """
    cloudpickle gym gymnasium jax keras msgpack msgpack_numpy numpy packaging pandas pyarrow ray
    scipy sklearn tensorflow torch tree
"""
FAMILIES: Final = frozenset(_FAMILY_NAMES.split())
_LIBRARIES: Final = (sys.stdlib_module_names | FAMILIES) - {"__main__"}
_OLD_NAMES: Final = {"__builtin__": "builtins", "copy_reg": "copyreg", "exceptions": "builtins"}
_OF_CLASSES: Final = ("__new__", "__init__", "__main__")
_ERRORS: Final = ("Error", "Exception", "Warning", "Iteration")


@lru_cache(maxsize=4096)
def kind_of(module: str, name: str) -> tuple[Kind, str]:
    """The kind of a global, and in words what it is or does.

    Example:
        >>> kind_of("numpy.core.multiarray", "scalar")
        ('rebuilding', "an array, a number or a dtype of numpy's")
        >>> kind_of("posix", "system"), kind_of("my_code", "Net")
        (('runner', 'runs programs'), ('author', 'a class or function of its author'))
        >>> kind_of("numpy.core.numeric", "os.system")
        ('runner', 'reaches os.system')
    """
    root, _, rest = module.partition(".")
    root = _OLD_NAMES.get(root, root)
    module = f"{root}.{rest}" if rest else root
    path = f"{module}.{name}".replace("numpy._core.", "numpy.core.")
    if path in REBUILDING:
        return "rebuilding", REBUILDING[path]
    if path in RUNNERS:
        return "runner", RUNNERS[path]
    parts = name.split(".")
    is_cloudpickle = root == "cloudpickle" or module.startswith("ray.cloudpickle")
    if path in BY_VALUE or (is_cloudpickle and parts[-1] in CLOUDPICKLE):
        return "author", _BY_VALUE_WORDS
    reached = _reached(parts, root)
    if reached and (len(parts) > 1 or not _listed_above(path)):
        return "runner", f"reaches {reached}"
    harmless = _class_of_library(path, root, parts[-1])
    if harmless:
        return "rebuilding", harmless
    words = _listed_above(path)
    if words:
        return "runner", words
    return _of_library(path, root)


def _listed_above(path: str) -> str:
    """The words for the longest listed beginning of a dotted name; empty if none is listed."""
    while path:
        path = path.rpartition(".")[0]
        if path in RUNNERS:
            return RUNNERS[path]
    return ""


def _reached(parts: list[str], root: str) -> str:
    """The part of a qualified name that leads out of plain data; empty for an ordinary name."""
    is_library = root in _LIBRARIES
    for index, part in enumerate(parts):
        is_dunder = part.startswith("__") and part.endswith("__") and part not in _OF_CLASSES
        is_module = index == 0 and len(parts) > 1  # an author's class may have an `open` of its own
        if is_dunder and (len(parts) > 1 or is_library):
            return ".".join(parts[index:])
        if part in _HANDED_ON and (is_module or is_library):
            return ".".join(parts[index:])
    return ""


def _class_of_library(path: str, root: str, last: str) -> str:
    """In words what a class of a library's own is; empty for anything else."""
    is_class = last.lstrip("_")[:1].isupper()
    for prefix, words in CLASSES:
        if is_class and path.startswith(prefix):
            return words
    if path.startswith("torch.") and (
        last.endswith("Storage") or path.startswith("torch._utils._rebuild_")
    ):
        return TENSOR
    return DATA if root == "builtins" and last.endswith(_ERRORS) else ""


def _of_library(path: str, root: str) -> tuple[Kind, str]:
    if path.startswith("ray.rllib."):
        return "unknown", "a function of RLlib's"
    if root in _LIBRARIES:
        owner = "the standard library" if root not in FAMILIES else root
        return "unknown", f"of {owner}; treat it as code"
    return "author", _AUTHOR_WORDS
