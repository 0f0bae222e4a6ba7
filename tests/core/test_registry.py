import pickle

import pytest
from rlconnect.core.errors import DuplicateNameError, UnknownNameError
from rlconnect.core.registry import Registry


class Flatten:
    """Something to be registered."""


class Clip:
    """Something else."""


def test_register_then_get_returns_the_very_factory():
    """What was put in under a name comes out under it."""
    registry = Registry[object]("connector")

    returned = registry.register("Flatten", Flatten)

    assert returned is Flatten
    assert registry.get("Flatten") is Flatten


def test_register_decorates_and_leaves_the_class_alone():
    """Used as a decorator it registers and hands the decorated thing back unchanged."""
    registry = Registry[object]("connector")

    @registry.register("Mine")
    class Mine:
        pass

    assert registry.get("Mine") is Mine


def test_same_factory_again_is_harmless():
    """A module imported twice must not fail, so repeating a registration changes nothing."""
    registry = Registry[object]("connector", {"Flatten": Flatten})

    registry.register("Flatten", Flatten)

    assert len(registry) == 1


@pytest.mark.parametrize(
    "register",
    [lambda registry: registry.register("Flatten", Clip), lambda r: r.register("Flatten")(Clip)],
    ids=["call", "decorator"],
)
def test_same_name_for_another_factory_raises_at_once(register):
    """One name never stands for two factories, and the first one survives the attempt."""
    registry = Registry[object]("connector", {"Flatten": Flatten})

    with pytest.raises(DuplicateNameError, match="connector name 'Flatten' is taken") as caught:
        register(registry)

    assert caught.value.name == "Flatten"
    assert "Clip beside" in str(caught.value)
    assert registry.get("Flatten") is Flatten


@pytest.mark.parametrize(
    ("asked", "hint"),
    [("Flaten", "did you mean 'Flatten'?"), ("zzz", "import its module first.")],
)
def test_unknown_name_says_what_to_do(asked, hint):
    """A near miss gets a suggestion; anything else the advice to import its module."""
    registry = Registry[object]("connector", {"Flatten": Flatten, "Clip": Clip})

    with pytest.raises(UnknownNameError) as caught:
        registry.get(asked)

    assert str(caught.value) == (
        f"no connector named {asked!r} among the 2 registered.\n  hint: {hint}"
    )


def test_errors_survive_pickling_with_their_facts():
    """An error raised in a worker process still names the kind, the name and the suggestion."""
    with pytest.raises(UnknownNameError) as caught:
        Registry[object]("connector", {"Flatten": Flatten}).get("Flaten")

    again = pickle.loads(pickle.dumps(caught.value))

    assert (again.kind, again.name, again.suggestion) == ("connector", "Flaten", "Flatten")
    assert str(again) == str(caught.value)


def test_it_reads_like_a_collection_of_sorted_names():
    """Names, iteration, length and membership agree, whatever the order of registration."""
    registry = Registry[object]("connector", {"b": Flatten})
    registry.register("a", Clip)

    assert registry.names() == ("a", "b")
    assert list(registry) == ["a", "b"]
    assert len(registry) == 2
    assert "a" in registry
    assert "c" not in registry
    assert 7 not in registry


def test_the_builtin_table_is_copied():
    """Registering a name does not write into the table that held the built-ins."""
    table = {"Flatten": Flatten}

    Registry[object]("connector", table).register("Clip", Clip)

    assert table == {"Flatten": Flatten}
