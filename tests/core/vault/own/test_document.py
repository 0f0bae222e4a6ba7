"""Plain data becomes JSON and comes back as it was, bit for bit."""

import collections
import contextlib
import enum
import json

import numpy as np
import pytest
from hypothesis import given, settings
from rlconnect.core.data.budget import Budget
from rlconnect.core.data.dtype_storage import from_stored
from rlconnect.core.errors import (
    CheckpointError,
    CheckpointWriteError,
    CorruptCheckpointError,
    LimitExceededError,
)
from rlconnect.core.vault.files.json_text import format_json, parse_json
from rlconnect.core.vault.own.document import encode, free_name
from rlconnect.core.vault.own.document_decoder import decode

from .document_strategies import DOCUMENTS, VALUES, fingerprint


def round_trip(value, *, arrays=None, inline_up_to=0):
    tree = encode(value, arrays=arrays, inline_up_to=inline_up_to)
    text = format_json(tree)
    again = parse_json(text.encode(), "test.json")
    return decode(
        again, "test.json", find=lambda at: from_stored(arrays[at.name], at.dtype, at.shape)
    )


@given(VALUES)
@settings(derandomize=True, deadline=None, max_examples=150)
def test_inline_round_trip_is_exact(value):
    """Any plain data survives JSON alone: types, dtypes, shapes, order and every bit."""
    again = round_trip(value)

    assert fingerprint(again) == fingerprint(value)


@given(DOCUMENTS)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_stored_round_trip_is_exact(value):
    """The same holds with arrays kept beside the JSON."""
    again = round_trip(value, arrays={}, inline_up_to=2)

    assert fingerprint(again) == fingerprint(value)


def test_small_things_stay_readable():
    """What a person would want to read is written as they would write it."""
    tree = encode(
        {
            "low": np.array([-np.inf, 0.1], np.float32),
            "shape": (2,),
            "seed": 2**70,
            "names": np.array(["left", "right"]),
            "lr": np.float32(0.1),
        }
    )

    assert tree == {
        "low": {"$inline": ["-inf", 0.1], "dtype": "float32", "shape": [2]},
        "shape": {"$tuple": [2]},
        "seed": {"$int": "0x400000000000000000"},
        "names": {"$inline": ["left", "right"], "dtype": "<U5", "shape": [2]},
        "lr": {"$scalar": 0.1, "dtype": "float32"},
    }


def test_array_names_come_from_the_path():
    """An array is named after where it stands; names that would clash are told apart."""
    arrays = {}

    encode(
        {"a": {"b": np.ones(1)}, "a/b": np.ones(2), "__metadata__": np.ones(3), "": np.ones(4)},
        arrays=arrays,
    )

    assert [(name, array.shape) for name, array in arrays.items()] == [
        ("a/b", (1,)),
        ("a/b~2", (2,)),
        ("__metadata__~2", (3,)),
        ("array", (4,)),
    ]


@pytest.mark.parametrize("layout", ["fortran", "strided", "broadcast", "read_only"])
def test_memory_layout_does_not_matter(layout):
    """Arrays that are no plain block of memory are stored by value."""
    base = np.arange(12.0).reshape(3, 4)
    locked = base.copy()
    locked.flags.writeable = False
    array = {
        "fortran": np.asfortranarray(base),
        "strided": base[::2, ::-1],
        "broadcast": np.broadcast_to(base[0], (3, 4)),
        "read_only": locked,
    }[layout]

    again = round_trip({"a": array}, arrays={})["a"]

    np.testing.assert_array_equal(again, array)


class _Colour(enum.IntEnum):
    RED = 1


_Point = collections.namedtuple("_Point", "x y")


