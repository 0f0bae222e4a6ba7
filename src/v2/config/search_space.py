"""Replacements of settings in a search: values to try, and distributions to sample from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil, exp, floor, log
from typing import Any, Final

import numpy as np

from ...core.errors import ConfigError

GRID: Final = "grid_search"


class Domain:
    """A distribution that a setting is drawn from.

    Args:
        draw: Gives a value, from a generator of numpy's and the settings drawn so far.
        name: The function that made it, which Ray Tune has by the same name.
        arguments: What that was called with.
    """

    def __init__(self, draw: Callable[[Any, Any], Any], name: str, *arguments: Any) -> None:
        self.draw = draw
        self.name = name
        self.arguments = arguments
        # Whether the names of trials tell what was drawn.
        self.is_told = name != "sample_from"

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(map(repr, self.arguments))})"

    def sample(self, spec: Any = None, size: int = 1, random_state: Any = None) -> Any:
        """Draw.

        Args:
            spec: What functions of `sample_from` are given.
            size: How often; 1 gives a value, more a list.
            random_state: A generator or seed; None takes numpy's global one.
        """
        source = generator_of(random_state)
        drawn = [self.draw(source, spec) for _ in range(size)]
        return drawn[0] if size == 1 else drawn


def generator_of(random_state: Any) -> Any:
    """A generator of a seed; None is numpy's global one, as scripts seed it by `np.random.seed`."""
    if random_state is None:
        return np.random
    is_seed = isinstance(random_state, (int, np.integer))
    return np.random.default_rng(random_state) if is_seed else random_state


def is_open(value: Any) -> bool:
    """Whether a value is not one yet: there is something to try or to draw in it.

    Example:
        >>> is_open({"lr": grid_search([0.1, 0.2])}), is_open({"lr": 0.1})
        (True, False)
    """
    if isinstance(value, Mapping):
        return GRID in value or any(map(is_open, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(is_open, value))
    return isinstance(value, Domain)


def grid_search(values: Iterable[Any]) -> dict[str, Any]:
    """Try all of some values.

    Example:
        >>> grid_search([1, 2])
        {'grid_search': [1, 2]}
    """
    return {GRID: values}


def choice(categories: Sequence[Any]) -> Domain:
    """Draw one of some values."""
    held = list(categories)
    if not held:
        raise ConfigError("choice() has nothing to choose from")
    return Domain(lambda source, spec: held[int(source.choice(len(held)))], "choice", held)


def uniform(lower: float, upper: float) -> Domain:
    """Sample uniformly from a range."""
    return Domain(lambda source, spec: float(source.uniform(lower, upper)), "uniform", lower, upper)


def quniform(lower: float, upper: float, q: float) -> Domain:
    """Draw as `uniform`, rounded to multiples of `q`."""
    return _rounded(uniform(lower, upper), q)


def loguniform(lower: float, upper: float, base: float | None = None) -> Domain:
    """Sample log-uniformly from a range; `base` is ignored."""
    low, high = _logs(lower, upper, "loguniform")
    return Domain(lambda source, spec: exp(source.uniform(low, high)), "loguniform", lower, upper)


def qloguniform(lower: float, upper: float, q: float, base: float | None = None) -> Domain:
    """Draw as `loguniform`, rounded to multiples of `q`."""
    return _rounded(loguniform(lower, upper), q)


def randint(lower: int, upper: int) -> Domain:
    """Draw an integer from `lower` to below `upper`."""
    return Domain(lambda source, spec: _integer(source, lower, upper), "randint", lower, upper)


def qrandint(lower: int, upper: int, q: int = 1) -> Domain:
    """Draw a multiple of `q` from `lower` to `upper`, both included."""
    low, high = ceil(lower / q), floor(upper / q) + 1
    return Domain(lambda source, spec: q * _integer(source, low, high), "qrandint", lower, upper, q)


def lograndint(lower: int, upper: int, base: float | None = None) -> Domain:
    """Sample an integer log-uniformly from `lower` to below `upper`."""
    low, high = _logs(lower, upper, "lograndint")
    return Domain(
        lambda source, spec: int(exp(source.uniform(low, high))), "lograndint", lower, upper
    )


def qlograndint(lower: int, upper: int, q: int, base: float | None = None) -> Domain:
    """Draw a multiple of `q`, as `lograndint` does, both ends included."""
    low, high = _logs(ceil(lower / q), floor(upper / q) + 1, "qlograndint")
    return Domain(
        lambda source, spec: q * int(exp(source.uniform(low, high))),
        "qlograndint",
        lower,
        upper,
        q,
    )


def randn(mean: float = 0.0, sd: float = 1.0) -> Domain:
    """Draw from a normal distribution."""
    return Domain(lambda source, spec: float(source.normal(mean, sd)), "randn", mean, sd)


def qrandn(mean: float, sd: float, q: float) -> Domain:
    """Draw as `randn`, rounded to multiples of `q`."""
    return _rounded(randn(mean, sd), q)


def sample_from(func: Callable[[Any], Any]) -> Domain:
    """Let a function say a setting, which sees the others as `spec.config`."""
    return Domain(lambda source, spec: func(spec), "sample_from", func)


def _rounded(domain: Domain, q: float) -> Domain:
    return Domain(
        lambda source, spec: float(np.round(domain.draw(source, spec) / q) * q),
        f"q{domain.name}",
        *domain.arguments,
        q,
    )


def _integer(source: Any, lower: int, upper: int) -> int:
    draw = getattr(source, "integers", None) or source.randint
    return int(draw(lower, upper))


def _logs(lower: float, upper: float, name: str) -> tuple[float, float]:
    if lower <= 0 or upper <= 0:
        raise ConfigError(
            f"{name}({lower}, {upper})",
            expected="bounds above 0",
            hint="pass the bounds themselves, not their logarithms.",
        )
    return log(lower), log(upper)
