"""The pickle machine decodes what the standard unpickler decodes, and runs nothing."""

import collections
import gc
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.errors import CheckpointError, CorruptCheckpointError, LimitExceededError
from rlconnect.core.vault.decode.constructors import CONSTRUCTORS
from rlconnect.core.vault.decode.load_limits import Budget, Limits
from rlconnect.core.vault.decode.pickle_machine import PickleMachine, Trace
from rlconnect.core.vault.decode.standins import GlobalRef, Opaque, PersistentRef

from ..attacks.assembly import call, name, program, put, row, text
from ..fuzz import GOLDEN

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    st.complex_numbers(),
)
KEYS = st.one_of(st.text(), st.integers(), st.binary(), st.tuples(st.integers(), st.text()))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(KEYS, inner, max_size=4),
        st.sets(KEYS, max_size=4),
        st.frozensets(KEYS, max_size=4),
    ),
    max_leaves=12,
)


class Point:
    """A class of the user's own."""

    def __init__(self, x):
        self.x = x


def machine(data, **limits):
    return PickleMachine(data, Budget(Limits(**limits), len(data)), constructors=CONSTRUCTORS)


def load(data, **limits):
    return machine(data, **limits).load()


def same(left, right):
    """Equal in value and type, NaN equal to NaN; bytes may have become views of the file."""
    if isinstance(left, memoryview):
        left = bytes(left)
    if isinstance(right, bytearray):
        right = bytes(right)
    if type(left) is not type(right):
        return False
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in right)
    if isinstance(left, complex):
        return same(left.real, right.real) and same(left.imag, right.imag)
    return left == right or (isinstance(left, float) and math.isnan(left) and math.isnan(right))


