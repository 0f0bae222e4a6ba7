"""Files that are small, or ordinary in size, and want all memory or all day."""

import base64
import pickle
import struct
import zlib

from .assembly import (
    Attack,
    call,
    get,
    group,
    name,
    number,
    program,
    put,
    raw,
    repeated,
    row,
    table,
    text,
)

HUGE = 2**62


def _declared_sizes():
    for opcode, layout in [
        ("BINBYTES8", "<Q"),
        ("BINUNICODE8", "<Q"),
        ("BYTEARRAY8", "<Q"),
        ("BINBYTES", "<I"),
        ("BINUNICODE", "<I"),
        ("BINSTRING", "<i"),
        ("LONG4", "<i"),
        ("FRAME", "<Q"),
    ]:
        largest = HUGE if layout == "<Q" else 2**31 - 1
        data = program(getattr(pickle, opcode), struct.pack(layout, largest), b"abc")
        yield Attack(f"{opcode} of {largest:,} bytes", data, ends="refused")
    for opcode in ("BINSTRING", "LONG4"):
        data = program(getattr(pickle, opcode), struct.pack("<i", -5), b"abc")
        yield Attack(f"{opcode} of a negative size", data, ends="refused")
    yield Attack(
        "LONG4 of a megabyte",
        program(b"\x8b", struct.pack("<i", 2**20), b"\x7f" * 2**20),
        ends="refused",
    )
    yield Attack("INT of a million digits", b"I" + b"9" * 10**6 + b"\n.", ends="refused")
    yield Attack("LONG of a million digits", b"L" + b"9" * 10**6 + b"L\n.", ends="refused")
    yield Attack("FLOAT of a million digits", b"F1." + b"3" * 10**6 + b"\n.")
    yield Attack("FLOAT of nonsense", b"F" + b"x" * 10**6 + b"\n.", ends="refused")
    yield Attack("a line without end", b"I" + b"1" * 10**6, ends="refused")
    yield Attack("a name without end", b"c" + b"o" * 10**6, ends="refused")
    yield Attack("a name of a megabyte", b"c" + b"o" * 10**6 + b"\nx\n.", ends="refused")
    yield Attack("STRING full of escapes", b"S'" + b"\\z" * 10**6 + b"'\n.", ends="either")
    yield Attack("STRING with an unknown escape", b"S'\\q\\777\\x4'\n.")
    yield Attack("UNICODE of a megabyte", b"V" + b"\\U0010ffff" * 10**5 + b"\n.")
    yield Attack("text that is no UTF-8", program(b"X\2\0\0\0\xff\xff"), ends="refused")
    yield Attack("a lone surrogate", program(text("\ud800")))


def _depth():
    depth = 20_000
    tower = {
        "lists": b"]" * depth + b"a" * (depth - 1),
        "tuples": b")" + b"\x85" * depth,
        "dicts": b"}" + b"K\0}" * depth + b"s" * depth,
    }
    for what, body in tower.items():
        yield Attack(f"{depth:,} nested {what}", program(body), ends="refused")
    yield Attack(f"{depth:,} marks", b"(" * depth + b".", ends="refused")
    yield Attack(
        "objects nested in arguments",
        program(b"N" + (b"\x85" + put(1) + b"0" + name("a", "B") + get(1) + b"R") * 5_000),
        ends="refused",
    )
    yield Attack("calls of calls", program(name("a", "B") + b")R" * 4_000), ends="refused")
    yield Attack(
        "states in states",
        program((name("a", "B") + b")R") * 5_000 + b"b" * 4_999),
        ends="refused",
    )
    empty = call(name("numpy.core.multiarray", "_reconstruct"), b"N", b")", raw(b"b"))
    opening = empty + b"(" + number(1) + group(number(1)) + call(name("numpy", "dtype"), text("O"))
    yield Attack(
        "object arrays in object arrays",
        program((opening + b"\x89(") * 1000 + b"N" + b"ltb" * 1000),
        ends="either",
    )
    inner = b"N."
    for _ in range(12):
        inner = program(call(name("torch.storage", "_load_from_bytes"), raw(inner)))
    yield Attack("pickles in pickles in pickles", inner, ends="either")
    yield Attack(
        "a deep tuple as a key", program(b"}", b")" + b"\x85" * 5000, b"Ns"), ends="refused"
    )
    # Met first by short ways, so that only the longest path tells.
    chain = b"]" + put(0) + b"".join(b"]" + get(i) + b"a" + put(i + 1) + b"0" for i in range(5000))
    shortcuts = b"(" + b"".join(get(i) for i in range(5001)) + b"l"
    yield Attack("a deep chain behind short cuts", program(chain, b"0", shortcuts), ends="refused")


