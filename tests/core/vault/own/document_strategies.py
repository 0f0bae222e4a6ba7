"""Hypothesis strategies for any document our own format can hold."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=6)
KEYS = st.one_of(
    TEXT, st.sampled_from(["$array", "$$x", "$", "weights", "a/b", "__metadata__", "", "a~2"])
)
DTYPES = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
    hnp.complex_number_dtypes(endianness="?", sizes=(64, 128)),
    hnp.datetime64_dtypes(endianness="?"),
    hnp.timedelta64_dtypes(endianness="?"),
    hnp.byte_string_dtypes(min_len=1, max_len=5),
    hnp.unicode_string_dtypes(endianness="?", min_len=1, max_len=5),
)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)


@st.composite
def raw_arrays(draw):
    """Arrays of any dtype out of any bits, so that every NaN and -0.0 comes by."""
    dtype, shape = draw(DTYPES), draw(SHAPES)
    if dtype.kind == "U":
        return draw(hnp.arrays(dtype, shape))
    size = int(np.prod(shape)) * dtype.itemsize
    bits = np.frombuffer(draw(st.binary(min_size=size, max_size=size)), np.uint8)
    bits = bits & 1 if dtype.kind == "b" else bits
    return bits.copy().view(dtype).reshape(shape) if size else np.empty(shape, dtype)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**200), 2**200),
    st.floats(),
    st.sampled_from([-0.0, float("inf"), float("-inf"), 2**53, -(2**53), 2**53 - 1]),
    st.complex_numbers(),
    TEXT,
    st.binary(max_size=8),
    raw_arrays().map(lambda array: array.reshape(-1)[0] if array.size else np.float32(0.1)),
)
HASHABLE = st.one_of(
    st.integers(), TEXT, st.none(), st.tuples(st.integers(), TEXT), st.binary(max_size=3)
)
VALUES = st.recursive(
    st.one_of(SCALARS, raw_arrays(), hnp.arrays(object, SHAPES, elements=SCALARS)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(KEYS, inner, max_size=4),
        st.dictionaries(HASHABLE, inner, max_size=3),
        st.sets(HASHABLE, max_size=3),
        st.frozensets(HASHABLE, max_size=3),
    ),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=4)


def fingerprint(value):
    """A comparable text that tells apart all that the format promises to keep."""
    if isinstance(value, np.ndarray):
        inside = (
            [fingerprint(item) for item in value.flat]
            if value.dtype == object
            else value.tobytes().hex()
        )
        return ("array", value.dtype.str, value.shape, inside)
    if isinstance(value, np.generic):
        bits = value.tobytes().hex() if value.dtype.kind not in "US" else repr(value)
        return (type(value).__name__, value.dtype.str, bits)
    if isinstance(value, dict):
        return ("dict", [(fingerprint(key), fingerprint(item)) for key, item in value.items()])
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [fingerprint(item) for item in value])
    if isinstance(value, (set, frozenset)):
        return (type(value).__name__, sorted(map(repr, map(fingerprint, value))))
    if isinstance(value, float):
        return ("float", np.float64(value).tobytes().hex())
    if isinstance(value, complex):
        return ("complex", np.complex128(value).tobytes().hex())
    return (type(value).__name__, repr(value))
