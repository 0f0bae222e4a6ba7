"""The shortest piece of a page's code that shows a name in use: what leads up to it, and no more.

A page's blocks run in the tests one after the other and share their names, and so do the prompts of
a file in `in_use`, which is where names are used that no page is about. `excerpts()` takes of them,
for each public name, a statement that uses it and those before it that the statement needs.
"""

import ast
import doctest
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from .blocks import PAGES, PARTS, fences

IN_USE = sorted((Path(__file__).parent / "in_use").glob("*.txt"))
SAMPLE = "ppo-pendulum-ray-2.7"
LONGEST = 40  # lines of an excerpt
IMPORTS = (ast.Import, ast.ImportFrom)
DEFINED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
BLOCKS = (*DEFINED, ast.For, ast.With, ast.If, ast.Try, ast.While)


class Statement(NamedTuple):
    """One statement of a page, and what it has to do with names."""

    source: str
    shown: str | None  # what a prompt answers; None where there is no prompt
    node: ast.stmt
    sets: frozenset[str]
    changes: frozenset[str]
    needs: frozenset[str]


class Excerpt(NamedTuple):
    """Code that shows a name in use, and the page it is from, if it is from one."""

    page: str | None
    kind: str
    code: str


def statements(blocks):
    """Those of blocks of Python, in order."""
    found = []
    for kind, options, code in blocks:
        if kind == "pycon":
            for each in doctest.DocTestParser().get_examples(code):
                body = ast.parse(each.source).body
                found += [_statement(each.source, each.want, node) for node in body]
        elif kind == "python" and "title=" not in options:
            lines = code.splitlines(keepends=True)
            for node in ast.parse(code).body:
                first = min([node.lineno, *(e.lineno for e in getattr(node, "decorator_list", []))])
                source = "".join(lines[first - 1 : node.end_lineno])
                found.append(_statement(source, None, node))
    modules = set().union(*(e.sets for e in found if isinstance(e.node, IMPORTS)))
    return [each._replace(changes=each.changes - modules) for each in found]


def _statement(source, shown, node):
    own = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    own |= {each.name for each in ast.walk(node) if isinstance(each, ast.ExceptHandler)}
    names = [e for e in ast.walk(node) if isinstance(e, ast.Name)]
    loops = [each.target for each in ast.walk(node) if isinstance(each, ast.comprehension)]
    own |= {e.id for target in loops for e in ast.walk(target) if isinstance(e, ast.Name)}
    if isinstance(node, DEFINED):
        own |= {each.id for each in names if isinstance(each.ctx, ast.Store)}
    names = [each for each in names if each.id not in own]
    sets = {each.id for each in names if isinstance(each.ctx, ast.Store)}
    if isinstance(node, IMPORTS):
        sets |= {(each.asname or each.name).partition(".")[0] for each in node.names}
    elif isinstance(node, DEFINED):
        sets = {node.name}
    changed = [
        each.value
        for each in ast.walk(node)
        if isinstance(each, (ast.Attribute, ast.Subscript)) and isinstance(each.ctx, ast.Store)
    ]
    is_done = sets == {"_"} or (isinstance(node, (ast.Expr, ast.For, ast.With)) and not shown)
    if is_done:  # for what it does, not for what comes of it: to what it is called on or given
        calls = [e for e in ast.walk(node) if isinstance(e, ast.Call)]
        calls = [] if ast.unparse(node).startswith("print(") else calls
        changed += [call.func for call in calls]
        given = [e for call in calls for e in (*call.args, *(word.value for word in call.keywords))]
        changed += [e for each in given for e in getattr(each, "elts", [each])]
    changes = {_root(each) for each in changed} - {"print", ""} - own
    needs = {each.id for each in names if isinstance(each.ctx, ast.Load)} | changes
    needs |= _places(node)
    changes |= _places(node) if is_done and calls else set()
    return Statement(source, shown, node, *map(frozenset, (sets, changes, needs)))


def _places(node):
    """What lies beside the reader that a statement speaks of: the first parts of paths."""
    words = {e.value for e in ast.walk(node) if isinstance(e, ast.Constant) and e.value}
    paths = {each.partition("/")[0] for each in words if isinstance(each, str) and " " not in each}
    return {f"./{each}" for each in paths - {SAMPLE, "examples", "default_policy"}}


def _root(node):
    """The name that an expression begins with."""
    while not isinstance(node, ast.Name):
        node = next(iter(ast.iter_child_nodes(node)), None)
        if node is None:
            return ""
    return node.id


