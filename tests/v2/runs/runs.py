"""What runs left in their folders, without what differs from run to run: times and machines."""

import json
import re
import struct

from rlconnect.v2.logging.flat_result import flat

OF_THE_MOMENT = re.compile(
    r"(^|/|_)(time|timer|timers|date|timestamp|pid|hostname|node_ip|seconds|sec|sample|throughput)"
    r"(_|/|$)|_since_|iterations_since|duration_sec|^done$"
)


def curves(folder):
    """The results in a folder, flat, but for times."""
    lines = (folder / "result.json").read_text(encoding="utf-8").splitlines()
    return [
        {name: repr(value) for name, value in flat(json.loads(line)).items()
         if not OF_THE_MOMENT.search(name)}
        for line in lines
    ]  # fmt: skip


def tensorboard_steps(folder):
    """The steps that TensorBoard would show: later files take the place of older ones."""
    found = []
    for file in sorted(folder.glob("events.out.*"), key=lambda each: each.stat().st_mtime_ns):
        data, at = file.read_bytes(), 0
        while at < len(data):
            (size,) = struct.unpack_from("<Q", data, at)
            event = data[at + 12 : at + 12 + size]
            at += size + 16
            fields = dict(_fields(event))
            step = fields.get(2, 0)
            if 7 in fields:
                found = [each for each in found if each < step]
            elif 5 in fields:
                found.append(step)
    return found


def _fields(event):
    """Numbers and lengths of a protocol buffer's fields."""
    at = 0
    while at < len(event):
        key, at = _varint(event, at)
        if key & 7 == 0:
            value, at = _varint(event, at)
        elif key & 7 == 1:
            value, at = None, at + 8
        else:
            value, at = _varint(event, at)
            at += value
        yield key >> 3, value


def _varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at
