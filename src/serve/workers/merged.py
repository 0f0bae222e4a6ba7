"""What several workers tell, as if one server told it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

_MOST_SESSIONS = 1000


def policies(told: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Descriptions of the same policies, with what each worker counted added up."""
    found = []
    for first, *others in zip(*told, strict=True):
        merged = {**first}
        everywhere = [first, *others]
        for name in {"moved", "stayed"} & first.keys():
            merged[name] = sum(each.get(name, 0) for each in everywhere)
        merged["versions"] = _versions(each["versions"] for each in everywhere)
        shadows = [each["shadow"] for each in everywhere if "shadow" in each]
        if "shadow" in first:
            merged["shadow"] = {
                **first["shadow"],
                **_added(shadows, ("rows", "differ", "failed")),
                "largest_difference": max(each["largest_difference"] for each in shadows),
            }
        found.append(merged)
    return found


def statistics(told: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What the page shows."""
    seconds: dict[int, dict[str, Any]] = {}
    for each in told:
        for own in each["recent"]:
            other = seconds.setdefault(own["at"], {**own, "answers": 0, "p50_ms": 0.0})
            count = other["answers"] + own["answers"]
            half = other["p50_ms"] * other["answers"] + own["p50_ms"] * own["answers"]
            most = max(other["p99_ms"], own["p99_ms"])
            other.update(answers=count, p50_ms=half / max(count, 1), p99_ms=most)
    return {
        **told[0],
        **_added(told, ("sessions", "evicted", "expired")),
        "started": min(each["started"] for each in told),
        "recent": [seconds[at] for at in sorted(seconds)],
        "policies": policies([each["policies"] for each in told]),
    }


def sessions(told: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Which sessions there are."""
    listed = [session for each in told for session in each["sessions"]]
    return {**_added(told, ("count",)), "sessions": listed[:_MOST_SESSIONS]}


def gauges(told: Sequence[dict[str, float]]) -> dict[str, float]:
    """What is measured just now: added up, but for the number of a version."""
    found: dict[str, float] = {}
    for each in told:
        for name, value in each.items():
            is_number = name.startswith("rlconnect_version{")
            found[name] = value if is_number else found.get(name, 0.0) + value
    return {**found, "rlconnect_workers": len(told)}


def _versions(told: Iterable[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    for listed in told:
        for each in listed:
            known = found.get(each["version"])
            counts = ("sessions", "rows", "forward_passes")
            found[each["version"]] = (
                each if known is None else {**known, **_added((known, each), counts)}
            )
    return [found[number] for number in sorted(found)]


def _added(told: Iterable[dict[str, Any]], names: Iterable[str]) -> dict[str, Any]:
    held = [*told]
    return {name: sum(each[name] for each in held) for name in names}
