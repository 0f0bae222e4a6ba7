"""Hostile msgpack."""

import struct

import msgpack

from .assembly import Attack


def _array(**fields):
    return msgpack.packb({key.encode(): value for key, value in fields.items()})


def _attacks():
    def attack(name, data, ends="refused"):
        return Attack(f"msgpack: {name}", data, "msgpack", ends)

    yield attack("array32 of 4 billion", b"\xdd\xff\xff\xff\xff")
    yield attack("map32 of 4 billion", b"\xdf\xff\xff\xff\xff")
    yield attack("nested headers of 4 billion", b"\xdd\xff\xff\xff\xff" * 1000)
    yield attack(
        "nested headers that could fit",
        b"".join(b"\xdd" + struct.pack(">I", 5 * left) for left in range(5000, 0, -1)),
    )
    yield attack("str32 of 4 GB", b"\xdb\xff\xff\xff\xffabc")
    yield attack("bin32 of 4 GB", b"\xc6\xff\xff\xff\xffabc")
    yield attack("ext32 of 4 GB", b"\xc9\xff\xff\xff\xff\x01abc")
    yield attack("100,000 nested arrays", b"\x91" * 100_000 + b"\xc0")
    yield attack("100,000 nested maps", b"\x81\xa0" * 100_000 + b"\xc0")
    yield attack(
        "a million empty lists", b"\xdd" + struct.pack(">I", 10**6) + b"\x90" * 10**6, "either"
    )
    yield attack("the unused byte", b"\xc1")
    yield attack("nothing", b"")
    yield attack("two values", b"\x01\x02")
    yield attack("cut in a number", b"\xcb\0\0")
    yield attack("text that is no UTF-8", b"\xa2\xff\xff")
    yield attack("extension", b"\xd4\x05a", "inert")
    yield attack("timestamp", b"\xd7\xff" + b"\xff" * 8, "inert")
    yield attack("a map as a key", b"\x81\x81\x01\x02\x03")
    yield attack("a list as a key", b"\x81\x91\x01\x03", "inert")
    yield attack("a list of lists as a key", b"\x81\x91\x91\x01\x03")
    yield attack("the same key twice", b"\x82\x01\x02\x01\x03")
    yield attack("1 and True", b"\x82\x01\x02\xc3\x03")
    yield attack(
        "an array as a key",
        b"\x81" + _array(nd=True, type="<f4", kind=b"", shape=[1], data=b"abcd") + b"\x01",
    )
    yield attack(
        "numbers of equal hash",
        msgpack.packb({(i % 7) + (2**61 - 1) * (i // 7): None for i in range(49)}),
        "either",
    )
    yield attack(
        "numbers that fill a table badly", msgpack.packb({i << 40: None for i in range(60_000)})
    )
    yield attack(
        "floats that fill a table badly", msgpack.packb({i * 2.0**40: None for i in range(60_000)})
    )
    yield attack(
        "a pickled array",
        _array(nd=True, type="O", kind=b"O", shape=[1], data=b"cos\nsystem\n(Vtrue\ntR."),
        "inert",
    )
    yield attack(
        "objects as numbers",
        _array(nd=True, type="|O", kind=b"", shape=[1], data=b"12345678"),
        "inert",
    )
    yield attack(
        "a record array",
        _array(nd=True, type=[["a", "|O"]], kind=b"V", shape=[1], data=b"12345678"),
        "inert",
    )
    yield attack(
        "a pickled scalar", _array(nd=False, type="O", data=b"cos\nsystem\n(Vtrue\ntR."), "either"
    )
    for shape in (
        [10**12],
        [2**63 - 1],
        [-1],
        [2**32, 2**32],
        [1] * 100,
        "text",
        None,
        [1.5],
        [True],
        [[1]],
    ):
        yield attack(
            f"array of shape {shape}",
            _array(nd=True, type="<f4", kind=b"", shape=shape, data=b"abcdefgh"),
        )
    for code in (
        "T",
        "U0",
        "S0",
        "V0",
        "M8[0s]",
        "f3",
        "(2,)f4",
        "f4,f4",
        "",
        "\0",
        "S99999999",
        5,
        None,
    ):
        yield attack(
            f"array of dtype {code!r}",
            _array(nd=True, type=code, kind=b"", shape=[10**9], data=b""),
            "either",
        )
    yield attack(
        "characters beyond Unicode",
        _array(nd=True, type="<U1", kind=b"", shape=[1], data=b"\xff" * 4),
    )
    yield attack("a complex call", _array(complex=True, data="__import__('os')"), "refused")
    yield attack("a complex number without end", _array(complex=True, data="9" * 10**6), "refused")


ATTACKS = list(_attacks())
