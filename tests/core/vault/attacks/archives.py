"""Torch's zip archives, bent in every way a zip can be."""

import io
import struct
import warnings
import zipfile
from dataclasses import replace

from .arrays import zip_file
from .assembly import Attack, call, group, name, number, program, text

_ID = group(text("storage"), name("torch", "FloatStorage"), text("0"), text("cpu"), number(2))
_TENSOR = program(
    call(
        name("torch._utils", "_rebuild_tensor_v2"),
        _ID + b"Q",
        number(0),
        group(number(2)),
        group(number(1)),
        b"\x89",
        b"}",
    )
)
_NUMBERS = struct.pack("<2f", 1.0, 2.0)
_WHOLE = {"archive/data.pkl": _TENSOR, "archive/data/0": _NUMBERS}


def _patched(data, signature, offset, new, *, last=False):
    """`data` with bytes of the record that begins with `signature` replaced."""
    at = data.rindex(signature) if last else data.index(signature)
    return data[: at + offset] + new + data[at + offset + len(new) :]


def _attacks():
    whole = zip_file(_WHOLE)
    local, central, end = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
    yield Attack("honest archive", whole, "torch")
    yield Attack("no data.pkl", zip_file({"archive/other": b""}), "torch", "refused")
    yield Attack("no storage", zip_file({"archive/data.pkl": _TENSOR}), "torch", "refused")
    yield Attack("empty data.pkl", zip_file({"archive/data.pkl": b""}), "torch", "refused")
    yield Attack("empty archive", zip_file({}) + b"PK\x03\x04", "torch", "refused")
    yield Attack(
        "short storage", zip_file({**_WHOLE, "archive/data/0": b"abc"}), "torch", "refused"
    )
    deflated = zipfile.ZIP_DEFLATED
    bomb = {"archive/data.pkl": _TENSOR, "archive/data/0": bytes(60_000_000)}
    yield Attack("deflated bomb as storage", zip_file(bomb, deflated), "torch", "refused")
    huge = {"archive/data.pkl": b"N" * 60_000_000 + b"."}
    yield Attack("deflated bomb as pickle", zip_file(huge, deflated), "torch", "refused")
    lying = _patched(
        zip_file({"archive/data.pkl": b"N" * 10**7}, deflated), central, 24, struct.pack("<I", 10)
    )
    yield Attack("deflated bomb that declares ten bytes", lying, "torch", "refused")
    yield Attack(
        "path upwards",
        zip_file({"../../data.pkl": _TENSOR, "../../data/0": _NUMBERS}),
        "torch",
        "either",
    )
    yield Attack("absolute path", zip_file({"/etc/data.pkl": _TENSOR}), "torch", "refused")
    yield Attack("Windows path", zip_file({"C:\\data.pkl": _TENSOR}), "torch", "refused")
    yield Attack("two data.pkl", zip_file({"a/data.pkl": _TENSOR, **_WHOLE}), "torch", "either")
    held = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(held, "w") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("archive/data.pkl", _TENSOR)
        archive.writestr("archive/data.pkl", program(call(name("os", "system"), text("true"))))
        archive.writestr("archive/data/0", _NUMBERS)
    yield Attack("the same name twice", held.getvalue(), "torch", "refused")
    yield Attack("encrypted", _patched(whole, central, 8, struct.pack("<H", 1)), "torch", "refused")
    yield Attack(
        "unknown compression",
        _patched(whole, central, 10, struct.pack("<H", 99)),
        "torch",
        "refused",
    )
    yield Attack(
        "compression lzma", _patched(whole, central, 10, struct.pack("<H", 14)), "torch", "refused"
    )
    for what, at in {"compressed": 20, "uncompressed": 24}.items():
        for size in (0, 5, 2**31, 2**32 - 1):
            yield Attack(
                f"{what} size of {size:,}",
                _patched(whole, central, at, struct.pack("<I", size)),
                "torch",
                "either",  # what is not compressed is read by its other size
            )
    yield Attack("wrong checksum", _patched(whole, central, 16, b"\0\0\0\0"), "torch", "refused")
    for offset in (1, 40, 2**31, 2**32 - 1):
        yield Attack(
            f"local header at {offset:,}",
            _patched(whole, central, 42, struct.pack("<I", offset), last=True),
            "torch",
            "refused",
        )
    yield Attack(
        "overlapping members",
        _patched(whole, central, 42, struct.pack("<I", 0), last=True),
        "torch",
        "refused",
    )
    yield Attack("local name differs", _patched(whole, local, 30, b"X"), "torch", "refused")
    yield Attack(
        "central directory elsewhere",
        _patched(whole, end, 16, struct.pack("<I", 2**31)),
        "torch",
        "refused",
    )
    yield Attack(
        "central directory of 4 GB",
        _patched(whole, end, 12, struct.pack("<I", 2**32 - 1)),
        "torch",
        "refused",
    )
    yield Attack("no end record", whole[: whole.rindex(end)], "torch", "refused")
    zip64 = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 2**60, 2**60, 2**60, 2**60)
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, whole.rindex(end), 1)
    yield Attack(
        "zip64 that lies",
        whole[: whole.rindex(end)] + zip64 + locator + whole[whole.rindex(end) :],
        "torch",
        "refused",
    )
    yield Attack(
        "a comment of 64 KB",
        whole[:-2] + struct.pack("<H", 65535) + b"x" * 65535,
        "torch",
        "either",
    )
    crowd = zip_file({**_WHOLE, **{f"archive/data/{i}": b"" for i in range(1, 20_000)}})
    yield Attack("20,001 members", crowd, "torch", "refused")
    yield Attack("a zip in front of a zip", whole + whole, "torch", "either")
    yield Attack("four bytes", b"PK\x03\x04", "torch", "refused")
    yield Attack(
        "plain pickle named .pt", program(call(name("os", "system"), text("true"))), "torch"
    )
    yield Attack("nothing", b"", "torch", "refused")
    for cut in range(0, len(whole), 23):
        yield Attack(f"archive cut after {cut} bytes", whole[:cut], "torch", "refused")


ATTACKS = [replace(attack, name=f"zip: {attack.name}") for attack in _attacks()]