@pytest.mark.parametrize(
    ("value", "match"),
    [
        (object(), r"policies/a/0: a builtins\.object"),
        (_Colour.RED, r"_Colour.*\n.*builtin it derives"),
        (_Point(1, 2), r"_Point.*\n.*plain tuple"),
        (np.ma.masked_array([1.0], [True]), "MaskedArray is no plain array"),
        (np.zeros(2, [("x", "f4"), ("y", "i4")]), "no lossless plain layout"),
        (np.zeros(2, np.longdouble), "no lossless plain layout"),
        (np.longdouble(1), "no lossless plain layout"),
        (np.zeros((0, 2), "U20000"), "too wide for an empty array"),
        (lambda: None, "function is no plain data"),
    ],
)
def test_what_is_no_plain_data_is_refused(value, match):
    """Nothing is pickled, rounded or dropped in silence: the error names the path."""
    with pytest.raises(CheckpointWriteError, match=match) as caught:
        encode({"policies": {"a": [value]}})
    assert caught.value.at.startswith("policies/a/0")


def test_data_that_contains_itself_is_refused():
    """A cycle ends in a typed error, not in a crash."""
    loop = []
    loop.append(loop)

    with pytest.raises(CheckpointWriteError, match="contain itself"):
        encode({"loop": loop})


@pytest.mark.parametrize(
    "tree",
    [
        {"$unknown": 1},
        {"$tuple": 1},
        {"$tuple": [], "more": 1},
        {"$set": [[1]]},
        {"$set": [1, 1]},
        {"$pairs": [[1, 2, 3]]},
        {"$pairs": [[1, 2], [1, 3]]},
        {"$pairs": [[[1], 2]]},
        {"$int": "12"},
        {"$int": 12},
        {"$float": "0x1"},
        {"$float": ["nan"]},
        {"$complex": [1, 2]},
        {"$complex": [1.0]},
        {"$bytes": "?"},
        {"$bytes": "ä"},
        {"$bytes": 5},
        {"$str": "AA=="},
        {"$scalar": 1, "dtype": "str"},
        {"$scalar": 300, "dtype": "uint8"},
        {"$scalar": 1.5, "dtype": "int8"},
        {"$scalar": 1e300, "dtype": "float16"},
        {"$scalar": {"$bytes": "AA=="}, "dtype": "float32"},
        {"$inline": [1, 2], "dtype": "float32", "shape": [3]},
        {"$inline": [[1], [2, 3]], "dtype": "float32", "shape": [2, 2]},
        {"$inline": [True], "dtype": "int8", "shape": [1]},
        {"$inline": [2], "dtype": "bool", "shape": [1]},
        {"$inline": ["x"], "dtype": "float32", "shape": [1]},
        {"$inline": [[1]], "dtype": "float32", "shape": [1]},
        {"$inline": ["long"], "dtype": "<U2", "shape": [1]},
        {"$inline": ["x"] * 100, "dtype": "<U999999", "shape": [100]},
        {"$inline": [1], "dtype": "object", "shape": [1]},
        {"$inline": [1], "dtype": "O", "shape": [1]},
        {"$inline": [1], "dtype": "f4,f4", "shape": [1]},
        {"$inline": [1], "dtype": "|V8", "shape": [1]},
        {"$inline": [1], "dtype": 4, "shape": [1]},
        {"$inline": [1], "dtype": "float32", "shape": 1},
        {"$inline": [1], "dtype": "float32", "shape": [True]},
        {"$inline": [1], "dtype": "float32", "shape": [-1]},
        {"$inline": [], "dtype": "|V99999999", "shape": [0]},
        {"$inline": [1], "dtype": "float32", "shape": [2**57, 2**57]},
        {"$base64": "AAA=", "dtype": "float32", "shape": [1]},
        {"$base64": "Ag==", "dtype": "bool", "shape": [1]},
        {"$base64": "/////w==", "dtype": "<U1", "shape": [1]},
        {"$objects": [1, 2], "shape": [3]},
        {"$array": "x", "dtype": "float32", "shape": [1, -1]},
        {"$array": 5, "dtype": "float32", "shape": [1]},
        2**60,
    ],
    ids=lambda tree: json.dumps(tree)[:40],
)
def test_malformed_tags_are_damage(tree):
    """Every claim of a tag is held against its content; the error names where it stands."""
    with pytest.raises(CorruptCheckpointError, match=r"test\.json is damaged at config"):
        decode({"config": tree}, "test.json", find=lambda reference: reference)


