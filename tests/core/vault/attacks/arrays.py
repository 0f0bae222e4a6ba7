"""Arrays, dtypes and tensors that lie about themselves."""

import base64
import io
import pickle
import struct
import zipfile

from .assembly import (
    Attack,
    array,
    buffer_array,
    build,
    call,
    dtype,
    get,
    group,
    name,
    number,
    program,
    put,
    raw,
    row,
    table,
    text,
)

F4 = dtype("f4")
OBJECT = dtype("O")
HIDDEN = b"cos\nsystem\n(Vtrue\ntR."


def _arrays():
    eight = raw(b"\x01" * 8)
    for shape in [
        (10**12,),
        (2**63 - 1,),
        (2**63,),
        (2**61, 8),
        (2**32, 2**32),
        (2**62, 0),
        (0, 2**62),
        (-1,),
        (-2, -1),
        (2,) * 33,
        (1,) * 100,
        (2**31, 2**31, 2**31),
        (3,),
    ]:
        sizes = group(*[number(size) for size in shape])
        label = str(shape) if len(shape) < 5 else f"{len(shape)} axes"
        yield Attack(f"array of shape {label}", program(array(sizes, F4, eight)))
        yield Attack(f"buffer array of shape {label}", program(buffer_array(eight, F4, sizes)))
    for what, shape in {
        "text": text("2"),
        "a float": b"G" + struct.pack(">d", 2.0),
        "None": b"N",
        "a bool": group(b"\x88"),
        "an array": group(array(group(number(2)), F4, eight)),
        "a list of lists": row(row(number(2))),
    }.items():
        yield Attack(
            f"array whose shape is {what}", program(array(shape, F4, eight)), ends="either"
        )
    one = group(number(1))
    yield Attack(
        "object array from raw bytes", program(array(one, OBJECT, raw(b"\xde\xad\xbe\xef" * 2)))
    )
    yield Attack("object array from a pickle in bytes", program(array(one, OBJECT, raw(HIDDEN))))
    yield Attack("object array from a buffer", program(buffer_array(eight, OBJECT, one)))
    yield Attack(
        "object scalar from bytes",
        program(call(name("numpy.core.multiarray", "scalar"), OBJECT, eight)),
    )
    yield Attack(
        "object scalar of a pickle",
        program(call(name("numpy._core.multiarray", "scalar"), OBJECT, raw(HIDDEN))),
    )
    yield Attack("object array of a list", program(array(one, OBJECT, row(name("os", "system")))))
    yield Attack(
        "object array that is too short", program(array(group(number(5)), OBJECT, row(b"N")))
    )
    yield Attack(
        "number array of a list", program(array(one, F4, row(name("os", "system")))), ends="either"
    )
    yield Attack("array of a string", program(array(group(number(2)), F4, text("abcdefgh"))))
    yield Attack("array of a dict", program(array(one, F4, table())))
    yield Attack(
        "state of a finished array",
        program(
            build(
                array(group(number(2)), F4, eight),
                group(number(1), group(number(2)), F4, b"\x89", eight),
            )
        ),
    )
    yield Attack(
        "state of two items",
        program(
            build(call(name("numpy.core.multiarray", "_reconstruct")), group(number(1), number(2)))
        ),
    )
    yield Attack("characters beyond Unicode", program(array(one, dtype("U1"), raw(b"\xff" * 4))))
    yield Attack(
        "a character beyond Unicode",
        program(call(name("numpy.core.multiarray", "scalar"), dtype("U1"), raw(b"\xff" * 4))),
    )
    yield Attack(
        "items of no size", program(buffer_array(raw(b""), dtype("S0"), group(number(10**11))))
    )
    yield Attack(
        "items of no size, void", program(array(group(number(10**11)), dtype("V0"), raw(b"")))
    )
    yield Attack(
        "addresses of objects",
        program(buffer_array(array(one, OBJECT, row(b"N")), dtype("i8"), one)),
    )
    yield Attack(
        "numpy.ndarray called", program(call(name("numpy", "ndarray"), group(number(10**12))))
    )
    yield Attack(
        "numpy.memmap rebuilt",
        program(
            call(
                name("numpy.core.multiarray", "_reconstruct"),
                name("numpy", "memmap"),
                group(number(0)),
                raw(b"b"),
            )
        ),
    )
    yield Attack(
        "numpy.frombuffer with an address", program(call(name("numpy", "frombuffer"), number(4096)))
    )


