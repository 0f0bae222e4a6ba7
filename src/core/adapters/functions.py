"""A Python function as a step: it works, and it does not travel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from gymnasium import spaces

from ..errors import PieceError
from ..registry import Registry
from ..types import Nest
from .step import Bound, Step, step

functions: Final[Registry[Nest]] = Registry("adapter function")
"""Functions by the name that checkpoints know them by."""


def register_function(name: str, function: Callable[[Nest], Nest] | None = None) -> Any:
    """Let a name stand for a function between batched values; without a function, a decorator.

    A checkpoint writes down the name: the function must be registered before loading.
    """
    return functions.register(name) if function is None else functions.register(name, function)


@step("function")
class ApplyFunction(Step):
    """A registered Python function. Not portable: a checkpoint holds its name, not its code.

    Args:
        name: The name it is registered by.
        space: What comes out, as a space; what comes in if None.
    """

    is_portable: ClassVar[bool] = False

    name: str
    space: spaces.Space[Any] | None = None

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Look the function up.

        Raises:
            PieceError: Nobody has registered it here.
        """
        if self.name not in functions:
            raise PieceError(
                f"the adapter needs the Python function {self.name!r}, which is not registered",
                hint=f"import the module that calls register_function({self.name!r}, ...) first.",
            )
        return Bound(space if self.space is None else self.space, functions.get(self.name))
