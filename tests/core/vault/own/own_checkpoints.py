"""A sound checkpoint of ours, and the tools of one who forges it."""

import hashlib
import json
import os

import numpy as np

DOCUMENT = {
    "config": {"lr": 0.001, "hiddens": [256, 256]},
    "weights": {
        "fc.weight": np.arange(12, dtype=np.float32).reshape(3, 4),
        "fc.bias": np.ones(3, ">f8"),
        "step": np.int64(7),
        "phase": np.array(1 + 2j, np.complex64),
    },
}


def sign(folder, change=lambda manifest: None):
    """Change the manifest and make every checksum fit again, as a forger would."""
    path = folder / "rlconnect.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    for name, entry in manifest["files"].items():
        if (folder / name).is_file():
            data = (folder / name).read_bytes()
            entry.update(size=len(data), sha256=hashlib.sha256(data).hexdigest())
    change(manifest)
    manifest["checksum"] = "0" * 64
    text = json.dumps(manifest).encode()
    digest = hashlib.sha256(text).hexdigest().encode()
    path.write_bytes(text.replace(b"0" * 64, digest, 1))


def put(folder, files):
    """Write files as they are."""
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def with_header(header, body=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def document(*, lr=0.001, fill=1.0, size=1000):
    return {
        "config": {"lr": lr, "hiddens": [256, 256], "gamma": 0.99},
        "weights": {"fc.weight": np.full(size, fill, np.float32), "fc.bias": np.zeros(3)},
    }


def content(folder):
    return {name: (folder / name).read_bytes() for name in sorted(os.listdir(folder))}