@given(value=VALUES, protocol=st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_plain_data_is_what_pickle_says(value, protocol):
    """Every plain value comes back equal, from every protocol."""
    assert same(load(pickle.dumps(value, protocol)), value)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_containers_of_the_library_become_plain_ones(protocol):
    """Ordered and default dicts, counters and deques are dicts and lists."""
    held = [
        collections.OrderedDict(b=1, a=2),
        collections.defaultdict(list, {"x": [1]}),
        collections.Counter("aab"),
        collections.deque([1, 2], maxlen=5),
        bytearray(b"abc"),
    ]

    got = load(pickle.dumps(held, protocol))

    assert got[:4] == [{"b": 1, "a": 2}, {"x": [1]}, {"a": 2, "b": 1}, [1, 2]]
    assert [type(part) for part in got[:4]] == [dict, dict, dict, list]
    assert list(got[0]) == ["b", "a"]
    assert bytes(got[4]) == b"abc"


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_objects_become_stand_ins(protocol):
    """A user's object keeps its class and state as data."""
    got = load(pickle.dumps({"point": Point(5)}, protocol))["point"]

    assert type(got) is Opaque
    assert got.path == f"{__name__}.Point"
    assert got.mapping() == {"x": 5}


def test_shared_parts_stay_shared():
    """What the pickle holds once is held once."""
    inner = [1]

    first, second = load(pickle.dumps([inner, inner]))

    assert first is second


def test_names_are_counted_and_never_imported():
    """A name becomes a reference; how often it was named is kept."""
    data = program(row(name("antigravity", "fly"), name("antigravity", "fly")))
    trace = Trace()
    found = PickleMachine(
        data, Budget(Limits(), len(data)), constructors=CONSTRUCTORS, trace=trace
    ).load()

    assert found == [GlobalRef("antigravity", "fly")] * 2
    assert trace.references == {("antigravity", "fly"): 2}


def test_persistent_ids_are_kept_or_resolved():
    """Without a resolver a persistent id stays a reference."""
    data = program(text("key"), b"Q")
    resolving = machine(data)
    resolving.persistent = lambda id_: id_.upper()

    assert isinstance(load(data), PersistentRef)
    assert load(data).id == "key"
    assert resolving.load() == "KEY"


def test_strings_of_python_2_are_unescaped():
    """Escapes mean what they mean to Python; one it does not know stays as it is."""
    assert load(b"S'a\\n\\x41\\101\\'\\q\\\\\\x4'\n.") == "a\nAA'\\q\\\\x4"


@pytest.mark.parametrize(
    "path", ["2.2.0-ppo_lambda_connectors", "2.60.0-ppo_new_stack/module"], ids=lambda p: p[:6]
)
def test_cut_anywhere_is_corrupt(path):
    """A real pickle that ends early never decodes to something."""
    file = min((GOLDEN / path).rglob("*.pkl"), key=lambda p: abs(p.stat().st_size - 2400))
    data = file.read_bytes()
    load(data)

    for end in range(len(data)):
        with pytest.raises(CorruptCheckpointError):
            load(data[:end])


def test_flipped_bits_end_typed():
    """Any one bit flipped in a small real pickle: data, or a typed error."""
    data = (GOLDEN / "2.60.0-ppo_new_stack/module/module_state.pkl").read_bytes()
    ends = collections.Counter()

    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        try:
            load(bytes(damaged))
            ends["data"] += 1
        except CheckpointError:
            ends["refused"] += 1

    assert min(ends["data"], ends["refused"]) > 100


def test_every_byte_as_first_opcode_ends_typed():
    """No opcode escapes on an empty stack."""
    for code in range(256):
        for rest in (b"", b".", b"\0" * 9 + b".", b"\xff" * 9 + b"."):
            try:
                load(b"\x80\x04" + bytes([code]) + rest)
            except CheckpointError:
                continue


def test_work_is_counted_exactly():
    """A pickle may take as many steps as it is allowed, not one more."""
    data = b"N0" * 1000 + b"N."

    assert load(data, max_operations=2002) is None
    with pytest.raises(LimitExceededError, match="steps"):
        load(data, max_operations=2001)


def test_memory_is_counted():
    """What unfolds beyond the budget is refused before it is made."""
    data = pickle.dumps([[] for _ in range(10_000)])

    assert len(load(data)) == 10_000
    with pytest.raises(LimitExceededError, match="list"):
        load(data, base_memory=300_000, memory_factor=0)


def test_nested_pickles_share_the_budget():
    """A pickle in a pickle cannot start counting anew."""
    inner = program(b"N0" * 500, b"N")
    outer = machine(program(b"N"))
    before = outer.budget.operations
    nested = outer.nested(inner)

    nested.load()

    assert outer.budget.operations < before - 1000
    assert nested.trace is outer.trace


def test_dtype_cannot_change_under_an_array():
    """numpy changes dtypes in place; one that is in use must keep its size."""
    from ..attacks.arrays import ATTACKS

    data = next(a.data for a in ATTACKS if a.name == "a dtype that grows under its array")

    kind, array, again = load(data)

    assert kind is again
    assert array.dtype.itemsize == 8
    assert array.tobytes() == b"\1" * 8


def test_a_damaged_array_leaves_the_rest():
    """What cannot be built becomes a stand-in and is told; the file goes on."""
    bad = call(name("numpy", "dtype"), text("nonsense"))
    reader = machine(program(row(bad, text("survives"))))

    stand_in, rest = reader.load()

    assert isinstance(stand_in, Opaque)
    assert rest == "survives"
    assert "nonsense" in reader.trace.skipped[0]


@pytest.mark.parametrize("was_on", [True, False])
def test_garbage_collection_is_left_as_found(was_on):
    """The collector is paused while decoding, and only then."""
    try:
        (gc.enable if was_on else gc.disable)()

        load(pickle.dumps([1]))
        with pytest.raises(CorruptCheckpointError):
            load(b"")

        assert gc.isenabled() == was_on
    finally:
        gc.enable()


def test_large_bytes_are_views_of_the_file():
    """Arrays over them copy nothing."""
    got = load(pickle.dumps(bytes(10_000), 4))

    assert isinstance(got, memoryview)
    assert got.readonly
    assert np.frombuffer(got, np.uint8).size == 10_000


def test_memo_may_be_sparse():
    """A huge memo index costs one entry, not all below it."""
    assert load(program(b"]", put(2**32 - 1), b"0", b"j\xff\xff\xff\xff")) == []
