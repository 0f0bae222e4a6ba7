"""Mutations are small, known by what they are rather than where, and drawn by a seed."""

import ast

import pytest

from tests.house.mutate import in_order, known_equal
from tests.house.mutations import mutations, sample

METHOD = "class A:\n    def f(self, x, y):\n        {}\n"


def mutated(line):
    """Kind and text of each mutation of a line in a method."""
    source = METHOD.format(line)
    return {
        (each.kind, each.applied(source).splitlines()[2].strip()) for each in mutations(source, "m")
    }


@pytest.mark.parametrize(
    ("line", "kind", "after"),
    [
        ("y = x < 3", "comparison", "y = x <= 3"),
        ("y = x is None", "comparison", "y = x is not None"),
        ("y = x - y", "arithmetic", "y = x + y"),
        ("x += y", "arithmetic", "x -= y"),
        ("y = x and y", "and, or", "y = (x) or (y)"),
        ("y = not x", "not", "y = (x)"),
        ("y = 3", "constant", "y = 4"),
        ("y = True", "constant", "y = False"),
        ("if x: y = x", "condition", "if not (x): y = x"),
        ("y = x if y else x", "condition", "y = x if not (y) else x"),
        ("return x", "return", "return None"),
        ("x.append(y)", "statement", "pass"),
        ("self.x = y", "statement", "pass"),
        ("raise KeyError('1 + 1')", "statement", "pass"),
        ("while x: break", "loop", "while x: continue"),
    ],
)
def test_each_kind_of_mistake_is_made(line, kind, after):
    """One edit, and the rest of the line as it stood."""
    assert (kind, after) in mutated(line)


@pytest.mark.parametrize(
    "line",
    [
        "y: 'int | None' = x",
        "raise KeyError(f'{x + 1}', 1)",
        "y = f'{x + 1}'",
        "return None",
        "y = x + '!'",
    ],
)
def test_words_and_types_are_left_alone(line):
    """Annotations, texts and what errors say are no behaviour of numbers."""
    assert {kind for kind, _ in mutated(line)} <= {"statement"}


def test_every_mutation_is_a_program():
    """The edited text can be parsed and differs, letters beyond ASCII before it or not."""
    source = METHOD.format("y = 'é' if x == 1 else [n for n in range(2) if not n and x]; return y")

    for each in mutations(source, "m"):
        assert ast.dump(ast.parse(each.applied(source))) != ast.dump(ast.parse(source))


def test_a_sample_stays_when_files_move():
    """The same functions in other modules, at other lines and in other order: the same sample."""
    lines = [f"def f{n}(x):\n    return x + {n} > 0 and not x\n" for n in range(20)]
    one = mutations("".join(lines), "a.b")
    other = mutations("# moved\n" + "".join(reversed(lines)), "c")

    names = [each.name for each in sample(one, 10, seed=1)]

    assert names == [each.name for each in sample(other, 10, seed=1)]
    assert len(set(names)) == 10


def test_what_is_known_to_be_equal_is_not_drawn():
    """Another mutation of the same function may come instead."""
    every = list(mutations("def f(x):\n    return x + 1\n", "m"))
    names = {each.name for each in every}

    left = sample(every, 10, seed=1, left_out=[min(names)])

    assert {each.name for each in left} == names - {min(names)}


def test_reasons_are_given():
    """An entry of the list of equal ones is a name in four parts and some words."""
    for name, reason in known_equal().items():
        assert len(name.split(" | ")) == 4, name
        assert len(reason.split()) > 3, name


def test_near_tests_come_first():
    """The mirrored file, then its layer, then the others; readers of sources never."""
    mutation = next(mutations("def narrowed(x):\n    return x\n", "v2.common.tensor"))
    files = {
        "tests/core/test_nest.py": "",
        "tests/house/test_rooms.py": "narrowed",
        "tests/v2/common/test_tensor.py": "",
        "tests/v2/test_other.py": "",
        "tests/v2/test_user.py": "narrowed(x)",
    }

    assert in_order(mutation, files) == [
        ["tests/v2/common/test_tensor.py", "tests/v2/test_user.py"],
        ["tests/v2/test_other.py"],
        ["tests/core/test_nest.py"],
    ]
