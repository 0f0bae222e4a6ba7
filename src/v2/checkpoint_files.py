"""The files of one saved component, as RLlib lays them out.

    metadata.json              names of the two files below, version of the layout
    class_and_ctor_args.pkl    the class and what its constructor was given
    <state>.pkl or .msgpack    its own state; sub-components lie in folders of their own

Everything is read through the vault. `.msgpck` and `.pt`, which other releases wrote, are read too.
"""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..core.errors import (
    CheckpointNotFoundError,
    CheckpointWriteError,
    MissingPartError,
)
from ..core.keys import table_of
from ..core.msgpack_arrays import encode_msgpack_object
from ..core.space_codec import space_from_pickled
from ..core.vault.decode.standins import GlobalRef, Opaque, class_path, mapping_of
from ..core.vault.decoding import Decoding
from ..core.vault.layout import Node, locate
from ..core.vault.limits import DEFAULT_LIMITS
from .reference_pickle import dump

CHECKPOINT_VERSION: Final = "2.1"


def locate_component(path: str | os.PathLike[str]) -> Node:
    """What lies at `path`.

    Raises:
        CheckpointNotFoundError: Nothing does.
        CheckpointError: It is no checkpoint, or may not be read.
    """
    root = Path(os.path.abspath(os.fspath(path)))
    if not root.exists():
        raise CheckpointNotFoundError(f"there is no checkpoint at {root}")
    return locate(root, DEFAULT_LIMITS)


def read_state(node: Node) -> Any:
    """The component's own state as plain data; None where its folder holds none."""
    if node.state_file is None:
        return None
    return Decoding(node.path, DEFAULT_LIMITS).require(node.state_file, "state")


def read_constructor(node: Node) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The saved class and constructor arguments, as the vault decodes them.

    Raises:
        MissingPartError: The file is not there.
    """
    if node.class_file is None:
        raise MissingPartError(
            f"{node.path} has no class_and_ctor_args file",
            hint="build the object yourself and call its restore_from_path().",
        )
    held = mapping_of(Decoding(node.path, DEFAULT_LIMITS).require(node.class_file, "constructor"))
    call = held.get("ctor_args_and_kwargs")
    args, kwargs = call if isinstance(call, (tuple, list)) and len(call) == 2 else ((), {})
    return held.get("class"), tuple(args), dict(mapping_of(kwargs))


def revived(value: Any, find: Any) -> Any:
    """Decoded data with its references to classes and its spaces made live again.

    Args:
        value: What the vault decoded.
        find: Gives the class of a dotted path, or raises.
    """
    if isinstance(value, dict):
        return {key: revived(part, find) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(revived(part, find) for part in value)
    if isinstance(value, GlobalRef) or (isinstance(value, Opaque) and value.is_by_value):
        return find(class_path(value))
    if isinstance(value, Opaque):
        path = class_path(value)
        if ".spaces" in path:
            return _space(value)
        if path.endswith(".DefaultModelConfig"):
            return mapping_of(value)
        if path == "torch.device" and all(isinstance(arg, (str, int)) for arg in value.args):
            return ":".join(map(str, value.args))  # its name serves everywhere a device does
        return find(path)
    return value


def _space(value: Opaque) -> Any:
    state = dict(value.mapping())
    if not state and value.args and isinstance(value.args[0], dict):
        state = dict(value.args[0])
    return space_from_pickled(class_path(value), {k: _with_spaces(v) for k, v in state.items()})


def _with_spaces(part: Any) -> Any:
    if isinstance(part, Opaque):
        if ".spaces" in class_path(part):
            return _space(part)
        held = table_of(part.entries)
        return {key: _with_spaces(item) for key, item in held.items()} if held else part
    if isinstance(part, dict):
        return {key: _with_spaces(item) for key, item in part.items()}
    if isinstance(part, (list, tuple)):
        return type(part)(_with_spaces(item) for item in part)
    return part


def write_component(
    folder: Path,
    *,
    cls: type[Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    state: Any,
    state_name: str,
    class_name: str,
    metadata_name: str,
    metadata: Mapping[str, Any],
    use_msgpack: bool,
) -> None:
    """Write the files of one component into a folder, which is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    described = {"class": cls, "ctor_args_and_kwargs": (tuple(args), dict(kwargs))}
    try:
        (folder / class_name).write_bytes(dump(described))
        if use_msgpack:
            (folder / f"{state_name}.msgpack").write_bytes(packed_state(state))
        else:
            (folder / f"{state_name}.pkl").write_bytes(pickle.dumps(state, protocol=4))
    except (pickle.PicklingError, TypeError, ValueError, AttributeError) as error:
        raise CheckpointWriteError(
            f"{cls.__name__} cannot be saved: {error}",
            expected="state and constructor arguments of numbers, text, arrays and spaces",
        ) from error
    names = {"class_and_ctor_args_file": class_name, "state_file": state_name}
    text = json.dumps({"checkpoint_version": CHECKPOINT_VERSION, **metadata, **names})
    (folder / metadata_name).write_text(text)


def packed_state(state: Any) -> bytes:
    """Plain data and arrays as msgpack."""
    import msgpack  # type: ignore[import-untyped]  # it has no types

    def default(value: Any) -> Any:
        return list(value) if isinstance(value, tuple) else encode_msgpack_object(value)

    packed: bytes = msgpack.packb(state, default=default, use_bin_type=True)
    return packed


def plain_state(state: Any) -> Any:
    """State with tensors as arrays, so that it can be written."""
    if isinstance(state, Mapping):
        return {key: plain_state(part) for key, part in state.items()}
    if isinstance(state, (list, tuple)) and not hasattr(state, "_fields"):
        return type(state)(plain_state(part) for part in state)
    if hasattr(state, "detach"):
        return np.asarray(state.detach().cpu())
    return state