def _dtypes():
    for code in [
        "O",
        "O8",
        "|O",
        "object",
        "T",
        "V8,O",
        "i4,O",
        "(2,)O",
        "f4,f4",
        "M8[0s]",
        "m8[99xx]",
        "M8[1000000s]",
        "S99999999",
        "U999999999",
        "V2147483647",
        "i3",
        "f999",
        "a5",
        "(99999,99999)f4",
        "float128",
        "clongdouble",
        "\0",
        "f4\0",
        "<",
        "",
    ]:
        kind = call(name("numpy", "dtype"), text(code), b"\x89", b"\x88")
        yield Attack(f"dtype {code!r}", program(kind))
        yield Attack(
            f"scalar of dtype {code!r}",
            program(call(name("numpy.core.multiarray", "scalar"), kind, raw(b"\0" * 8))),
        )
    yield Attack(
        "dtype of a list", program(call(name("numpy", "dtype"), row(group(text("a"), text("O")))))
    )
    yield Attack(
        "dtype of a dict",
        program(
            call(
                name("numpy", "dtype"),
                table(
                    text("names"),
                    row(text("a")),
                    text("formats"),
                    row(text("O")),
                    text("offsets"),
                    row(number(-8)),
                ),
            )
        ),
    )
    yield Attack("dtype of a class", program(call(name("numpy", "dtype"), name("os", "system"))))
    yield Attack(
        "numpy.dtypes.StringDType",
        program(
            array(group(number(1)), call(name("numpy.dtypes", "StringDType")), raw(b"\xff" * 16))
        ),
    )

    def record(names, fields, itemsize, *, start="V8", order="|", subarray=b"N"):
        state = group(
            number(3), text(order), subarray, names, fields, number(itemsize), number(1), number(16)
        )
        return build(dtype(start), state)

    def field(kind, offset):
        return group(kind, offset)

    names = group(text("a"))
    cases = {
        "offset outside": record(names, table(text("a"), field(dtype("i8"), number(4000))), 8),
        "negative offset": record(names, table(text("a"), field(dtype("i8"), number(-8))), 8),
        "huge offset": record(names, table(text("a"), field(dtype("i8"), number(2**62))), 8),
        "huge item": record(names, table(text("a"), field(dtype("i8"), number(0))), 2**31 - 1),
        "objects": record(names, table(text("a"), field(OBJECT, number(0))), 8),
        "titles": record(names, table(text("a"), group(dtype("i8"), number(0), text("t"))), 8),
        "names without fields": record(names, b"N", 8),
        "fields without names": record(b"N", table(text("a"), field(F4, number(0))), 8),
        "a name that is a list": record(row(row()), table(), 8),
        "names that are numbers": record(
            group(number(1)), table(number(1), field(F4, number(0))), 8
        ),
        "an offset that is text": record(names, table(text("a"), field(F4, text("9" * 9999))), 8),
        "a subarray of objects": record(
            b"N", b"N", 8, subarray=group(OBJECT, group(number(10**9)))
        ),
        "a subarray": record(b"N", b"N", 8, subarray=group(F4, group(number(10**12)))),
        "an unknown order": record(b"N", b"N", 4, start="f4", order="x"),
        "fields on a float": record(names, table(text("a"), field(F4, number(0))), 4, start="f4"),
        "ten thousand fields": record(
            group(*[text(f"f{i}") for i in range(10_000)]),
            table(*[text(f"f{i}") + field(get(90), number(0)) for i in range(10_000)]),
            8,
        ),
    }
    for what, kind in cases.items():
        body = F4 + put(90) + b"0" + kind
        yield Attack(f"record dtype with {what}", program(body))
        yield Attack(
            f"array of a record dtype with {what}",
            program(F4 + put(90) + b"0" + array(group(number(1)), kind, raw(b"\1" * 8))),
        )
    # numpy changes a dtype in place: under an array, that would move the array's bounds.
    grown = group(
        number(3),
        text("|"),
        b"N",
        names,
        table(text("a"), field(dtype("i8"), number(4000))),
        number(65536),
        number(1),
        number(0),
    )
    yield Attack(
        "a dtype that grows under its array",
        program(
            b"(",
            dtype("V8"),
            put(5),
            array(group(number(1)), get(5), raw(b"\1" * 8)),
            build(get(5), grown),
            b"t",
        ),
    )
    inner = group(
        number(3),
        text("|"),
        b"N",
        names,
        table(text("a"), field(get(5), number(0))),
        number(8),
        number(1),
        number(0),
    )
    yield Attack(
        "a field that grows under its record",
        program(
            b"(",
            dtype("V8"),
            put(5),
            array(group(number(1)), build(dtype("V8"), inner), raw(b"\1" * 8)),
            build(get(5), grown),
            b"t",
        ),
    )


