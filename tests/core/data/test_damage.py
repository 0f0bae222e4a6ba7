"""What stumbles over a file's data is damage with its place; what is a user's stays theirs."""

import pickle
from pathlib import Path
from types import FunctionType

import pytest
import torch
from rlconnect.core.data.damage import at, calling
from rlconnect.core.errors import (
    ConfigError,
    CorruptCheckpointError,
    LimitExceededError,
    SpaceError,
    WeightsError,
)
from rlconnect.core.vault import open_checkpoint

GOLDEN = Path(__file__).parents[2] / "golden"
RECORDED = GOLDEN / "recordings/legacy/2.60.0/ppo_cartpole/algo_checkpoint"


def in_module(function, name):
    """The function as if it stood in another module."""
    named = {**globals(), "__name__": name}
    return FunctionType(function.__code__, named, closure=function.__closure__)


def told(function, *steps):
    """What becomes of an error in our own code within a boundary."""

    def run():
        with at(*steps):
            return function()

    function = in_module(function, "rlconnect.somewhere")
    try:
        return in_module(run, "rlconnect.somewhere")()
    except Exception as error:
        return error


def test_places_are_joined_from_the_outside_in():
    """An error names the way to the data, however many boundaries it passed."""

    def read():
        with at("learner_group"), at("optimizer", 3):
            return {}["exp_avg"]

    error = told(read, "algorithm_state.pkl")

    assert isinstance(error, CorruptCheckpointError)
    assert error.place == "algorithm_state.pkl > learner_group > optimizer > 3"
    assert error.summary.startswith(f"{error.place}: this is damaged")
    assert "'exp_avg'" in error.summary
    assert isinstance(error.__cause__, KeyError)
    assert pickle.loads(pickle.dumps(error)).summary == error.summary


@pytest.mark.parametrize(
    ("stumble", "kind"),
    [
        (lambda: [][1], CorruptCheckpointError),
        (lambda: None + 1, CorruptCheckpointError),
        (lambda: None.x, CorruptCheckpointError),
        (lambda: int("x"), CorruptCheckpointError),
        (lambda: 2.0**5000, CorruptCheckpointError),
        (lambda: "\ud800".encode(), CorruptCheckpointError),
        (lambda: torch.zeros(2) @ torch.zeros(3), CorruptCheckpointError),
        (lambda: bytearray(2**62), LimitExceededError),
    ],
    ids=["index", "type", "attribute", "value", "overflow", "unicode", "torch", "memory"],
)
def test_stumbles_of_all_kinds_are_ours(stumble, kind):
    """Python's and torch's errors become ours, with the cause kept."""
    error = told(stumble, "here")

    assert type(error) is kind
    assert error.place == "here"
    assert error.__cause__ is not None


def test_errors_of_ours_keep_their_kind():
    """A typed error passes as it is, with the place in front."""
    with (
        pytest.raises(WeightsError, match=r"^model > out: no fit") as caught,
        at("model"),
        at("out"),
    ):
        raise WeightsError("no fit", expected="2", found="3")
    assert caught.value.expected == "2"

    with pytest.raises(SpaceError, match=r"^plain"), at():
        raise SpaceError("plain")


def test_what_is_no_damage_passes():
    """Warnings made errors, missing modules, the disk's own errors and interrupts stay."""
    for error in (UserWarning(), ImportError(), OSError(), KeyboardInterrupt()):
        with pytest.raises(type(error)), at("state"):
            raise error


def test_errors_of_users_code_stay_theirs():
    """What is raised in code that is neither ours nor of a library below us is not rebranded."""

    def failing():
        raise KeyError("mine")

    theirs = in_module(failing, "their_module")

    assert type(told(lambda: theirs(), "state")) is KeyError
    assert type(told(failing, "state")) is CorruptCheckpointError


def test_calls_that_a_users_function_does_not_take_are_theirs():
    """A wrong signature raises in our line; whose function it is decides."""

    def takes_nothing():
        pass

    def build():
        with calling(called):
            called(1, 2)

    called = takes_nothing
    called.__module__ = "their_module"
    assert type(told(build, "state")) is TypeError
    called.__module__ = "rlconnect.somewhere"
    assert type(told(build, "state")) is CorruptCheckpointError


def test_a_place_shows_no_control_characters():
    """Names in files cannot act on a terminal through an error, nor fill it."""

    def read():
        raise ValueError("\x1b[31mred\x1b[0m" * 100)

    error = told(read, "\x1b[2J", "n" * 1000)

    assert "\x1b" not in str(error)
    assert len(str(error)) < 700


def test_arguments_of_the_caller_are_no_damage(tmp_path):
    """What a loader was called with is told as Python tells it; what a file holds is damage."""

    def call():
        told(nothing=1)

    def open_none():
        with open(None):
            pass

    for wrong in (call, open_none):
        assert type(told(wrong)) is TypeError
        assert type(told(wrong, "arguments")) is CorruptCheckpointError
    with pytest.raises(TypeError, match="PathLike"):
        open_checkpoint(None)
    with pytest.raises(TypeError, match="nothing"):
        open_checkpoint(RECORDED, nothing=1)


def test_a_place_that_the_message_names_is_told_once():
    """An error about policy 'x' of a file reads no "policy 'x': policy 'x' has lost ..."."""

    def fails():
        with at("file.pkl"), at("policy 'x'"):
            raise ConfigError("policy 'x' has lost its spaces")

    with pytest.raises(ConfigError) as caught:
        fails()

    assert str(caught.value) == "file.pkl: policy 'x' has lost its spaces"
    assert caught.value.place == "file.pkl > policy 'x'"
