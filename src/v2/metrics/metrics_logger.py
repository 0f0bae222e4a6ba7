"""Values under nested keys, kept cheap while they come and reduced when somebody asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from ...core.data.checked import flag, mapping, whole
from ...core.data.damage import at
from ...core.errors import ConfigError, DuplicateNameError, UnknownNameError
from ...core.text.near_names import did_you_mean
from .series import Ema, Item, ItemSeries, LifetimeSum, Max, Mean, Min, Percentiles, Sum
from .stat import Stat, Timer

Key = str | tuple[str, ...] | list[str]
_SEPARATOR: Final = "--"


class UnknownMetricError(UnknownNameError, KeyError):
    """Nothing has been logged under a key."""


class MetricsLogger:
    """Takes values while work goes on, and tells what they come to.

    A loop of many workers has one logger each. `reduce` of a worker's hands over what is new, and
    `aggregate` of the one at the root adds that; the root keeps windows and lifetime sums.

    Args:
        root: Whether this logger reports and hands nothing over.
        stats_cls_lookup: Further reductions by name, or others for known names.

    Example:
        >>> logger = MetricsLogger()
        >>> logger.log_value("loss", 1.0, reduce="mean")
        >>> logger.log_value("loss", 2.0)
        >>> logger.log_value(("env_runners", "steps"), 5, reduce="sum")
        >>> logger.peek()
        {'loss': 1.5, 'env_runners': {'steps': 5}}
    """

    def __init__(
        self, root: bool = False, stats_cls_lookup: Mapping[str, type[Stat]] | None = None
    ) -> None:
        self._is_root = root
        self._kinds = {**KINDS, **(stats_cls_lookup or {})}
        self._stats: dict[tuple[str, ...], Stat] = {}
        self._by_key: dict[Any, Stat] = {}  # by the key as it was given
        self._timers: dict[Any, Timer] = {}
        self._waiting: dict[str, Callable[[], object]] = {}

    def log_value(
        self,
        key: Key,
        value: Any,
        *,
        reduce: str | None = None,
        window: float | None = None,
        ema_coeff: float | None = None,
        percentiles: Sequence[float] | bool | None = None,
        clear_on_reduce: bool | None = None,
        with_throughput: bool | None = None,
        throughput_ema_coeff: float | None = None,
        reduce_per_index_on_aggregate: bool | None = None,
    ) -> None:
        """Log one value; how it reduces is decided when its key is new.

        Args:
            key: A name, or the path of names to it.
            value: A number, array or tensor; anything for "item" and "item_series".
            reduce: "mean", "ema", "min", "max", "sum", "lifetime_sum", "percentiles", "item" or
                "item_series"; None for "mean" with a window and "ema" without.
            window: How many of the latest values count.
            ema_coeff: Weight of a new value in an "ema"; 0.01 if not given.
            percentiles: Which percents, for "percentiles".
            clear_on_reduce: Whether a report forgets the window; False makes a sum last.
            with_throughput: Kept for RLlib's sake: each sum knows its rate, see `peek`.
            throughput_ema_coeff: Kept for RLlib's sake: a rate is that since the last report.
            reduce_per_index_on_aggregate: Kept for RLlib's sake: merging joins values in turn.
        """
        if isinstance(key, list):
            key = tuple(key)
        stat = self._by_key.get(key)
        if stat is None:
            stat = self._new(key, reduce, window, ema_coeff, percentiles, clear_on_reduce)
        stat.push(value)

    def log_dict(
        self, value_dict: Mapping[str, Any], *, key: Key | None = None, **settings: Any
    ) -> None:
        """Log each value of a nested dict.

        Args:
            value_dict: The values.
            key: Where they go; the top if None.
            **settings: As for `log_value`; "mean" if they do not say how to reduce.
        """
        settings.setdefault("reduce", "mean")
        for path, value in leaves(value_dict, as_path(key)):
            self.log_value(path, value, **settings)

    def log_time(
        self,
        key: Key,
        *,
        reduce: str = "ema",
        window: float | None = None,
        ema_coeff: float | None = None,
        percentiles: Sequence[float] | bool | None = None,
        clear_on_reduce: bool | None = None,
        with_throughput: bool | None = None,
        throughput_ema_coeff: float | None = None,
        reduce_per_index_on_aggregate: bool | None = None,
    ) -> Timer:
        """Log the seconds that a `with` block takes; for the rest see `log_value`."""
        timer = self._timers.get(key)
        if timer is None:
            stat = self._by_key.get(key)
            if stat is None:
                stat = self._new(key, reduce, window, ema_coeff, percentiles, clear_on_reduce)
            timer = self._timers[key] = Timer(stat)
        return timer

    def set_value(self, key: Key, value: Any, **settings: Any) -> None:
        """Let a value take the place of all that was logged; for the rest see `log_value`."""
        self.settle()
        stat = self._stats.get(as_path(key))
        if stat is not None:
            stat.clear()
        self.log_value(key, value, **settings)

    def later(self, name: str, tell: Callable[[], object]) -> None:
        """Have something logged here once somebody asks for a result.

        Args:
            name: What waits under the same name is not told any more.
            tell: Called with nothing; logs here.
        """
        self._waiting[name] = tell

    def settle(self) -> None:
        """Have everything logged that waits."""
        while self._waiting:
            waiting, self._waiting = self._waiting, {}
            for tell in waiting.values():
                tell()

    def so_far(self, key: tuple[str, ...]) -> Any:
        """Return the result of a key without pending values; 0 if the key does not exist."""
        stat = self._stats.get(key)
        return 0 if stat is None else stat.peek()

    def peek(
        self,
        key: Key | None = None,
        default: Any = None,
        compile: bool = True,
        throughput: bool = False,
    ) -> Any:
        """Return the present result under a key, a nested dict if there is more than one.

        Args:
            key: The key; None for all.
            default: What to give for a key without values; None raises.
            compile: Whether to give results; otherwise lists of what they are made of, as far as
                that is kept: the items of a series, else the result alone.
            throughput: Whether to give sums per second since the last report instead.

        Raises:
            UnknownMetricError: There is nothing under the key and no default.
        """
        self.settle()

        def shown(stat: Stat) -> Any:
            if throughput:
                return stat.throughput()
            return stat.peek() if compile else stat.values()

        path = as_path(key)
        if path in self._stats:
            return shown(self._stats[path])
        below = self._below(path)
        if below or not path:
            return nested((rest, shown(stat)) for rest, stat in below)
        if default is not None:
            return default
        raise self._unknown(path)

    def reduce(self, compile: bool = False) -> dict[str, Any]:
        """Reduce everything, and begin anew with what is not meant to last.

        Args:
            compile: Whether to give results; otherwise what `aggregate` of another logger adds.
        """
        self.settle()
        if compile:
            reports = nested((path, stat.report()) for path, stat in self._stats.items())
            if not self._is_root:
                for stat in self._stats.values():
                    stat.hand_over()
            return reports
        return nested((path, self._handed_over(stat)) for path, stat in self._stats.items())

    def _handed_over(self, stat: Stat) -> Stat:
        """Return what is new in a stat; the root keeps its lifetime sums."""
        if self._is_root and isinstance(stat, LifetimeSum):
            return stat.snapshot()
        return stat.hand_over()

    def hand_over(self, name: str) -> dict[str, Any]:
        """Give what was logged under keys of that last name to `aggregate` of another logger."""
        return nested(
            (path, stat.hand_over()) for path, stat in self._stats.items() if path[-1] == name
        )

    def aggregate(
        self, stats_dicts: Sequence[Mapping[str, Any]], *, key: Key | None = None
    ) -> None:
        """Add what other loggers' `reduce` gave.

        Args:
            stats_dicts: Their results.
            key: Where they go; the top if None.
        """
        start = as_path(key)
        by_path: dict[tuple[str, ...], list[Any]] = {}
        for reported in stats_dicts:
            for path, stat in leaves(reported, start):
                by_path.setdefault(path, []).append(stat)
        for path, values in by_path.items():
            stats = [each for each in values if isinstance(each, Stat)]
            if stats:
                if path not in self._stats:
                    self._insert(path, stats[0].like())
                self._stats[path].merge(stats)
            for value in values:
                if not isinstance(value, Stat):
                    self.log_value(path, value)

    def merge_and_log_n_dicts(
        self, stats_dicts: Sequence[Mapping[str, Any]], *, key: Key | None = None
    ) -> None:
        """Do as `aggregate`, which is its name since Ray 2.50."""
        self.aggregate(stats_dicts, key=key)

    def delete(self, *key: Any, key_error: bool = True) -> None:
        """Forget a key and all below it.

        Args:
            *key: The names on the way, or one tuple of them.
            key_error: Whether a key that is not there raises.

        Raises:
            UnknownMetricError: It is not there.
        """
        self.settle()
        path = as_path(key[0]) if len(key) == 1 else key
        deleted = [each for each in self._stats if each[: len(path)] == path]
        if not deleted and key_error:
            raise self._unknown(path)
        for each in deleted:
            del self._stats[each]
        for cache in (self._by_key, self._timers):
            for each in [each for each in cache if as_path(each) in deleted]:
                del cache[each]

    def reset(self) -> None:
        """Forget everything."""
        self.settle()
        self._stats.clear()
        self._by_key.clear()
        self._timers.clear()

    def get_state(self) -> dict[str, Any]:
        """Return everything as plain data."""
        self.settle()
        return {
            "stats": {_SEPARATOR.join(path): stat.get_state() for path, stat in self._stats.items()}
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take everything back; what was logged before is forgotten.

        RLlib keeps its windows in another way; of its states the lifetime sums are taken.
        """
        with at("stats"):
            stats = dict(mapping(state["stats"]))
        self.reset()
        for name, data in stats.items():
            with at("stats", name):
                self._take(tuple(name.split(_SEPARATOR)), mapping(data))

    def _take(self, path: tuple[str, ...], data: Mapping[str, Any]) -> None:
        if "kind" not in data:
            if "lifetime_sum" in data:
                self.log_value(path, whole(data["lifetime_sum"]), reduce="lifetime_sum")
            return
        window, is_cleared = data["window"], data["is_cleared"]
        if window is not None and whole(window) < 1:
            raise ValueError(f"a window of {window}")
        stat = self._kinds[data["kind"]](
            window=None if window is None else whole(window), is_cleared=flag(is_cleared)
        )
        stat.set_state(data)
        stat.peek()  # values that do not reduce are told here, not by the next report
        self._insert(path, stat)

    def _new(
        self,
        key: Key,
        reduce: str | None,
        window: float | None,
        ema_coeff: float | None,
        percentiles: Sequence[float] | bool | None,
        clear_on_reduce: bool | None,
    ) -> Stat:
        path = as_path(key)
        stat = self._stats.get(path)
        if stat is None:
            kind = kind_of(reduce, window, ema_coeff, clear_on_reduce)
            if kind not in self._kinds:
                raise ConfigError(
                    f"log_value({key!r}, reduce=...)",
                    expected=f"one of {', '.join(self._kinds)}",
                    found=repr(reduce),
                    hint=did_you_mean(kind, self._kinds),
                )
            more: dict[str, Any] = {}
            if kind == "ema" and ema_coeff is not None:
                more["coefficient"] = ema_coeff
            if kind == "percentiles" and isinstance(percentiles, Sequence):
                more["percents"] = percentiles
            length = None if window is None or window == float("inf") else int(window)
            stat = self._kinds[kind](window=length, is_cleared=bool(clear_on_reduce), **more)
            self._insert(path, stat)
        self._by_key[key] = stat
        return stat

    def _insert(self, path: tuple[str, ...], stat: Stat) -> None:
        above = next((path[:n] for n in range(1, len(path)) if path[:n] in self._stats), None)
        if above or self._below(path):
            raise DuplicateNameError(
                f"the metric {'/'.join(path)!r} cannot be logged",
                found=f"a value under {'/'.join(above)!r}" if above else "values below this key",
                hint="a key holds either a value or further keys; choose another name.",
            )
        self._stats[path] = stat
        self._by_key[path] = stat

    def _below(self, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], Stat]]:
        size = len(path)
        return [
            (each[size:], stat)
            for each, stat in self._stats.items()
            if len(each) > size and each[:size] == path
        ]

    def _unknown(self, path: Sequence[str]) -> UnknownMetricError:
        name = "/".join(map(str, path))
        names = ["/".join(map(str, each)) for each in self._stats]
        return UnknownMetricError(
            f"no metric named {name!r} among the {len(names)} logged",
            hint=did_you_mean(name, names, otherwise="pass default= to peek()."),
        )


