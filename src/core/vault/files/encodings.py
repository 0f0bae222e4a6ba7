"""How a file of a checkpoint is written, by the ending of its name."""

from __future__ import annotations

from typing import Final

ENCODINGS: Final = {
    ".pkl": "pickle",
    ".pickle": "pickle",
    ".msgpack": "msgpack",
    ".msgpck": "msgpack",
    ".pt": "torch",
    ".pth": "torch",
    ".rlconnect": "rlconnect",  # a folder in our own format in place of a file
}