def _laughs():
    """Lists of two references to the list before: 2 ** 60 parts when written out."""

    def doubled(opening, closing, first=b"]", levels=60):
        body = first + put(0)
        for level in range(levels):
            body += b"0" + opening + get(level) + get(level) + closing + put(level + 1)
        return body

    lists = doubled(b"(", b"l")
    for what, body in {
        "lists": lists,
        "tuples": doubled(b"(", b"t", first=b")"),
        "dicts": doubled(b"(" + text("a"), text("b") + get(0) + b"d"),
        "objects": doubled(name("a", "B") + b"(", b"tR"),
    }.items():
        yield Attack(f"billion laughs of {what}", program(body), ends="either")
    yield Attack(
        "billion laughs of bytes",
        program(raw(b"x" * 3000), put(0), b"0(", get(0) * 10**5, b"l"),
        ends="either",
    )
    yield Attack(
        "billion laughs of text",
        program(text("x" * 10**6), put(0), b"0(", get(0) * 10**5, b"l"),
        ends="refused",
    )
    for where, use in {
        "a dtype code": call(name("numpy", "dtype"), get(60)),
        "a shape": call(
            name("numpy._core.numeric", "_frombuffer"),
            raw(b""),
            call(name("numpy", "dtype"), text("f4")),
            get(60),
            text("C"),
        ),
        "a callable": get(60) + b")R",
        "an attribute": call(name("builtins", "getattr"), get(60), text("x")),
        "a complex number": call(name("builtins", "complex"), get(60), number(1)),
        "a storage id": call(name("torch._utils", "_rebuild_tensor_v2"), get(60) + b"Q", b"NNN"),
        "a module": call(name("cloudpickle", "_builtin_type"), get(60)),
        "bytes": call(name("builtins", "bytes"), get(60)),
        "a key of an object": name("a", "B") + b")R(" + get(60) + b"Nu",
        "a persistent id": get(60) + b"Q",
        "a name of a class": call(name("cloudpickle", "_make_skeleton_class"), b"N", get(60)),
        "a version": call(name("packaging.version", "Version"), get(60)),
    }.items():
        yield Attack(f"billion laughs as {where}", program(lists, b"0", use), ends="either")


def _keys():
    yield Attack(
        "tuples of equal hash",
        program(
            b"}(",
            b"".join(
                group(*[number(-1 if i >> j & 1 else -2) for j in range(12)]) + b"N"
                for i in range(4096)
            ),
            b"u",
        ),
        ends="refused",
    )
    prime = 2**61 - 1
    yield Attack(
        "large numbers of equal hash",
        program(b"}(", b"".join(number(5 + i * prime) + b"N" for i in range(3000)), b"u"),
        ends="refused",
    )
    yield Attack(
        "floats that fill a table badly",
        program(
            b"}(",
            b"".join(b"G" + struct.pack(">d", i * 2.0**40) + b"N" for i in range(60_000)),
            b"u",
        ),
        ends="refused",
    )
    yield Attack(
        "numbers that fill a table badly",
        program(b"}(", b"".join(number(i << 40) + b"N" for i in range(60_000)), b"u"),
        ends="refused",
    )
    scalar = name("numpy.core.multiarray", "scalar") + put(0) + b"0"
    kind = call(name("numpy", "dtype"), text("c16")) + put(1) + b"0"
    yield Attack(
        "numpy numbers of equal hash",
        program(
            scalar,
            kind,
            b"}(",
            b"".join(
                get(0) + group(get(1), raw(struct.pack("<dd", -1000003.0 * i, i))) + b"RN"
                for i in range(20_000)
            ),
            b"u",
        ),
        ends="either",
    )
    sets = b"(\x91" + put(0) + b"0(K\1\x91" + put(1) + b"0"
    for level in range(40):
        sets += b"(" + get(2 * level) + get(2 * level + 1) + b"\x91" + put(2 * level + 2) + b"0"
        sets += (
            b"("
            + get(2 * level)
            + get(2 * level + 1)
            + number(9)
            + b"\x91"
            + put(2 * level + 3)
            + b"0"
        )
    yield Attack("sets of sets as keys", program(sets, b"}", get(80), b"Ns"), ends="either")
    yield Attack("a list as a key", program(b"}]Ns"), ends="refused")
    yield Attack("a dict that is its own key", program(b"}", put(0), get(0), b"Ns"), ends="refused")
    yield Attack(
        "an array as a key",
        program(
            b"}", call(name("numpy.core.multiarray", "_reconstruct"), b"N", b")", raw(b"b")), b"Ns"
        ),
        ends="refused",
    )


def _circles():
    yield Attack("a list in itself", program(b"]", put(0), get(0), b"a"), ends="refused")
    yield Attack(
        "a dict in itself", program(b"}", put(0), text("weights"), get(0), b"s"), ends="refused"
    )
    yield Attack("a tuple in its own list", program(b"]", put(0), get(0), b"\x85a"), ends="refused")
    yield Attack(
        "an object in its own state",
        program(name("a", "B"), b")R", put(0), table(text("weights"), get(0)), b"b"),
    )
    yield Attack(
        "an object array that holds itself",
        program(
            call(name("numpy.core.multiarray", "_reconstruct"), b"N", b")", raw(b"b")),
            put(0),
            group(
                number(1),
                group(number(1)),
                call(name("numpy", "dtype"), text("O")),
                b"\x89",
                row(get(0)),
            ),
            b"b",
        ),
        ends="either",
    )


