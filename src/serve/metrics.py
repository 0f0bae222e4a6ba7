"""What the server counts, as Prometheus reads it and as the page shows it."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable
from typing import Any, Final

_BOUNDS: Final = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
)  # fmt: skip
"""Upper bounds of latencies in seconds."""
_SECONDS_KEPT: Final = 120


class Metrics:
    """Counts of requests, and how long they took.

    Attributes:
        counts: What else is counted, by the name of the measure.

    Example:
        >>> metrics = Metrics()
        >>> metrics.observe("cartpole", 200, 0.0002)
        >>> print(metrics.text({"rlconnect_sessions": 3}).splitlines()[1])
        rlconnect_requests_total{policy="cartpole",status="200"} 1
    """

    def __init__(self) -> None:
        self.started = time.time()
        self.counts: Counter[str] = Counter()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()
        self._second = 0
        self._now: list[float] = []
        self._recent: deque[tuple[int, int, float, float]] = deque(maxlen=_SECONDS_KEPT)

    def observe(self, policy: str, status: int, seconds: float) -> None:
        """Count one answer."""
        self._requests[policy, status] += 1
        buckets = self._buckets.get(policy)
        if buckets is None:
            buckets = self._buckets[policy] = [0] * (len(_BOUNDS) + 1)
        buckets[bisect_left(_BOUNDS, seconds)] += 1
        self._seconds[policy] += seconds  # type: ignore[assignment]
        second = int(time.time())
        if second != self._second:
            self._turn(second)
        self._now.append(seconds)

    def _turn(self, second: int) -> None:
        """Keep what the last second was like."""
        if self._now:
            times = sorted(self._now)
            self._recent.append(
                (self._second, len(times), times[len(times) // 2], times[int(len(times) * 0.99)])
            )
        self._second, self._now = second, []

    def recent(self) -> list[dict[str, Any]]:
        """The last two minutes, second by second: answers, and their latencies in milliseconds."""
        self._turn(int(time.time()))
        return [
            {"at": at, "answers": count, "p50_ms": 1e3 * half, "p99_ms": 1e3 * most}
            for at, count, half, most in self._recent
        ]

    def text(self, gauges: dict[str, float]) -> str:
        """All of it in Prometheus' text format."""
        lines = ["# TYPE rlconnect_requests_total counter"]
        for (policy, status), count in sorted(self._requests.items()):
            lines.append(f"rlconnect_requests_total{labels(policy=policy, status=status)} {count}")
        lines.append("# TYPE rlconnect_request_seconds histogram")
        for policy, buckets in sorted(self._buckets.items()):
            total = 0
            for bound, count in zip((*_BOUNDS, "+Inf"), buckets, strict=True):
                total += count
                label = labels(policy=policy, le=bound)
                lines.append(f"rlconnect_request_seconds_bucket{label} {total}")
            label = labels(policy=policy)
            lines.append(f"rlconnect_request_seconds_sum{label} {self._seconds[policy]:.6f}")
            lines.append(f"rlconnect_request_seconds_count{label} {total}")
        gauges = {**gauges, **self.counts}
        kinds = dict.fromkeys(name.partition("{")[0] for name in gauges)
        for kind in kinds:
            is_count = kind.endswith("_total")
            lines.append(f"# TYPE {kind} {'counter' if is_count else 'gauge'}")
            lines += [
                f"{name} {value:g}"
                for name, value in gauges.items()
                if name.partition("{")[0] == kind
            ]
        return "\n".join(lines) + "\n"


def labels(**values: object) -> str:
    """What stands behind the name of a measure.

    Example:
        >>> labels(policy="cart", version=1)
        '{policy="cart",version="1"}'
    """
    pairs = (
        (name, str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n"))
        for name, value in values.items()
    )
    return "{" + ",".join(f'{name}="{text}"' for name, text in pairs) + "}"


def gauges_of(sessions: Any, models: Iterable[Any], recorder: Any = None) -> dict[str, float]:
    """What is measured just now of sessions and of policies, by name with its labels."""
    gauges: dict[str, float] = {
        "rlconnect_sessions": len(sessions),
        "rlconnect_sessions_evicted_total": sessions.evicted,
        "rlconnect_sessions_expired_total": sessions.expired,
    }
    if recorder is not None:
        gauges["rlconnect_episodes_recorded_total"] = recorder.episodes
        gauges["rlconnect_episodes_lost_total"] = recorder.failed
    for model in models:
        for version in model.versions.values():
            label = labels(policy=model.name, version=version.number)
            gauges[f"rlconnect_rows_total{label}"] = version.steps
            gauges[f"rlconnect_forward_passes_total{label}"] = version.batches
            gauges[f"rlconnect_waiting{label}"] = len(version)
        gauges[f"rlconnect_version{labels(policy=model.name)}"] = model.current.number
    return gauges
