"""Small trees in RLlib's layout, each part of which tells which save it is of."""

import json
import os
import pickle
from pathlib import Path

from rlconnect.core.vault.saved_tree import replaced_tree


def write_part(folder, label, ending="pkl", stem="state"):
    """The three files of a component."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "class_and_ctor_args.pkl").write_bytes(pickle.dumps(label))
    (folder / f"{stem}.{ending}").write_bytes(pickle.dumps({"label": label}))
    said = {"class_and_ctor_args_file": "class_and_ctor_args.pkl", "state_file": stem}
    (folder / "metadata.json").write_text(json.dumps(said), encoding="utf-8")


def save(target, label, parts=("a", "b"), ending="pkl"):
    """Save a component with parts."""
    with replaced_tree(Path(target)) as folder:
        write_part(folder, label, ending)
        for part in parts:
            write_part(folder / part, label, ending)


def write_formerly(target, label, parts=("a", "b"), ending="pkl"):
    """What releases without manifest left."""
    write_part(target, label, ending)
    for part in parts:
        write_part(target / part, label, ending)


def labels(target):
    """Of which saves the state files are."""
    return {pickle.loads(file.read_bytes())["label"] for file in Path(target).rglob("state.*")}


def names(folder):
    """Everything below a folder, by path."""
    return {
        os.path.relpath(os.path.join(place, name), folder)
        for place, folders, files in os.walk(folder)
        for name in (*folders, *files)
    }