def _memos():
    yield Attack("LONG_BINPUT 2^32-1", program(b"]r\xff\xff\xff\xff"))
    yield Attack("PUT of a huge number", program(b"]p", b"9" * 2000, b"\n"))
    yield Attack("PUT of a negative number", program(b"]p-1\n"))
    yield Attack("GET of nothing", program(b"g-1\n"), ends="refused")
    yield Attack("a megabyte of MEMOIZE", program(b"]" + b"\x94" * 10**6))
    yield Attack(
        "a megabyte of sparse LONG_BINPUT",
        program(b"]" + b"".join(b"r" + struct.pack("<I", 7 * i + 9) for i in range(200_000))),
    )


def _repeats():
    """Constructors of ours, asked for the same large thing again and again."""
    many = b"(" + b"N" * 20_000 + b"l"
    large = raw(b"a" * 500_000)
    times = 20_000
    f4 = call(name("numpy", "dtype"), text("f4"))
    wide = call(name("numpy", "dtype"), text("S500000"))
    frombuffer = name("numpy.core.numeric", "_frombuffer")
    inner = call(
        frombuffer,
        large,
        call(name("numpy", "dtype"), text("u1")),
        group(number(500_000)),
        text("C"),
    )
    for what, function, arguments in [
        ("bytes", name("builtins", "bytes"), group(large)),
        ("latin-1 bytes", name("_codecs", "encode"), group(text("a" * 500_000), text("latin1"))),
        ("lists", name("builtins", "list"), group(many)),
        ("tuples", name("builtins", "tuple"), group(many)),
        ("sets", name("builtins", "frozenset"), group(many)),
        ("size tuples", name("torch", "Size"), group(many)),
        (
            "ordered dicts",
            name("collections", "OrderedDict"),
            group(table(*[number(i) + b"N" for i in range(5000)])),
        ),
        (
            "pairs",
            name("collections", "OrderedDict"),
            group(row(*[group(number(i), b"N") for i in range(5000)])),
        ),
        ("dicts of an array", name("builtins", "dict"), group(inner)),
        (
            "arrays of text",
            frombuffer,
            group(text("a" * 500_000), f4, group(number(125_000)), text("C")),
        ),
        ("arrays of arrays", frombuffer, group(inner, f4, group(number(125_000)), text("C"))),
        ("wide scalars", name("numpy.core.multiarray", "scalar"), group(wide, large)),
        ("objects", name("copyreg", "_reconstructor"), group(b"N", b"N", many)),
        ("arguments", name("copyreg", "__newobj__"), b"(" + b"N" * 20_000 + b"t"),
        ("torch files", name("torch.storage", "_load_from_bytes"), group(large)),
        ("small torch files", name("torch.storage", "_load_from_bytes"), group(raw(b"N."))),
        ("dtypes", name("numpy", "dtype"), group(text("f4"))),
        ("empty arrays", name("numpy.core.multiarray", "_reconstruct"), b")"),
        ("unknown objects", name("a", "B"), b")"),
        ("attributes", name("builtins", "getattr"), group(name("a", "B"), text("c"))),
        (
            "persistent tensors",
            name("torch._utils", "_rebuild_tensor"),
            group(inner, number(0), group(number(500_000)), group(number(1))),
        ),
    ]:
        yield Attack(f"{times:,} {what}", repeated(function, arguments, times), ends="either")


def _filters():
    """The text in which Ray keeps filter statistics: base64 of zlib of an npy file."""
    header = (
        b"\x93NUMPY\x01\x00v\x00"
        + (b"{'descr': '<f8', 'fortran_order': False, 'shape': (5000000,), }").ljust(117)
        + b"\n"
    )
    zeros = base64.b64encode(zlib.compress(header + bytes(40_000_000), 9)).decode()
    objects = base64.b64encode(
        zlib.compress(
            b"\x93NUMPY\x01\x00v\x00"
            + b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(117)
            + b"\n"
            + b"cos\nsystem\n(Vtrue\ntR."
        )
    ).decode()
    for what, value in {"zlib bomb": zeros, "pickle in an npy file": objects}.items():
        state = table(
            text("connector_configs"),
            table(
                text("agent"),
                group(
                    text("AgentConnectorPipeline"),
                    row(
                        group(
                            text("MeanStdFilter"),
                            table(
                                text("shape"),
                                group(number(4)),
                                text("demean"),
                                b"\x88",
                                text("destd"),
                                b"\x88",
                                text("clip"),
                                b"N",
                                text("running_stats"),
                                table(
                                    text("num_pushes"),
                                    number(3),
                                    text("mean_array"),
                                    text(value),
                                    text("std_array"),
                                    text(value),
                                ),
                            ),
                        )
                    ),
                ),
            ),
            text("weights"),
            table(),
        )
        yield Attack(f"{what} in a filter", program(state))


ATTACKS = [
    *_declared_sizes(),
    *_depth(),
    *_laughs(),
    *_keys(),
    *_circles(),
    *_memos(),
    *_repeats(),
    *_filters(),
]
