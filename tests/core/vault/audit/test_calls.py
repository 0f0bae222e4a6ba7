"""What the trace of a pickle amounts to: calls, names, and where they lie."""

import dataclasses
import functools
import importlib
import operator
import os
import pickle
import subprocess
import types
from collections import UserDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Optional, Union

import pytest
from rlconnect.core.errors import CheckpointError
from rlconnect.core.vault.audit.calls import calls_of, unsafe_calls
from rlconnect.core.vault.decode.constructors import CONSTRUCTORS
from rlconnect.core.vault.decode.load_limits import DEFAULT_LIMITS, Budget
from rlconnect.core.vault.decode.pickle_machine import PickleMachine, Trace

cloudpickle = pytest.importorskip("cloudpickle")


class Call:
    """Pickles as a call of a function."""

    def __init__(self, function, *args):
        self.pair = function, args

    def __reduce__(self):
        return self.pair

    def __call__(self):
        """Pickle takes only what can be called for a function."""


def traced(data):
    """The trace of a pickle and what came out, None where it is damaged."""
    trace, value = Trace(), None
    try:
        machine = PickleMachine(
            data, Budget(DEFAULT_LIMITS, len(data)), constructors=CONSTRUCTORS, trace=trace
        )
        value = machine.load()
    except CheckpointError:
        pass
    return trace, value


def runners(data):
    """Names of what would run programs."""
    return [call.name for call in unsafe_calls(*traced(data), "f.pkl")]


def test_a_call_is_told_with_its_arguments_and_place():
    """A page needs what, with which arguments, how often and where."""
    data = pickle.dumps({"weights": [1], "config": {"env": Call(os.system, "touch x")}})

    (found,) = unsafe_calls(*traced(data), "state.pkl")

    assert (found.name, found.how, found.count) == (f"{os.name}.system", "called", 1)
    assert found.arguments == "'touch x'"
    assert found.where == "state.pkl: config/env"
    assert str(found) == "posix.system('touch x') (runs programs) in state.pkl: config/env"


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("tensorflow.compat.v1", False),
        ("my_code", True),
        ("tensorflow/../x", True),
        (b"torch", True),
    ],
)
def test_only_libraries_of_rllib_are_imported_without_alarm(name, runs):
    """TensorFlow policies of old Rays import it for their code; a module of anybody else runs."""
    assert bool(runners(pickle.dumps(Call(importlib.import_module, name)))) is runs


@pytest.mark.parametrize(
    "value",
    [
        Call(map, os.system, ["x"]),
        Call(functools.partial, os.system, "x"),
        Call(functools.reduce, os.system, ["x"]),
        {"callbacks": os.system},
        Call(operator.attrgetter, "system"),
        Call(operator.methodcaller, "system", "x"),
        pytest.param(  # without torch, another function has this name: see conftest.py
            Call(getattr, Call(__import__, "os"), "system"), marks=pytest.mark.torch
        ),
        Call(getattr, Call(list, "ab"), "__class__"),
        Call(getattr, dict, "__subclasses__"),
        Call(exec, "1"),
        Call(pickle.loads, b"."),
    ],
)
def test_indirect_calls_are_runners(value):
    """A runner handed to something that calls it, and attributes by name, count as calls."""
    assert runners(pickle.dumps(value))


@pytest.mark.parametrize(
    "data",
    [
        b"cos\nsystem\n0}.",  # named and dropped
        b"cos\nsystem\n(S'x'\ntR0}.",  # called and dropped
        b"cos\nsystem\n(S'x'\ntRgarbage",  # called, then damage
        b"(S'ls'\nios\nsystem\n.",
        b"(cos\nsystem\nS'ls'\no.",
        b"c__builtin__\nexec\n(S'1'\ntR.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85\x81.",
        b"cbuiltins\ndict\n}S'fromkeys'\nI1\nsb.",  # state set on a live class
        b"ccopyreg\n_reconstructor\n(csubprocess\nPopen\nc__builtin__\nobject\nNtR.",
    ],
)
def test_calls_that_leave_nothing_behind_are_told(data):
    """An unpickler calls as it goes: what is dropped, damaged later or patched counts."""
    assert runners(data)


