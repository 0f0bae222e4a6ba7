"""Settings for trials, made of a space: every point of its grid, with draws for the rest.

A grid's values run with the first of its settings (by path) fastest; draws follow the order in
which the space has them, functions come last. So one seed gives the settings that Ray gives.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

from ...core.errors import ConfigError
from ..config.search_space import GRID, Domain, generator_of

Path = tuple[Any, ...]

_MOST_OF_A_TAG: Final = 100


class Variant(NamedTuple):
    """The settings of a trial.

    Attributes:
        config: All of them.
        tag: What is special about them, in a few words.
        chosen: What was tried or drawn, by its path.
    """

    config: dict[str, Any]
    tag: str
    chosen: dict[Path, Any]


class BasicVariantGenerator:
    """Grids and draws, as they come.

    Args:
        points_to_evaluate: Not offered.
        max_concurrent: Of no meaning: trials run one by one.
        constant_grid_search: Not offered.
        random_state: A seed or a generator to draw from; None takes numpy's global one.

    Raises:
        ConfigError: Something is asked that is not offered.
    """

    def __init__(
        self,
        points_to_evaluate: Any = None,
        max_concurrent: int = 0,
        constant_grid_search: bool = False,
        random_state: Any = None,
    ) -> None:
        if points_to_evaluate or constant_grid_search:
            raise ConfigError(
                "BasicVariantGenerator takes neither points_to_evaluate nor constant_grid_search",
                hint="put the points into tune.grid_search([...]).",
            )
        self.random_state = random_state

    def variants(self, space: Mapping[str, Any], num_samples: int) -> list[Variant]:
        """Make the settings of all trials.

        Args:
            space: Settings; some of them grids or distributions.
            num_samples: How often the grid is gone through.

        Example:
            >>> space = {"lr": {"grid_search": [0.1, 0.2]}, "env": "CartPole-v1"}
            >>> [variant.tag for variant in BasicVariantGenerator().variants(space, 1)]
            ['lr=0.1000', 'lr=0.2000']
        """
        if num_samples < 1:
            raise ConfigError(
                "TuneConfig(num_samples=...)", expected="1 or more", found=repr(num_samples)
            )
        source = generator_of(self.random_state)
        open_settings = list(open_places(space, ()))
        grids = sorted(
            (
                (path, list(value[GRID]))
                for path, value in open_settings
                if not isinstance(value, Domain)
            ),
            key=lambda grid: tuple(map(str, grid[0])),
        )
        domains = [(path, value) for path, value in open_settings if isinstance(value, Domain)]
        domains.sort(key=lambda each: not each[1].is_told)
        variants = []
        for _ in range(num_samples):
            for values in itertools.product(*(values for _, values in reversed(grids))):
                points = dict(zip([path for path, _ in grids], reversed(values), strict=True))
                variants.append(_variant(space, points, domains, source))
        return variants


def _variant(
    space: Mapping[str, Any],
    points: Mapping[Path, Any],
    domains: list[tuple[Path, Domain]],
    source: Any,
) -> Variant:
    config = with_chosen(space, points)
    chosen, untold = dict(points), set()
    for path, domain in domains:
        value = domain.draw(source, None if domain.is_told else _Spec(config=_Spec(config)))
        put(config, path, value)
        chosen[path] = value
        if not domain.is_told:
            untold.add(path)
    order = sorted(chosen.keys() - untold, key=lambda path: tuple(map(str, path)))
    tag = ",".join(f"{path[-1]}={word(chosen[path])}" for path in order)
    return Variant(config, tag, chosen)


class _Spec(SimpleNamespace):
    """Settings that functions read by key or as attributes."""

    def __init__(self, given: Mapping[str, Any] | None = None, **named: Any) -> None:
        super().__init__(**{str(key): _shown(value) for key, value in (given or {}).items()})
        self.__dict__.update(named)

    def __getitem__(self, key: str) -> Any:
        return self.__dict__[key]

    def get(self, key: str, default: Any = None) -> Any:
        return self.__dict__.get(key, default)


def _shown(value: Any) -> Any:
    return _Spec(value) if isinstance(value, Mapping) else value


def open_places(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The grids and distributions in some settings, each with its path, in their order."""
    if isinstance(value, Domain) or (isinstance(value, Mapping) and GRID in value):
        yield path, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from open_places(part, (*path, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from open_places(part, (*path, index))


def with_chosen(space: Mapping[str, Any], chosen: Mapping[Path, Any]) -> dict[str, Any]:
    """The settings of a space with values at some paths; the space stays as it is."""
    config: dict[str, Any] = _copied(space)
    for path, value in chosen.items():
        put(config, path, value)
    return config


def put(config: Any, path: Sequence[Any], value: Any) -> None:
    """Set what lies at a path in nested settings."""
    for key in path[:-1]:
        config = config[key]
    config[path[-1]] = value


def _copied(value: Any) -> Any:
    """Its own dicts and lists; what they hold is shared."""
    if type(value) is dict:
        return {key: _copied(part) for key, part in value.items()}
    return [_copied(part) for part in value] if type(value) is list else value


def word(value: Any) -> str:
    """A value as folders are named by it.

    Example:
        >>> word(0.01), word("a b/c")
        ('0.0100', 'a_b_c')
    """
    text = f"{value:.4f}" if isinstance(value, float) else str(value)
    return re.sub(r"[^\w.\-]+", "_", text).strip("_")[:_MOST_OF_A_TAG]
