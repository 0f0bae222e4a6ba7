"""Folders as an attacker would change them: written from trees, with no name looked up."""

import shutil
import sys
import types

from rlconnect.core.vault.decode.standins import GlobalRef, Opaque

from tests.fuzz.encodings import encoding_of, read_tree, written

FIRED = []
"""What a victim was called with; nothing may ever stand here."""

CLASS_FILE = "class_and_ctor_args.pkl"


def ref(path):
    """A name as a pickle holds it."""
    module, _, name = path.rpartition(".")
    return GlobalRef(module, name)


def copied(folder, to):
    """A folder to change."""
    shutil.copytree(folder, to)
    return to


def changed(file, change):
    """Write a file's tree back as a function changed it.

    Args:
        file: A pickle, msgpack or JSON file.
        change: Called with the tree; gives another one, or None if it changed this one.
    """
    encoding = encoding_of(file)
    tree = read_tree(file.read_bytes(), encoding)
    made = change(tree)
    file.write_bytes(written(tree if made is None else made, encoding))


def with_settings(folder, to, **settings):
    """An algorithm's folder with other settings in it."""
    place = copied(folder, to)
    changed(place / CLASS_FILE, lambda tree: tree["ctor_args_and_kwargs"][0][0].update(settings))
    return place


def with_pieces(folder, to, *pieces):
    """A pipeline's folder with other pieces in it: (dotted name, args, kwargs) each."""
    place = copied(folder, to)
    made = [(ref(name), tuple(args), kwargs) for name, args, kwargs in pieces]
    changed(
        place / CLASS_FILE,
        lambda tree: tree["ctor_args_and_kwargs"][1].update(connectors=made),
    )
    return place


def called(path, *args):
    """A call as a pickle holds it."""
    return Opaque(ref(path), args)


def plant(name="victim_module"):
    """Load a module full of what a file might name: functions and classes of every kind."""
    import gymnasium as gym
    from rlconnect.v2 import (
        Catalog,
        ConnectorV2,
        DefaultPPOTorchRLModule,
        Learner,
        PPOConfig,
        RLlibCallback,
        SingleAgentEnvRunner,
    )

    def fire(*args, **kwargs):
        FIRED.append((args, kwargs))

    def fired(cls, *args, **kwargs):
        FIRED.append(cls.__name__)
        return super(cls, cls).__new__(cls)

    module = types.ModuleType(name)
    module.fire = fire
    bases = (
        *(gym.Env, ConnectorV2, DefaultPPOTorchRLModule, PPOConfig, RLlibCallback, Learner),
        *(SingleAgentEnvRunner, Catalog),
    )
    for base in bases:
        kind = type(f"Of{base.__name__}", (base,), {"__new__": fired, "__module__": name})
        setattr(module, kind.__name__, kind)
    sys.modules[name] = module
    return [f"{name}.{each}" for each in vars(module) if not each.startswith("_")]
