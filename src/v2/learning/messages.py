"""Messages between our own processes: what is large in them lies in memory that both have.

The sender copies arrays and tensors there once; the receiver looks at them where they are, or
copies them out if they are to last beyond the next message.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import tempfile
from collections.abc import Iterable
from typing import Any, Final

import torch
from cloudpickle import Pickler  # type: ignore[import-untyped]  # it has no types
from typing_extensions import override

_ALIGNED: Final = 64


class SharedPages:
    """Memory for the messages of one sender.

    Args:
        file: The descriptor of the sender's, in the process of a receiver; None makes new memory.

    Example:
        >>> sender = SharedPages()
        >>> receiver = SharedPages(os.dup(sender.file))
        >>> receiver.unpacked(sender.packed({"obs": torch.arange(3)}))
        {'obs': tensor([0, 1, 2])}
    """

    def __init__(self, file: int | None = None) -> None:
        self.file: Final = _new_file() if file is None else file
        self._map: mmap.mmap | None = None

    def __del__(self) -> None:
        os.close(self.file)

    def packed(self, thing: Any, *, is_lent: bool = False) -> bytes:
        """Put what is large into the memory; what was there before is overwritten.

        Args:
            thing: Anything that cloudpickle takes.
            is_lent: Whether the receiver looks at it only until the next message.

        Returns:
            What to send.
        """
        body, pieces = flattened(thing)
        spans, end = [], 0
        for piece in pieces:
            spans.append((end, end + piece.nbytes))
            end += -(-piece.nbytes // _ALIGNED) * _ALIGNED
        if end and (self._map is None or len(self._map) < end):
            size = -(-max(end, 2 * len(self._map or b"")) // mmap.PAGESIZE) * mmap.PAGESIZE
            os.ftruncate(self.file, size)
            self._map = mmap.mmap(self.file, size)
        if self._map is not None:
            with memoryview(self._map) as memory:
                for (start, stop), piece in zip(spans, pieces, strict=True):
                    memory[start:stop] = piece
        return pickle.dumps((len(self._map or b""), spans, is_lent, body))

    def unpacked(self, message: bytes) -> Any:
        """What somebody has sent."""
        size, spans, is_lent, body = pickle.loads(message)
        if size and (self._map is None or len(self._map) < size):
            self._map = mmap.mmap(self.file, size)
        memory = memoryview(self._map or b"")
        pieces = [memory[start:stop] for start, stop in spans]
        return restored(body, pieces, is_lent=is_lent)


def flattened(thing: Any) -> tuple[bytes, list[memoryview]]:
    """A thing as bytes, and what is large in it where it lies."""
    buffers: list[pickle.PickleBuffer] = []
    body = io.BytesIO()
    _Pickler(body, protocol=5, buffer_callback=buffers.append).dump(thing)
    return body.getvalue(), [buffer.raw() for buffer in buffers]


def restored(body: bytes, pieces: Iterable[Any], *, is_lent: bool = False) -> Any:
    """What `flattened` was given.

    Args:
        body: Its bytes.
        pieces: What was large in it.
        is_lent: Whether it may look at these where they are; else they are copied.
    """
    return pickle.loads(body, buffers=pieces if is_lent else [*map(bytearray, pieces)])


class _Pickler(Pickler):  # type: ignore[misc]  # as above
    """Leaves out the numbers of tensors, as pickle itself does with those of arrays."""

    @override
    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is not torch.Tensor or obj.requires_grad or obj.layout is not torch.strided:
            return super().reducer_override(obj)
        numbers: Any = obj.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
        return _tensor, (pickle.PickleBuffer(numbers), obj.dtype, obj.shape)


def _tensor(numbers: Any, dtype: torch.dtype, shape: torch.Size) -> torch.Tensor:
    if not len(memoryview(numbers)):
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(numbers, dtype=dtype).reshape(shape)


def _new_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("rlconnect")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
