"""One door for names: what a file may name is what we have, or what somebody said."""

import os
import sys
import types

import pytest
from rlconnect.core.errors import ConfigError, UnknownClassError
from rlconnect.core.trust import (
    NOTHING,
    Names,
    Slot,
    Trust,
    find,
    resolve,
    together,
)
from rlconnect.core.trust import trust as trusted
from rlconnect.core.trust.arguments import live_arguments
from rlconnect.core.trust.words import PROCESS
from rlconnect.core.vault.decode.standins import GlobalRef, Opaque


class Mine:
    """A user's class."""


class Others:
    """Another one."""


def by_this_name(module, name="Mine"):
    return type(name, (), {"__module__": module, "__qualname__": name})


CLASS = Slot("a class", fits=lambda thing: isinstance(thing, type))
OURS = Slot("one of ours", table={"rlconnect.Ours": Others}.get)


@pytest.mark.parametrize(
    "name",
    [
        f"{__name__}.Mine",
        f"{__name__}:Mine",
        "elsewhere.Mine",
        "Mine",
        "__main__.train.<locals>.Mine",
    ],
)
@pytest.mark.parametrize("words", [[Mine], (Mine, Others), {Mine}, Mine, {"Mine": Mine}])
def test_a_class_is_found_by_any_of_its_names(name, words):
    """Dotted, with a colon, moved to another module, or bare."""
    assert Trust.of(words).find(name) is Mine


@pytest.mark.parametrize("name", ["os.system", "Theirs", "", "a.Mine.b", "Mine2"])
def test_other_names_mean_nothing(name):
    """Nothing but what was given is found, loaded or not."""
    assert Trust.of([Mine]).find(name) is None
    assert resolve_or_none(name) is None


def resolve_or_none(name):
    return find(name, CLASS, Trust.of([Mine]))


def test_two_of_one_name_are_told_apart_by_their_modules():
    """The bare name of two classes means neither; the whole one means one."""
    first, second = by_this_name("first"), by_this_name("second")
    words = Trust.of([first, second])

    assert words.find("third.Mine") is None
    assert words.find("first.Mine") is first
    assert words.find("second:Mine") is second


def test_a_class_defined_again_takes_the_place_of_the_first():
    """A notebook's cell may run twice."""
    first, again = by_this_name("notebook"), by_this_name("notebook")
    words = Trust.of([first, again])

    assert words.find("notebook.Mine") is again
    assert words.find("elsewhere.Mine") is again


@pytest.mark.parametrize("words", ["os.system", [3], 7, [object()]])
def test_words_are_classes_and_functions(words):
    """Text is what files have; a caller gives the thing itself, or a name for it."""
    with pytest.raises(ConfigError, match="trust="):
        Trust.of(words)


def test_words_add_up():
    """Of two ways to say it both count, the first before the second."""
    both = Trust.of({"a.B": Mine}) | Trust.of({"a.B": Others, "c.D": Others})

    assert both.find("a.B") is Mine
    assert both.find("c.D") is Others
    assert (NOTHING | both) is both
    assert not NOTHING


def test_what_is_loaded_is_not_found(monkeypatch):
    """Neither a module's function nor a class that lies ready in `sys.modules`."""
    module = types.ModuleType("victim")
    module.Piece = by_this_name("victim", "Piece")
    monkeypatch.setitem(sys.modules, "victim", module)

    for name in ("victim.Piece", "os.system", "builtins.exec", "subprocess.Popen"):
        with pytest.raises(UnknownClassError, match=name.rpartition(".")[2]):
            resolve(name, Slot("anything"))


def test_what_does_not_fit_its_slot_is_not_found():
    """A function in the place of a class is unknown there, even where the caller gave it."""
    assert find("os.getcwd", CLASS, Trust.of([os.getcwd])) is None
    assert find("rlconnect.Ours", CLASS) is None
    assert find("rlconnect.Ours", OURS) is Others


def test_words_go_before_our_own_table():
    """Who passes a class of the same name means that one."""
    assert find("rlconnect.Ours", OURS, Trust.of({"rlconnect.Ours": Mine})) is Mine


def test_trusted_for_the_process(monkeypatch):
    """A decorated class is found without another word, but never in place of one of ours."""
    monkeypatch.setattr(PROCESS, "_alone", {})
    monkeypatch.setattr(PROCESS, "_short", {})
    mine = trusted(by_this_name("user", "Ours"))

    assert find("user.Ours", OURS) is mine
    assert find("rlconnect.Ours", OURS) is Others


def test_one_error_names_all_that_is_missing():
    """Each name with where it stands; the call that would let them in; facts to work with."""
    names = Names()
    stand_ins = [names.find("a.Piece", CLASS), names.find("b.fn", Slot("a function"))]

    with pytest.raises(UnknownClassError) as caught:
        names.check("load")
    assert stand_ins == [GlobalRef("a", "Piece"), GlobalRef("b", "fn")]
    assert caught.value.missing == ["a.Piece", "b.fn"]
    assert caught.value.class_name == "a.Piece"
    assert "a function" in str(caught.value)
    assert "load(..., trust=[Piece, fn])" in caught.value.hint


def test_steps_miss_things_together():
    """What several loads miss is one error; with nothing missing, their results."""

    def missing(name):
        return lambda: resolve(name, CLASS)

    assert together(lambda: 1, lambda: 2) == [1, 2]
    with pytest.raises(UnknownClassError) as caught:
        together(missing("a.A"), lambda: 2, missing("b.B"))
    assert caught.value.missing == ["a.A", "b.B"]


def test_arguments_are_looked_up_and_never_called():
    """Names in them by the caller's words; objects of classes are no classes; the rest is data."""
    names = Names(Trust.of([Mine, os.getcwd]))
    held = {"cls": GlobalRef("x", "Mine"), "deep": [(GlobalRef(os.__name__, "getcwd"),)], "n": 3}
    device = Opaque(GlobalRef("torch", "device"), ("cuda", 1))

    made = live_arguments({**held, "device": device}, names)

    assert made["cls"] is Mine
    assert callable(made["deep"][0][0])
    assert (made["n"], made["device"]) == (3, "cuda:1")
    names.check()
    live_arguments([Opaque(GlobalRef("x", "Mine"), (1,)), GlobalRef("os", "system")], names)
    assert list(names.missing) == ["x.Mine", "os.system"]
