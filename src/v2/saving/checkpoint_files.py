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

from ...core.data.msgpack_arrays import encode_msgpack_object
from ...core.errors import CheckpointNotFoundError, CheckpointWriteError, MissingPartError
from ...core.vault.decode.load_limits import limits_in_force
from ...core.vault.decode.standins import mapping_of
from ...core.vault.decoding import Decoding
from ...core.vault.file_names import CALL_KEY, CLASS_FILE, CLASS_KEY, STATE_KEY, VERSION_KEY
from ...core.vault.layout import Node, locate
from .reference_pickle import dump

CHECKPOINT_VERSION: Final = "2.1"


def locate_component(path: str | os.PathLike[str]) -> Node:
    """What lies at `path`.

    Raises:
        CheckpointNotFoundError: Nothing does.
        CheckpointError: It is no checkpoint, or may not be read.
    """
    root = Path(os.path.abspath(os.fspath(path)))
    if not os.path.exists(root):
        raise CheckpointNotFoundError(f"there is no checkpoint at {root}")
    return locate(root, limits_in_force())


def read_state(node: Node) -> Any:
    """The component's own state as plain data; None where its folder holds none."""
    if node.state_file is None:
        return None
    return Decoding(node.path, limits_in_force()).load(node.state_file, "state")


def read_constructor(node: Node) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The saved class and constructor arguments, as the vault decodes them.

    Raises:
        MissingPartError: The file is not there.
    """
    if node.class_file is None:
        raise MissingPartError(
            f"{node.path} has no {CLASS_FILE.partition('.')[0]} file",
            hint="build the object yourself and call its restore_from_path().",
        )
    constructor = mapping_of(
        Decoding(node.path, limits_in_force()).load(node.class_file, "constructor")
    )
    call = constructor.get(CALL_KEY)
    args, kwargs = call if isinstance(call, (tuple, list)) and len(call) == 2 else ((), {})
    return constructor.get("class"), tuple(args), dict(mapping_of(kwargs))


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
    described = {"class": cls, CALL_KEY: (tuple(args), dict(kwargs))}
    try:
        (folder / class_name).write_bytes(dump(described))
        if use_msgpack:
            (folder / f"{state_name}.msgpack").write_bytes(packed_state(state))
        else:
            with (folder / f"{state_name}.pkl").open("wb") as file:
                pickle.dump(state, file, protocol=4)  # Large arrays go straight to the file.
    except (pickle.PicklingError, TypeError, ValueError, AttributeError) as error:
        raise CheckpointWriteError(
            f"{cls.__name__} cannot be saved: {error}",
            expected="state and constructor arguments of numbers, text, arrays and spaces",
        ) from error
    names = {CLASS_KEY: class_name, STATE_KEY: state_name}
    text = json.dumps({VERSION_KEY: CHECKPOINT_VERSION, **metadata, **names})
    (folder / metadata_name).write_text(text, encoding="utf-8")


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
