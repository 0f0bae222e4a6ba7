"""Observation filters as checkpoints hold them: as parameters, pickled objects or V2 states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ...data.ray_arrays import decode_ray_array
from ...errors import RlconnectError
from ...text.first_line import first_line
from ..decode.standins import Opaque, class_path, mapping_of
from ..decoding import Decoding
from ..records.records import ConnectorRecord, FilterRecord

_UNREADABLE: Final = (RlconnectError, LookupError, ValueError, TypeError, ArithmeticError)


def filter_from_params(
    name: str, params: Any, decoding: Decoding, where: str
) -> FilterRecord | None:
    """The filter a mean-std connector or piece was saved with; None for other connectors."""
    if not isinstance(params, dict) or "running_stats" not in params:
        return None
    kind = "ConcurrentMeanStdFilter" if "Concurrent" in name else "MeanStdFilter"
    try:
        return _record(kind, params, params["running_stats"], where)
    except _UNREADABLE as error:
        decoding.problem(where, f"the statistics of {name} cannot be read: {first_line(error)}")
        return None


def filter_from_object(value: Any, decoding: Decoding, where: str) -> FilterRecord | None:
    """A pickled filter of a rollout worker (Ray 2.0 and older keep statistics there)."""
    if not isinstance(value, Opaque):
        return None
    kind = class_path(value).rpartition(".")[2]
    state = value.mapping()
    if kind == "NoFilter":
        return FilterRecord(kind, where=where)
    stats = state.get("running_stats", state.get("rs"))
    if stats is None:
        return None
    try:
        return replace(_record(kind, state, stats, where), is_from_worker=True)
    except _UNREADABLE as error:
        decoding.problem(where, f"the statistics of the {kind} are lost: {first_line(error)}")
        return None


def _record(kind: str, state: Any, stats: Any, where: str) -> FilterRecord:
    """The filter with these settings, under either stack's names, and statistics."""
    counts, means, sums = zip(*map(_statistics, _flat(stats)), strict=True)
    return FilterRecord(
        kind=kind,
        count=counts,
        mean=means,
        sum_of_squares=sums,
        demean=bool(state.get("demean", state.get("de_mean_to_zero", True))),
        destd=bool(state.get("destd", state.get("de_std_to_one", True))),
        clip=_number(state.get("clip", state.get("clip_by_value"))),
        where=where,
        state=state,
    )


def filters_of(
    pipeline: ConnectorRecord | None, decoding: Decoding, where: str
) -> Iterator[FilterRecord]:
    """The filters among a pipeline's connectors, in order."""
    for piece in pipeline.flat() if pipeline else ():
        statistics = filter_from_params(
            piece.name, piece.params, decoding, f"{where}: {piece.name}"
        )
        if statistics is not None:
            yield statistics


def _flat(stats: Any) -> Iterable[Any]:
    pending, flat = [stats], []
    while pending:
        part = pending.pop(0)
        if isinstance(part, Opaque) or (isinstance(part, dict) and "mean_array" in part):
            flat.append(part)
        elif isinstance(part, dict):
            pending[:0] = list(part.values())
        elif isinstance(part, (list, tuple)):
            pending[:0] = list(part)
        elif isinstance(part, np.ndarray) and part.dtype.hasobject:
            pending[:0] = list(part.flat)
        if len(pending) + len(flat) > 10_000:
            raise ValueError("more statistics than an observation has parts")
    if not flat:
        raise ValueError("no statistics where some should be")
    return flat


def _statistics(stat: Any) -> tuple[int, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Count, mean and sum of squared differences of one running statistic of any release."""
    fields = mapping_of(stat)
    count = fields.get("num_pushes", fields.get("_n", fields.get("n")))
    mean = fields.get("mean_array", fields.get("_M"))
    sums = fields.get("std_array", fields.get("sum_sq_diff_array", fields.get("_S")))
    arrays = [decode_ray_array(a) if isinstance(a, str) else a for a in (mean, sums)]
    if not all(isinstance(a, (np.ndarray, np.generic, float, int)) for a in arrays):
        raise ValueError("a running statistic without its numbers")
    if not isinstance(count, (int, float, np.integer, np.floating)):
        raise ValueError("a running statistic without a count")
    mean_array, sum_array = (np.asarray(a, dtype=np.float64) for a in arrays)
    return int(count), mean_array, sum_array


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float, np.number)) else None