def _tensors():
    storage = array(group(number(4)), F4, raw(b"\0" * 16))
    rebuild = name("torch._utils", "_rebuild_tensor_v2")
    for what, (offset, size, stride) in {
        "stride 0": (0, (10**9,), (0,)),
        "two strides of 0": (0, (10**6, 10**6), (0, 0)),
        "a negative stride": (3, (4,), (-1,)),
        "a negative offset": (-1, (2,), (1,)),
        "an offset beyond": (4, (1,), (1,)),
        "a size beyond": (0, (5,), (1,)),
        "a stride beyond": (0, (2,), (100,)),
        "an overflowing stride": (0, (2, 2), (2**62, 1)),
        "an overflowing stride of one item": (0, (1, 2), (2**62, 1)),
        "an overflowing size": (0, (2**32, 2**32), (1, 1)),
        "more sizes than strides": (0, (2, 2), (1,)),
        "a hundred axes": (0, (1,) * 100, (1,) * 100),
        "an empty size": (0, (0, 2**61), (1, 1)),
    }.items():
        yield Attack(
            f"tensor with {what}",
            program(
                call(
                    rebuild,
                    storage,
                    number(offset),
                    group(*map(number, size)),
                    group(*map(number, stride)),
                    b"\x89",
                    table(),
                )
            ),
        )
    yield Attack(
        "tensor of no storage", program(call(rebuild, name("os", "system"), number(0), b")", b")"))
    )
    yield Attack(
        "tensor of objects",
        program(
            call(
                rebuild,
                array(group(number(1)), OBJECT, row(b"N")),
                number(0),
                group(number(1)),
                group(number(1)),
            )
        ),
    )
    yield Attack(
        "parameter of a call",
        program(
            call(
                name("torch._utils", "_rebuild_parameter"),
                call(name("os", "system"), text("true")),
                b"\x88",
                b"N",
            )
        ),
    )
    yield Attack(
        "torch.storage._load_from_bytes of a pickle",
        program(call(name("torch.storage", "_load_from_bytes"), raw(HIDDEN))),
    )
    yield Attack(
        "torch.storage._load_from_bytes of nothing",
        program(call(name("torch.storage", "_load_from_bytes"), raw(b""))),
    )
    yield Attack("base64 of a pickle", program(text(base64.b64encode(HIDDEN).decode())))
    for what, id_ in {
        "a number as tag": group(number(2**40), b"N", b"N", b"N", number(1)),
        "a number": number(2**40),
        "text": text("storage"),
        "an unknown class": group(
            text("storage"), name("os", "system"), text("0"), text("cpu"), number(1)
        ),
        "a negative count": group(
            text("storage"), name("torch", "FloatStorage"), text("0"), text("cpu"), number(-1)
        ),
        "a huge count": group(
            text("storage"), name("torch", "FloatStorage"), text("0"), text("cpu"), number(2**62)
        ),
        "a path as key": group(
            text("storage"), name("torch", "FloatStorage"), text("../../0"), text("cpu"), number(1)
        ),
    }.items():
        yield Attack(
            f"zip storage id of {what}",
            zip_file({"archive/data.pkl": program(id_, b"Q")}),
            "torch",
            "refused",
        )
        stream = b"".join(pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {}))
        yield Attack(
            f"stream storage id of {what}",
            stream
            + program(id_, b"Q")
            + pickle.dumps(["0"], 2)
            + struct.pack("<q", 2**62)
            + b"abcd",
            "torch",
            "refused",
        )


def zip_file(members, compression=zipfile.ZIP_STORED):
    """A zip archive of the given members."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", compression, compresslevel=1) as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return held.getvalue()


ATTACKS = [*_arrays(), *_dtypes(), *_tensors()]
