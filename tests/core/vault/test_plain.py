"""Decoded data without stand-ins: bounded, told as data, never executed."""

import numpy as np
from rlconnect.core.vault.decode.standins import GlobalRef, Opaque, PersistentRef
from rlconnect.core.vault.plain import CUT, Plainer

SHAPER = GlobalRef("shop.training", "Shaper")


def test_classes_and_objects_become_data():
    """A class keeps its name; an object its class, arguments and state."""
    shaper = Opaque(SHAPER, (1, GlobalRef("a", "B")), {"scale": 2.0})
    shaper.state = {"seen": (1, 2)}

    assert Plainer()(shaper) == {
        "__class__": "shop.training.Shaper",
        "arguments": [1, {"__class__": "a.B"}],
        "keywords": {"scale": 2.0},
        "state": {"seen": (1, 2)},
    }


def test_code_by_value_is_a_name():
    """Of a function whose code lies in the file only its name is told."""
    function = Opaque(GlobalRef("cloudpickle.cloudpickle", "_make_function"), ("code",))
    function.state = {"__module__": "__main__", "__qualname__": "make.<locals>.<lambda>"}

    assert Plainer()(function) == {
        "__class__": "__main__.make.<locals>.<lambda>",
        "held": "by value",
    }


def test_items_and_entries_are_kept():
    """A list or dict of the user's own class keeps what it holds."""
    holder = Opaque(GlobalRef("shop", "Bag"))
    holder.items, holder.entries = [1], [((2, 3), "x")]

    assert Plainer()(holder) == {
        "__class__": "shop.Bag",
        "items": [1],
        "entries": [[(2, 3), "x"]],
    }


def test_arrays_stay_or_are_described():
    """Our own format takes arrays as they are; a page takes one line on each."""
    array = np.zeros((2, 3), np.float32)

    assert Plainer()(array) is array
    assert Plainer(arrays=False)(array) == "array (2, 3) float32"
    assert Plainer(arrays=False)(np.float32(0.5)) == 0.5
    assert Plainer(arrays=False)(b"abc") == "3 bytes"
    assert Plainer()(np.dtype("int8")) == "int8"


def test_an_endless_list_is_cut():
    """A list that holds itself ends at the deepest level."""
    loop = []
    loop.append(loop)

    told = Plainer(deepest=5)(loop)

    assert repr(told) == repr([[[[[[CUT]]]]]])


def test_shared_references_are_cut():
    """A value that unfolds to billions of parts costs as many steps as are allowed."""
    value = "x"
    for _ in range(60):
        value = [value, value]
    plain = Plainer(most=1000)

    plain(value)

    assert -200 < plain.left < 0


def test_odd_keys_and_values_become_text():
    """Keys and values of no plain type are written, shortly."""
    told = Plainer()({(1, 2): 3, SHAPER: {4}, None: PersistentRef("id")})

    assert told == {"(1, 2)": 3, "shop.training.Shaper": [4], None: "<persistent reference>"}
