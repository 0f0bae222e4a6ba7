"""The table of names: each row is there, once, and leads to what it says."""

from importlib import import_module
from importlib.util import resolve_name

import pytest
import rlconnect
from rlconnect.core.importing.torch_needed import has_torch
from rlconnect.names import SHARED, front_tables, lines
from rlconnect.names.legacy import LEGACY
from rlconnect.names.ray import RAY
from rlconnect.names.rows import renamed, rows
from rlconnect.names.v2 import TUNING, V2
from rlconnect.v2.saving.class_names import saved_name

TABLES = {"v2": V2, "legacy": LEGACY, "legacy shared": SHARED, "v2.tuning": TUNING, "": RAY}
STAND_INS = ("stand-in", "tune")


def test_every_row_leads_to_what_it_says():
    """The module is there, and all names in it: those that old sources say, too."""
    lacking = []
    for front, table in TABLES.items():
        package = f"rlconnect.{front.partition(' ')[0]}".rstrip(".")
        for row in (each for each in rows(table) if each.home not in STAND_INS):
            home = resolve_name(row.home if row.home[0] == "." else f".{row.home}", package)
            try:
                module = import_module(home)
            except ModuleNotFoundError as missing:
                if missing.name != "torch" or has_torch():
                    raise
                continue
            names = [own for _, own in row.names if own not in ("", "*")]
            lacking += [f"{home}.{own}" for own in names if not hasattr(module, own)]

    assert lacking == []


def test_no_name_is_served_twice():
    """A front has one home for each name, shown or out of sight; a module of Ray's likewise."""
    for tables in ((V2, SHARED), (LEGACY, SHARED), (TUNING,)):
        words = [
            word.replace(">", "=").partition("=")[0]
            for table in tables
            for line in lines(table)
            if line[0] != "-"
            for word in line.partition(" @ ")[0].split()[1:]
        ]
        shown, hidden = front_tables(*tables)

        assert len(words) == len(set(words)) == len(shown) + len(hidden)

    places = [
        (path, name)
        for table in TABLES.values()
        for row in rows(table)
        for path in row.paths
        for name, _ in row.names
    ]
    assert len(places) == len(set(places))


def test_what_rllib_has_renamed_has_its_new_name():
    """A name that RLlib gave up leads to one that a front shows."""
    assert renamed(V2)["MultiAgentRLModule"] == "MultiRLModule"
    assert set(renamed(V2).values()) <= front_tables(V2)[0].keys()


@pytest.mark.torch
@pytest.mark.parametrize(
    "name", ["ConnectorV2", "FlattenObservations", "FrameStacking", "RLModule"]
)
def test_classes_are_saved_under_the_first_path_of_their_row(name):
    """The first of Ray's modules is where Ray defines a class, so that Ray finds it there."""
    (paths,) = [row.paths for row in rows(V2) if (name, name) in row.names]

    assert saved_name(getattr(rlconnect.v2, name)) == (paths[0], name)
