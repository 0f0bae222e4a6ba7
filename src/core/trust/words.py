"""Classes and functions that a caller lets files name, for one call or for the process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias, TypeVar, Union

from ..errors import ConfigError

T = TypeVar("T")

Words: TypeAlias = Union["Trust", Mapping[str, Any], Iterable[Any], None]
"""How a caller may say it: a mapping of the file's names, or the classes and functions alone."""


class Trust:
    """Classes and functions by the names that a file may have for them.

    They are `named` in the file by a dotted name, by `module:qualname` or by the last part. Those
    that stand `alone` are known by their own names: dotted, or the last part where only one of them
    is called so.

    Example:
        >>> class Mine: ...
        >>> words = Trust.of([Mine])
        >>> words.find("somebodys_module.Mine") is Mine, words.find("os.system")
        (True, None)
    """

    def __init__(
        self, named: Mapping[str, Any] | None = None, alone: Iterable[Any] | None = None
    ) -> None:
        self._named: dict[str, Any] = dict(named or {})
        self._alone: dict[str, Any] = {}
        self._short: dict[str, list[Any]] = {}
        for each in alone or ():
            self.add(each)

    @classmethod
    def of(cls, words: Words) -> Trust:
        """The `Trust` for anything that a caller may pass as `trust`."""
        if words is None:
            return NOTHING
        if isinstance(words, Trust):
            return words
        if isinstance(words, Mapping):
            return cls(words)
        if isinstance(words, (str, bytes)) or not isinstance(words, Iterable):
            return cls(alone=[words])
        return cls(alone=words)

    def add(self, thing: Any) -> None:
        """Let a class or function be named."""
        module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
        if not callable(thing) or not module or not name:
            raise ConfigError(
                "trust=...",
                expected="classes and functions, or a mapping of names to them",
                found=repr(thing),
                hint='give it by the name that the file has for it: trust={"module.name": ...}.',
            )
        path, last = f"{module}.{name}", name.rpartition(".")[2]
        before = self._alone.get(path)
        self._alone[path] = thing
        others = [other for other in self._short.get(last, ()) if other is not before]
        self._short[last] = [*others, thing]

    def find(self, name: str) -> Any:
        """The object for a name in a file; None if none was given."""
        if not self:
            return None
        path = name.replace(":", ".")
        module, _, last = path.rpartition(".")
        for spelling in (name, path, f"{module}:{last}", last):
            if spelling in self._named:
                return self._named[spelling]
        value = self._alone.get(path)
        if value is None:
            alike = self._short.get(last, ())
            value = alike[0] if len(alike) == 1 else None
        return value

    def by_name(self) -> dict[str, Any]:
        """All of it by the names it may have: those given, dotted ones, and lone last parts."""
        lone = {name: things[0] for name, things in self._short.items() if len(things) == 1}
        return {**lone, **self._alone, **self._named}

    def exactly(self, name: str) -> Any:
        """The object that was given under this very name, or None."""
        return self._alone.get(name)

    @property
    def things(self) -> tuple[Any, ...]:
        """The classes and functions themselves."""
        return (*self._named.values(), *self._alone.values())

    def __bool__(self) -> bool:
        return bool(self._named or self._alone)

    def __iter__(self) -> Iterator[str]:
        return iter((*self._named, *self._alone))

    def __or__(self, other: Trust) -> Trust:
        """Both; where they differ, the first one counts."""
        if not self or not other:
            return self or other
        joined = Trust({**other._named, **self._named})
        for each in (*other._alone.values(), *self._alone.values()):
            joined.add(each)
        return joined

    def __repr__(self) -> str:
        return f"Trust({', '.join(self)})"


NOTHING: Final = Trust()
"""The words of a caller who said nothing."""

PROCESS: Final = Trust()
"""What `trust` let all files name."""


def trust(thing: T) -> T:
    """Let files name a class or function of yours, in this process; a decorator, too.

    A file that names it gets it where something of its kind may stand. `trust=[...]` does the
    same for one call.

    Args:
        thing: The class or function. One of the same module and name takes its place.

    Returns:
        The same.

    Example:
        >>> @trust
        ... def agent_zero_only(agent_id, episode, **kwargs):
        ...     return "p0"
    """
    PROCESS.add(thing)
    return thing