def test_calling_a_function_from_the_file_is_a_runner():
    """Code by value that the pickle itself calls runs on opening, whatever it names."""
    data = cloudpickle.dumps(Call(lambda: 1))

    assert runners(data)


def honest_function():
    """A function that would run a program if somebody called it."""
    return os.system("x")


honest_function.__module__ = "__main__"


@pytest.mark.parametrize(
    "value",
    [
        {"mapping": lambda agent: agent, "run": honest_function},
        {"cls": type("Own", (dict,), {"__module__": "__main__", "f": lambda self: os.getcwd()})},
        [Call(getattr, dict, "fromkeys"), print],
    ],
)
def test_code_of_an_author_is_no_runner(value):
    """Functions and classes by value are told as their author's, what they import as well."""
    trace, decoded = traced(cloudpickle.dumps(value))

    assert unsafe_calls(trace, decoded, "f.pkl") == []
    assert {"author", "unknown", "rebuilding"} >= {c.kind for c in calls_of(trace, decoded, "f")}


class Hinted:
    """A class with type hints that name what starts threads."""

    pool: Optional[ThreadPoolExecutor] = None  # noqa: UP045
    pools: list[ThreadPoolExecutor]

    def run(self, a: ThreadPoolExecutor | None, f: Callable[[ThreadPoolExecutor], None]):
        """Do nothing."""


Hinted.__module__ = "__main__"


@dataclasses.dataclass
class Settings:
    """Fields whose types name what runs programs."""

    process: Optional[subprocess.Popen] = None  # noqa: UP045
    pool: ThreadPoolExecutor = None

    def chosen(self, agent, *args):
        """Map agents to policies."""


Settings.__module__ = "__main__"
Settings.chosen.__module__ = "__main__"


@pytest.mark.parametrize(
    "value",
    [
        {"algorithm_class": Hinted},
        {"env_config": Settings},
        {"env_config": Settings()},
        {"policy_mapping_fn": Settings().chosen},
        {"state": object.__getstate__ if hasattr(object, "__getstate__") else 1},
        {"state": Call(getattr, Call(UserDict), "__getstate__")},
    ],
)
def test_names_in_type_hints_and_getstate_are_listed_not_called(value):
    """Checkpoints that pickle an Algorithm by value are safe: loading calls none of these."""
    trace, decoded = traced(cloudpickle.dumps(value))

    assert unsafe_calls(trace, decoded, "f.pkl") == []
    assert calls_of(trace, decoded, "f.pkl")


@pytest.mark.parametrize(
    "value",
    [
        {"data": Optional[ThreadPoolExecutor]},  # noqa: UP045
        {"callbacks": Call(operator.getitem, os.system, "x")},
        Call(functools.reduce, operator.call if hasattr(operator, "call") else map, (os.system,)),
        {"f": Call(getattr, Call(getattr, Call(UserDict), "__getstate__"), "__self__")},
        Call(getattr, Call(importlib.import_module, "os"), "__getstate__"),
        [Hinted, Call(os.system, "x")],
        [Settings, Call(subprocess.Popen, "x")],
        Call(types.MethodType, os.system, "x"),
        Call(Call(types.MethodType, honest_function, "x")),
        Call(list, Call(map, Call(types.MethodType, honest_function, "x"), [1])),
        Call(list, Call(map, honest_function, [1])),
        Call(sorted, [1, 2], honest_function),
        [Hinted, Call(map, ThreadPoolExecutor, [1])],
        [Hinted, Call(map, Call(operator.getitem, Union, (ThreadPoolExecutor, int)), [1])],
    ],
)
def test_what_is_used_outside_type_hints_stays_unsafe(value):
    """A name in plain data or among the arguments of a call may be called, hint or not."""
    assert runners(cloudpickle.dumps(value))