KINDS: Final[dict[str, type[Stat]]] = {
    cls.kind: cls for cls in (Mean, Ema, Min, Max, Sum, LifetimeSum, Percentiles, Item, ItemSeries)
}
"""Name of a reduction to what does it."""


def kind_of(
    reduce: str | None,
    window: float | None,
    ema_coeff: float | None,
    clear_on_reduce: bool | None,
) -> str:
    """The name of the reduction that these settings of `log_value` ask for."""
    if reduce is None:
        if clear_on_reduce and window is None:
            return "item_series"  # How releases before 2.50 asked for a list.
        return "ema" if window is None else "mean"
    if reduce == "mean" and ema_coeff is not None:
        return "ema"
    if reduce == "sum" and clear_on_reduce is False and window is None:
        return "lifetime_sum"
    return reduce


def as_path(key: Any) -> tuple[str, ...]:
    """The names on the way to a key; none for None."""
    if key is None:
        return ()
    return tuple(key) if isinstance(key, (tuple, list)) else (key,)


def leaves(tree: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each value of nested dicts with its path."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from leaves(value, (*path, name))
        else:
            yield (*path, name), value


def nested(items: Iterable[tuple[tuple[str, ...], Any]]) -> dict[str, Any]:
    """Values by path as nested dicts."""
    tree: dict[str, Any] = {}
    for path, value in items:
        place = tree
        for name in path[:-1]:
            place = place.setdefault(name, {})
        place[path[-1]] = value
    return tree
