"""A converted copy holds no pickle, every array bit for bit, and opens as its source does."""

import json

import numpy as np
import pytest
import rlconnect
from rlconnect.core.errors import CheckpointWriteError, MissingPartError, UnknownNameError
from rlconnect.core.vault import convert as converting
from rlconnect.core.vault.convert import convert
from rlconnect.core.vault.own.writer import save_folder

from .recorded import MULTI_AGENT, NEW_ALGORITHM, PENDULUM, RECORDINGS, WORKER, copy_of, weights_of

PICKLES = (".pkl", ".pickle", ".msgpack", ".msgpck", ".pt")


@pytest.mark.parametrize("name", [PENDULUM, MULTI_AGENT, WORKER, NEW_ALGORITHM, "new/2.60.0-pipe"])
@pytest.mark.parametrize("ending", ["", ".zip"])
def test_a_copy_holds_every_array_and_no_pickle(name, ending, tmp_path):
    """Of every stack, as a folder and as one file."""
    source, out = RECORDINGS / name, tmp_path / f"copy{ending}"

    found = convert(source, out)

    before, after = weights_of(source), weights_of(out)
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[key], after[key], equal_nan=True) for key in before)
    assert [p.name for p in tmp_path.rglob("*") if p.suffix in PICKLES] == []
    assert rlconnect.audit(out).calls == ()
    assert found.arrays >= len(before)
    assert [p.name for p in tmp_path.iterdir()] == [out.name]


def test_only_the_policies_asked_for_are_written(tmp_path):
    """Several of many, and an error that lists them where a name is wrong."""
    names = list(rlconnect.open_checkpoint(RECORDINGS / MULTI_AGENT).acting)

    found = convert(RECORDINGS / MULTI_AGENT, tmp_path / "one", policies=names[:1])

    assert found.names == tuple(names[:1])
    assert list(rlconnect.open_checkpoint(tmp_path / "one").acting) == names[:1]
    with pytest.raises(UnknownNameError, match="nobody"):
        convert(RECORDINGS / MULTI_AGENT, tmp_path / "two", policies=["nobody"])


def test_what_runs_programs_is_left_out_and_told(tmp_path):
    """The copy of a hostile file is clean; what it would have run stands in the list."""
    path = copy_of(NEW_ALGORITHM, tmp_path)
    file = next(path.rglob("class_and_ctor_args.pkl"))
    data = file.read_bytes()
    file.write_bytes(data[:2] + b"cos\nsystem\n(S'x'\ntR0" + data[2:])

    found = convert(path, tmp_path / "copy")

    assert any("os.system('x')" in problem.what for problem in found.not_kept)
    assert rlconnect.audit(tmp_path / "copy").calls == ()
    assert rlconnect.open_checkpoint(tmp_path / "copy").unsafe == ()


def test_a_copy_that_differs_is_not_put_in_place(tmp_path, monkeypatch):
    """One changed bit in what was written, and nothing lies at the path afterwards."""

    def spoilt(path, document, **options):
        def change(value):
            if isinstance(value, np.ndarray) and value.dtype == np.float32 and value.size:
                value = value.copy()
                value.reshape(-1).view(np.uint32)[0] ^= 1
            elif isinstance(value, dict):
                value = {key: change(part) for key, part in value.items()}
            return value

        save_folder(path, change(document), **options)

    monkeypatch.setattr(converting, "save_folder", spoilt)

    with pytest.raises(CheckpointWriteError, match="differs"):
        convert(RECORDINGS / NEW_ALGORITHM, tmp_path / "copy")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_replaced(tmp_path):
    """A folder that is there stays as it is."""
    (tmp_path / "copy").mkdir()

    with pytest.raises(CheckpointWriteError, match="something lies there"):
        convert(RECORDINGS / PENDULUM, tmp_path / "copy")


def test_a_changed_document_is_refused(tmp_path):
    """Each part of a copy has its checksum."""
    convert(RECORDINGS / NEW_ALGORITHM, tmp_path / "copy")
    files = list((tmp_path / "copy").rglob("module_state.rlconnect/document.json"))
    for file in files:
        data = bytearray(file.read_bytes())
        data[-3] ^= 1
        file.write_bytes(data)

    problems = rlconnect.open_checkpoint(tmp_path / "copy").problems

    assert any(problem.kind == "damaged" for problem in problems)


def test_converting_nothing_is_an_error(tmp_path):
    """A checkpoint without policies or parts says so."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/rllib_checkpoint.json").write_text(
        json.dumps({"type": "Algorithm"}), encoding="utf-8"
    )

    with pytest.raises(MissingPartError):
        convert(tmp_path / "a", tmp_path / "copy")


@pytest.mark.parametrize("ending", ["", ".zip"])
def test_what_appears_meanwhile_is_not_replaced(tmp_path, ending, monkeypatch):
    """Something that another process put at `out` stays; nothing is left beside it."""
    out = tmp_path / f"copy{ending}"
    compare = converting._compare

    def slowly(*args):
        out.write_text("mine", encoding="utf-8")
        return compare(*args)

    monkeypatch.setattr(converting, "_compare", slowly)

    with pytest.raises(CheckpointWriteError):
        convert(RECORDINGS / PENDULUM, out)

    assert out.read_text(encoding="utf-8") == "mine"
    assert [p.name for p in tmp_path.iterdir()] == [out.name]
