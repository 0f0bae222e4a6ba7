"""What the machine builds from calls equals what numpy and Python build from them."""

import collections
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from rlconnect.core.vault.decode.constructors import CONSTRUCTORS
from rlconnect.core.vault.decode.load_limits import Budget, Limits
from rlconnect.core.vault.decode.pickle_machine import PickleMachine
from rlconnect.core.vault.decode.standins import GlobalRef, Opaque

from ..attacks.assembly import call, group, name, program, row, text

PROTOCOLS = st.integers(0, pickle.HIGHEST_PROTOCOL)
RECORD = np.dtype([("a", "<i4"), ("b", ">f8"), ("c", "S3"), ("d", [("e", "<u2")])], align=True)


class Settings(dict):
    """A dict of the user's own."""


def machine(data):
    return PickleMachine(data, Budget(Limits(), len(data)), constructors=CONSTRUCTORS)


def load(data):
    return machine(data).load()


def assert_same(got, want):
    assert type(got) is type(want)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    assert got.tobytes() == want.tobytes()


@given(
    array=hnp.arrays(
        st.one_of(
            hnp.boolean_dtypes(),
            hnp.integer_dtypes(endianness="?"),
            hnp.unsigned_integer_dtypes(endianness="?"),
            hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
            hnp.complex_number_dtypes(endianness="?", sizes=(64, 128)),
            hnp.byte_string_dtypes(min_len=1),
            hnp.unicode_string_dtypes(min_len=1),
            hnp.datetime64_dtypes(),
        ),
        hnp.array_shapes(min_dims=0, min_side=0),
    ),
    protocol=PROTOCOLS,
    fortran=st.booleans(),
)
def test_arrays_of_numbers_and_text(array, protocol, fortran):
    """Bit for bit what numpy makes of its pickle, in both orders, from every protocol."""
    data = pickle.dumps(
        np.asfortranarray(array).reshape(array.shape) if fortran else array, protocol
    )

    assert_same(load(data), pickle.loads(data))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "value",
    [
        np.float32(1.5),
        np.int64(-3),
        np.bool_(True),
        np.str_("é"),
        np.bytes_(b"ab"),
        np.complex64(1j),
        np.datetime64("2020-01-02"),
        np.zeros(3, RECORD),
        np.zeros((2, 0), RECORD),
        np.zeros(3, RECORD)[0],
        np.zeros(2, [("grid", "f4")]),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.arange(10)[::2],
    ],
    ids=lambda value: f"{type(value).__name__}-{value.dtype}",
)
def test_numbers_and_records(value, protocol):
    """Scalars keep their type, records their fields and padding."""
    assert_same(load(pickle.dumps(value, protocol)), value)


@pytest.mark.parametrize("old", ["numpy.core.", "numpy._core."])
def test_both_numpys_are_read(old):
    """numpy 1 and 2 name their modules differently."""
    data = pickle.dumps(np.arange(3.0), 2).replace(b"numpy._core.", b"numpy.core.")

    got = load(data.replace(b"numpy.core.", old.encode()))

    np.testing.assert_array_equal(got, [0, 1, 2])


@pytest.mark.parametrize(
    "dtype", ["f4", ">i2", "O", "S5", "<U3", "M8[ns]", "m8[25s]", "?", "c16", RECORD], ids=str
)
def test_dtypes(dtype):
    """Dtypes alone come as they are, in whatever byte order."""
    got = load(pickle.dumps(np.dtype(dtype)))

    assert got == np.dtype(dtype)
    assert got.isalignedstruct == np.dtype(dtype).isalignedstruct


def test_subarrays_stay_bytes():
    """Fields that are arrays are none of RLlib's: told, and left as bytes."""
    reader = machine(pickle.dumps(np.zeros(2, [("grid", "f4", (2, 2))])))

    got = reader.load()

    assert got.dtype["grid"] == np.dtype("V16")
    assert "sub-arrays" in reader.trace.skipped[0]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_object_arrays_hold_inert_items(protocol):
    """Their items are decoded like everything else."""
    value = np.empty(2, object)
    value[:] = [{"a": 1}, collections.OrderedDict]

    got = load(pickle.dumps(value, protocol))

    assert got.dtype == object
    assert got[0] == {"a": 1}
    assert got[1] == GlobalRef("collections", "OrderedDict")


def test_attributes_by_name_are_longer_names():
    """`getattr(cls, "name")` is read, not run."""
    data = program(call(name("builtins", "getattr"), name("a", "B"), text("c")))

    assert load(data) == GlobalRef("a", "B.c")


def test_python_2_spellings():
    """`__builtin__` and `copy_reg` mean what they mean in Python 3."""
    data = program(call(name("__builtin__", "set"), row(text("a"))))

    assert load(data) == {"a"}


def test_new_objects_by_copyreg():
    """The old ways to make an object give the same stand-in."""
    held = Settings({"a": 1})
    held.colour = "red"

    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        got = load(pickle.dumps(held, protocol))

        assert isinstance(got, Opaque)
        assert got.path == f"{__name__}.Settings"
        assert got.mapping() == {"a": 1, "colour": "red"}


@pytest.mark.parametrize("count", [0, 3])
def test_new_objects_keep_their_arguments(count):
    """`copyreg.__newobj__` called by name gives the stand-in that the opcode gives."""
    values = [text(f"{n}") for n in range(count)]

    got = load(program(call(name("copyreg", "__newobj__"), name("a.b", "Thing"), *values)))

    assert isinstance(got, Opaque)
    assert got.path == "a.b.Thing"
    assert list(got.args) == [f"{n}" for n in range(count)]


def test_arguments_of_new_objects_are_counted():
    """Each takes eight bytes of what a load may hold."""

    def spent(part):
        made = machine(program(part))
        before = made.budget.left
        made.load()
        return before - made.budget.left

    def beyond(count):
        """What the call takes beyond its arguments by themselves."""
        parts = [name("a.b", "Thing"), *[text("x")] * count]
        return spent(call(name("copyreg", "__newobj__"), *parts)) - spent(group(*parts))

    assert beyond(30) - beyond(10) == 20 * 8


def test_shared_arrays_stay_independent_of_the_file():
    """Small arrays own their numbers; both names see one array."""
    array = np.arange(3)

    first, second = load(pickle.dumps([array, array]))

    assert first is second
    assert first.flags.writeable or first.base is not None