def test_one_array_cannot_be_referred_to_twice():
    """A short file cannot unfold one array into many."""
    reference = {"$array": "x", "dtype": "float32", "shape": [1]}

    with pytest.raises(CorruptCheckpointError, match="its name is not its own"):
        decode([reference, reference], "test.json", find=lambda reference: reference)


@given(VALUES)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_encoding_decodes_or_fails_typed_after_any_tag_swap(value):
    """A tag put in the place of another is read as data or refused, never a crash."""
    text = json.dumps(encode(value))
    for old, new in [("$tuple", "$set"), ("$inline", "$base64"), ("float", "int"), ("$int", "$")]:
        tree = json.loads(text.replace(old, new))
        with contextlib.suppress(CheckpointError):
            decode(tree, "test.json", find=lambda reference: reference)


COLLIDING = [{"$int": hex((2**61 - 1) * i + 7 + 2**63)} for i in range(100)]


@pytest.mark.parametrize(
    "tree",
    [
        {"$set": COLLIDING},
        {"$frozenset": COLLIDING},
        {"$pairs": [[key, None] for key in COLLIDING]},
        {"$set": [{"$tuple": [key]} for key in COLLIDING]},
    ],
    ids=["set", "frozenset", "pairs", "tuples"],
)
def test_keys_built_to_collide_are_refused(tree):
    """Numbers of one hash would make a table of n of them take n * n steps."""
    with pytest.raises(LimitExceededError, match="collide"):
        decode(tree, "test.json", find=print)


@pytest.mark.parametrize(
    ("tree", "size"),
    [
        ({"$inline": [], "dtype": "|S60000", "shape": [0]}, 60_000),
        ({"$inline": ["a"], "dtype": "<U1000", "shape": [1]}, 4_000),
        ({"$inline": ["a" * 99, *"b" * 9], "dtype": "<U99", "shape": [10]}, 3_960),
        ({"$bytes": "AAAA" * 1000}, 3_000),
        ({"$base64": "AAAA" * 1000, "dtype": "uint8", "shape": [3000]}, 6_000),
    ],
    ids=["no items", "padding", "padded rows", "bytes", "base64"],
)
def test_what_a_document_makes_is_paid_for(tree, size):
    """Arrays are charged by what they take in memory, not by what they take in the file."""
    budget = Budget.of_bytes(10 * size)

    with pytest.raises(LimitExceededError, match="would take"):
        decode([tree] * 10, "test.json", find=print, budget=budget)


def test_integers_without_end_are_not_written():
    """What its own reader refuses is refused when it is saved."""
    with pytest.raises(CheckpointWriteError, match="integer without end"):
        encode({"seed": 1 << 9000})


def test_many_arrays_of_one_path_are_named_in_few_looks():
    """Each is counted on from the last one; the names are those that a search would find."""

    class Looked(dict):
        looks = 0

        def __contains__(self, name):
            self.looks += 1
            return super().__contains__(name)

    taken, counts = Looked({"a/b~3": 0}), {}
    names = []
    for _ in range(500):
        names.append(free_name(("a", "b"), taken, counts))
        taken[names[-1]] = 0

    assert names[:4] == ["a/b", "a/b~2", "a/b~4", "a/b~5"]
    assert len(set(names)) == 500
    assert taken.looks < 1500
    assert free_name(("a", "b"), dict(taken)) == "a/b~502"


def test_pictures_are_bytes_in_a_single_file(rng):
    """As rows of numbers an image takes more memory to read than its file may ask for."""
    image = rng.integers(0, 255, (84, 84, 4)).astype(np.uint8)

    tree = encode({"image": image, "mean": np.float32([0.5])})

    assert set(tree["image"]) == {"$base64", "dtype", "shape"}
    assert tree["mean"]["$inline"] == [0.5]
    np.testing.assert_array_equal(decode(tree, "it", find=None)["image"], image)
