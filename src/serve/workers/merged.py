"""Reports of several workers as those of one server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

_MOST_SESSIONS = 1000


def policies(reports: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Descriptions of the same policies, with what each worker counted added up."""
    merged_policies = []
    for first, *others in zip(*reports, strict=True):
        merged = {**first}
        everywhere = [first, *others]
        for name in {"moved", "stayed"} & first.keys():
            merged[name] = sum(report.get(name, 0) for report in everywhere)
        merged["versions"] = _versions(report["versions"] for report in everywhere)
        shadows = [report["shadow"] for report in everywhere if "shadow" in report]
        if "shadow" in first:
            merged["shadow"] = {
                **first["shadow"],
                **_added(shadows, ("rows", "differ", "failed")),
                "largest_difference": max(shadow["largest_difference"] for shadow in shadows),
            }
        merged_policies.append(merged)
    return merged_policies


def statistics(reports: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What the page shows."""
    seconds: dict[int, dict[str, Any]] = {}
    for each in reports:
        for second in each["recent"]:
            other = seconds.setdefault(second["at"], {**second, "answers": 0, "p50_ms": 0.0})
            count = other["answers"] + second["answers"]
            half = other["p50_ms"] * other["answers"] + second["p50_ms"] * second["answers"]
            most = max(other["p99_ms"], second["p99_ms"])
            other.update(answers=count, p50_ms=half / max(count, 1), p99_ms=most)
    return {
        **reports[0],
        **_added(reports, ("sessions", "evicted", "expired")),
        "started": min(report["started"] for report in reports),
        "recent": [seconds[at] for at in sorted(seconds)],
        "policies": policies([report["policies"] for report in reports]),
    }


def sessions(reports: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Which sessions there are."""
    listed = [session for report in reports for session in report["sessions"]]
    return {**_added(reports, ("count",)), "sessions": listed[:_MOST_SESSIONS]}


def gauges(reports: Sequence[dict[str, float]]) -> dict[str, float]:
    """What is measured just now: added up, but for the number of a version."""
    sums: dict[str, float] = {}
    for each in reports:
        for name, value in each.items():
            is_number = name.startswith("rlconnect_version{")
            sums[name] = value if is_number else sums.get(name, 0.0) + value
    return {**sums, "rlconnect_workers": len(reports)}


def _versions(reports: Iterable[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    by_number: dict[int, dict[str, Any]] = {}
    for listed in reports:
        for each in listed:
            so_far = by_number.get(each["version"])
            counts = ("sessions", "rows", "forward_passes")
            by_number[each["version"]] = (
                each if so_far is None else {**so_far, **_added((so_far, each), counts)}
            )
    return [by_number[number] for number in sorted(by_number)]


def _added(reports: Iterable[dict[str, Any]], names: Iterable[str]) -> dict[str, Any]:
    listed = [*reports]
    return {name: sum(item[name] for item in listed) for name in names}
