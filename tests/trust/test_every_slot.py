"""Gadgets in slots of files, drawn from the whole product; `make slots` carries all of it out."""

import json
from pathlib import Path

import pytest

from tests import warm

ROOT = Path(__file__).parents[2]


def test_a_gadget_in_a_slot_does_nothing():
    """Under an audit hook that sees what a control does, no loader does anything of the kind."""
    pytest.importorskip("torch")
    code = "import sys; from tests.trust.every_slot import main; sys.exit(main())"

    done = warm.run(["-c", code, "--count", "16", "--recorded"], ROOT)

    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["seen_by_control"] >= 2
    assert told["values"] + told["typed"] + told.get("foreign", 0) >= 12