def shown_in(found):
    """(front, name, number of the statement) of what a page's statements use of rlconnect's."""
    homes = {}
    for number, each in enumerate(found):
        if isinstance(each.node, ast.ImportFrom) and (each.node.module or "").startswith("rlconn"):
            homes |= {n.asname or n.name: (each.node.module, n.name) for n in each.node.names}
            continue
        if isinstance(each.node, ast.Import):
            homes |= {n.asname or n.name: (n.name, "") for n in each.node.names}
            continue
        for node in ast.walk(each.node):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in homes:
                yield (*homes[node.id], number)
            elif isinstance(node, ast.Attribute):
                home = ".".join(p for p in homes.get(_root(node.value), ()) if p)
                if home and ast.unparse(node.value) in (_root(node.value), home):
                    yield home, node.attr, number


def excerpt(page, found, last):
    """Statement `last` of a page with all that it needs; and what is then done with its result."""
    taken, result = {last}, found[last].sets
    for number in range(last + 1, min(last + 4, len(found))):  # until something is shown of it
        if found[max(taken)].shown or not result or not found[number].needs & result:
            continue
        if isinstance(found[number].node, (ast.Expr, ast.Assign)):
            taken.add(number)
            result = found[number].sets
    needed = set().union(*(found[number].needs for number in taken))
    for number in range(max(taken), -1, -1):
        each = found[number]
        if number in taken or needed & (each.sets | each.changes):
            taken.add(number)
            if isinstance(each.node, (ast.Assign, ast.Import, ast.ImportFrom)):
                needed -= each.sets - each.needs
            needed |= each.needs
    every = [found[number] for number in sorted(taken)]
    asked = any(each.shown is not None for each in every)
    others = [each for each in every if not isinstance(each.node, IMPORTS)]
    if asked:
        lines = [*(f">>> {line}" for line in imports(every)), *map(_prompted, others)]
        return Excerpt(page, "pycon", "\n".join(lines))
    code = "\n".join(imports(every)) + "\n\n"
    for each in others:
        apart = "\n\n" if isinstance(each.node, DEFINED) else ""
        code += f"{apart}{each.source.strip()}\n{apart}"
    return Excerpt(page, "python", re.sub(r"\n{4,}", "\n\n\n", code).strip())


def imports(every):
    """The imports that statements need, one line a module."""
    needed = set().union(*(each.needs for each in every))
    plain, by_module = [], {}
    for each in every:
        if isinstance(each.node, IMPORTS):
            for name in each.node.names:
                written = f"{name.name} as {name.asname}" if name.asname else name.name
                if (name.asname or name.name).partition(".")[0] in needed:
                    if isinstance(each.node, ast.Import):
                        plain.append(f"import {written}")
                    else:
                        by_module.setdefault(each.node.module, []).append(written)
    named = [f"from {home} import {', '.join(sorted(set(n)))}" for home, n in by_module.items()]
    return [*dict.fromkeys(plain), *named]


def _prompted(each):
    """A statement as it is typed, and the answer."""
    first, *rest = each.source.rstrip("\n").split("\n")
    more = [f"... {line}".rstrip() for line in rest] + ["..."] * isinstance(each.node, BLOCKS)
    return "\n".join([f">>> {first}", *more, *([each.shown.rstrip()] if each.shown else [])])


@cache
def excerpts():
    """{(front module, name): the shortest excerpt that shows it}."""
    best, sources = {}, [(page, fences(page)) for page in PAGES if page not in PARTS]
    for file in IN_USE:
        sources.append((None, [("pycon", "", file.read_text(encoding="utf-8"))]))
    for page, blocks in sources:
        found = statements(blocks)
        for home, name, number in shown_in(found):
            new = excerpt(page, found, number)
            key = _key(home, name)
            if key and new.code.count("\n") < LONGEST:
                best[key] = min(best.get(key, new), new, key=_length)
    return best


def _key(home, name):
    """What a name stands for, whichever front it came by."""
    if home.partition(".")[0] != "rlconnect":
        return None
    try:
        value = getattr(import_module(home), name)
    except (ImportError, AttributeError):
        return None
    return name_key(home, name, value)


def name_key(home, name, value):
    """A class or function is itself under any front; any other value is what its front calls it."""
    return value if callable(value) else (home, name)


def _length(each):
    return len(each.code.splitlines()), len(each.code)
