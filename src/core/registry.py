"""Name -> factory, with a suggestion for a name that is nearly right.

Built-ins are handed over as one readable table; users add their own with `register`. One name
stands for one factory: a second factory under a taken name is refused at once, because whichever
of the two silently won would surprise somebody at load time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Generic, TypeAlias, TypeVar, overload

from .errors import DuplicateNameError, UnknownNameError
from .text.near_names import near_names

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

Factory: TypeAlias = Callable[..., T]


class Registry(Generic[T]):
    """An open table of factories for one kind of thing.

    `kind` is what the factories make, in the words of an error message ("connector"); `table` has
    the built-in names.

    Example:
        >>> shapes = Registry[tuple]("shape", {"pair": lambda: (0, 0)})
        >>> @shapes.register("triple")
        ... def triple():
        ...     return (0, 0, 0)
        >>> shapes.get("triple")()
        (0, 0, 0)
        >>> shapes.names()
        ('pair', 'triple')
    """

    def __init__(self, kind: str, table: Mapping[str, Factory[T]] | None = None) -> None:
        self.kind: Final = kind
        self._factories: dict[str, Factory[T]] = dict(table or {})

    @overload
    def register(self, name: str) -> Callable[[F], F]: ...

    @overload
    def register(self, name: str, factory: F) -> F: ...

    def register(self, name: str, factory: F | None = None) -> F | Callable[[F], F]:
        """Let a durable `name` stand for `factory`; without a factory, decorate one.

        The same factory again is harmless.

        Raises:
            DuplicateNameError: The name already stands for another factory.
        """
        if factory is None:
            return lambda decorated: self.register(name, decorated)
        earlier = self._factories.setdefault(name, factory)
        if earlier != factory:
            raise DuplicateNameError(
                f"{self.kind} name {name!r} is taken",
                expected="one factory for one name",
                found=f"{_describe(factory)} beside {_describe(earlier)}",
                hint="register it under another name.",
                kind=self.kind,
                name=name,
            )
        return factory

    def get(self, name: str) -> Factory[T]:
        """The factory that `name` stands for.

        Raises:
            UnknownNameError: Nothing is registered under that name.
        """
        try:
            return self._factories[name]
        except KeyError:
            near = near_names(str(name), self._factories, n=1)
            raise UnknownNameError(
                f"no {self.kind} named {name!r} among the {len(self)} registered.",
                hint=f"did you mean {near[0]!r}?" if near else "import its module first.",
                kind=self.kind,
                name=name,
                suggestion=near[0] if near else None,
            ) from None

    def names(self) -> tuple[str, ...]:
        """Every registered name, sorted."""
        return tuple(sorted(self._factories))

    def __contains__(self, name: object) -> bool:
        return name in self._factories

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self._factories)

    def __repr__(self) -> str:
        return f"Registry({self.kind!r}, {len(self)} names)"


def _describe(factory: Callable[..., Any]) -> str:
    name = getattr(factory, "__qualname__", None)
    return f"{factory.__module__}.{name}" if name else repr(factory)
