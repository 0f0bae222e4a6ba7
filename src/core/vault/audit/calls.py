"""The calls in the trace of a pickle: each name, its kind, and whether it would be called.

A call counts whether or not its result lands anywhere in the data, and whether or not the file can
be read to its end: an ordinary unpickler calls as it goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from ..decode.constructors import CONSTRUCTORS
from ..decode.pickle_machine import Trace
from ..decode.standins import BY_VALUE_CLASSES, GlobalRef, Opaque, shown
from ..decode.walk import children, named_places
from ..records.records import CallRecord
from .kinds import FAMILIES, Kind, kind_of

_GETATTR: Final = frozenset({("builtins", "getattr"), ("__builtin__", "getattr")})
_STANDARD_STREAMS: Final = frozenset({"stdin", "stdout", "stderr"})
_IMPORTERS: Final = frozenset({"subimport", "dynamic_subimport"})
# Functions and classes by value: what their state names is named by code, not called on opening.
_STATES: Final = frozenset(
    {"_cell_set", "_class_setstate", "_fill_function", "_function_setstate", "_make_cell"}
    | {"_rehydrate_skeleton_class"}
)
_CLASS_MAKERS: Final = BY_VALUE_CLASSES | {"_make_skel_func", "ABCMeta", "new_class", "type"}
# Calls that parametrize a type hint: they keep their arguments and call none of them.
_HINT_MAKERS: Final = frozenset(
    {"types.GenericAlias", "_operator.getitem", "operator.getitem", "_functools.reduce"}
    | {"functools.reduce"}
)
_UNIONS: Final = frozenset({"_operator.or_", "operator.or_"})
# What calls a function that it is given, here or when its result is iterated over.
_APPLIERS: Final = frozenset(
    f"{module}.{name}"
    for module, names in (
        ("builtins", "filter iter map max min sorted"),
        ("__builtin__", "apply filter iter map max min reduce sorted"),
        ("itertools", "accumulate dropwhile filterfalse groupby starmap takewhile"),
        ("functools", "reduce"),
        ("_functools", "reduce"),
    )
    for name in names.split()
)
_GETSTATE: Final = "__getstate__"
_MADE: Final = "calls what it has just made"
_MOST_ARGUMENTS: Final = 4


def unsafe_calls(trace: Trace, value: Any, place: str) -> list[CallRecord]:
    """The calls in a pickle that would run programs on opening; quick if there are none.

    `value` is None where it could not be read to its end.
    """
    named = any(kind_of(*pair)[0] == "runner" and pair not in _GETATTR for pair in trace.references)
    if not (named or trace.patched or any(map(_is_telling, trace.objects))):
        return []
    return [call for call in calls_of(trace, value, place) if call.kind == "runner"]


def _is_telling(noted: tuple[int, Opaque]) -> bool:
    """True if a call needs a closer look than the names in the file."""
    ref = noted[1].ref
    is_plain = type(ref) is GlobalRef and ref.path not in _APPLIERS
    return not is_plain or (ref.module, ref.name) in _GETATTR


def calls_of(trace: Trace, value: Any, place: str) -> list[CallRecord]:
    """Everything a pickle names, the calls first; see `unsafe_calls`."""
    records: dict[tuple[str, str, str], CallRecord] = {}
    paths = {id(part): path for path, part in named_places(value)}

    def note(record: CallRecord) -> None:
        key = record.name, record.kind, record.how
        earlier = records.get(key)
        records[key] = record if earlier is None else replace(earlier, count=earlier.count + 1)

    called: set[tuple[str, str]] = set()
    for position, built in trace.objects:
        name, kind, reason = _judged(built)
        if isinstance(built.ref, GlobalRef):
            called.add((built.ref.module, built.ref.name))
        where = f"{place}: {paths.get(id(built)) or f'byte {position:,}'}"
        note(CallRecord(name, kind, reason, "called", where, 1, _arguments(built)))
    for position, ref in trace.patched:
        kind = "author" if kind_of(ref.module, ref.name)[0] == "author" else "runner"
        reason = "its attributes or items would be set"
        note(CallRecord(ref.path, kind, reason, "changed", f"{place}: byte {position:,}"))
    roots = [value, *(built for _, built in trace.objects)]
    # A hint of code by value is reached through that code; one in plain data through the data.
    outer = roots if value is None else [root for root in roots if not _is_type_hint(root)]
    outside, anywhere = _references(outer, inside=False), _references(roots, inside=True)
    for pair, count in trace.references.items():
        if pair in called:
            continue
        kind, reason = kind_of(*pair)
        # A name that stands nowhere was dropped after use.
        if kind == "runner" and pair not in outside and pair in anywhere:
            kind, reason = "author", f"named by code that lies in the file; {reason} if that is run"
        if kind == "runner" and _is_getstate_of_class(*pair):
            kind, reason = "author", "an attribute of a class the file names"
        if pair in _GETATTR and pair not in outside:
            kind, reason = "rebuilding", "an attribute of a class the file names"
        path = paths.get(id(outside.get(pair) or anywhere.get(pair)))
        where = f"{place}: {path}" if path else place
        how = "called" if pair in CONSTRUCTORS and kind != "runner" else "named"
        note(CallRecord(".".join(pair), kind, reason, how, where, count))
    return list(records.values())


def _judged(built: Opaque) -> tuple[str, Kind, str]:
    """Name, kind and words of a call."""
    ref = built.ref
    if isinstance(ref, GlobalRef):
        if (ref.module, ref.name) in _GETATTR:
            return ref.path, *_attribute(built)
        if ref.name in _IMPORTERS and built.args:
            return ref.path, "author", f"imports {shown(built.args[0])} for code in the file"
        if ref.path in _APPLIERS and any(_is_own_code(part) for part in _given(built)):
            return ref.path, "runner", "calls code that lies in the file"
        if _binds_own_code(built):
            return ref.path, "author", "a method of an object whose code lies in the file"
        if ref.path == "importlib.import_module" and _is_of_family(built):
            return ref.path, "author", f"imports {built.args[0]} for code in the file"
        return ref.path, *kind_of(ref.module, ref.name)
    if not isinstance(ref, Opaque):
        return shown(ref), "unknown", "nothing that can be called"
    inner = ref.ref
    if isinstance(inner, GlobalRef):
        if inner.name in _CLASS_MAKERS:
            return built.path, "author", "an object of a class whose code lies in the file"
        if inner.path == "functools.partial" and ref.args and isinstance(ref.args[0], GlobalRef):
            return ref.args[0].path, *kind_of(ref.args[0].module, ref.args[0].name)
    name = ref.by_value_name if ref.is_by_value else ref.path
    return name or built.path, "runner", _MADE


def _is_type_hint(built: Any) -> bool:
    """True for a call such as `Optional[X]`, `list[X]` or `X | Y` that nothing changes later."""
    if not isinstance(built, Opaque) or not isinstance(built.ref, GlobalRef) or built.kwargs:
        return False
    if built.state is not None or built.items or built.entries or len(built.args) != 2:
        return False
    path, (owner, arguments) = built.ref.path, built.args
    if path not in _HINT_MAKERS or not isinstance(owner, GlobalRef):
        return False
    if path.endswith("reduce"):
        return (
            owner.path in _UNIONS
            and isinstance(arguments, (list, tuple))
            and all(
                isinstance(part, GlobalRef) or _is_none_type(part) or _is_type_hint(part)
                for part in arguments
            )
        )
    return path == "types.GenericAlias" or (owner.module == "typing" and "." not in owner.name)


def _given(built: Opaque) -> tuple[Any, ...]:
    """All arguments of a call."""
    named = built.kwargs.values() if isinstance(built.kwargs, dict) else ()
    return (*built.args, *named)


def _is_own_code(part: Any) -> bool:
    """True for a function held by value, or a method made of one."""
    return isinstance(part, Opaque) and (part.is_by_value or _binds_own_code(part))


def _binds_own_code(built: Opaque) -> bool:
    """True if this is a method of a function held by value; making one calls nothing."""
    is_bound = built.path == "types.MethodType" and len(built.args) == 2
    function = built.args[0] if is_bound else None
    return isinstance(function, Opaque) and function.is_by_value


def _is_none_type(part: Any) -> bool:
    if not isinstance(part, Opaque):
        return part is None
    return part.path == "builtins.type" and tuple(part.args) == (None,) and part.state is None


def _is_getstate_of_class(module: str, name: str) -> bool:
    """True for `Class.__getstate__` of a class that runs nothing itself."""
    owner, _, last = name.rpartition(".")
    return bool(owner) and last == _GETSTATE and kind_of(module, owner)[0] != "runner"


def _is_of_family(built: Opaque) -> bool:
    """True if an import names a library that RLlib depends on."""
    name = built.args[0] if len(built.args) == 1 else None
    parts = name.split(".") if isinstance(name, str) else [""]
    return parts[0] in FAMILIES and all(part.isidentifier() for part in parts)


def _attribute(built: Opaque) -> tuple[Kind, str]:
    """The kind of `getattr(owner, name)` for an owner that the file makes."""
    owner, name = built.args[:2] if len(built.args) >= 2 else (None, None)
    if not isinstance(owner, Opaque) or not isinstance(name, str):
        return "runner", "reaches any attribute by name"
    if name.startswith("__") and name != _GETSTATE:
        return "runner", "reaches any attribute by name"
    importer = owner.ref.name if isinstance(owner.ref, GlobalRef) else ""
    if importer in _IMPORTERS and not (owner.args == ("sys",) and name in _STANDARD_STREAMS):
        return "runner", f"reaches {name!r} of a module it imports"
    if importer and kind_of(owner.ref.module, owner.ref.name)[0] == "runner":
        return "runner", f"reaches {name!r} of what {owner.ref.path} gives"
    return "author", f"the attribute {name!r} of an object in the file"


def _arguments(built: Opaque) -> str:
    words = [shown(part) for part in built.args[:_MOST_ARGUMENTS]]
    return ", ".join(words) + (", ..." if len(built.args) > _MOST_ARGUMENTS or built.kwargs else "")


def _references(roots: list[Any], *, inside: bool) -> dict[tuple[str, str], GlobalRef]:
    """The names in data: outside of functions and classes held by value, or anywhere."""
    visited: set[int] = set()
    references: dict[tuple[str, str], GlobalRef] = {}
    pending = list(roots)
    while pending:
        part = pending.pop()
        if id(part) not in visited:
            visited.add(id(part))
            if isinstance(part, GlobalRef):
                references.setdefault((part.module, part.name), part)
            pending.extend(_parts(part, inside=inside))
    return references


def _parts(part: Any, *, inside: bool) -> Iterator[Any]:
    if isinstance(part, Opaque) and isinstance(part.ref, GlobalRef) and not inside:
        if part.ref.name in _STATES:
            return
        if part.is_by_value or part.ref.name == "_make_empty_cell":
            yield from (*part.args, part.kwargs)
            return
        if part.path == "dataclasses.Field":  # its type is a hint, which nothing calls
            for name, held in part.mapping().items():
                if name != "type" or not (isinstance(held, GlobalRef) or _is_type_hint(held)):
                    yield held
            yield from (*part.args, part.kwargs, part.items, part.entries)
            return
    yield from (child for _, child in children(part))
