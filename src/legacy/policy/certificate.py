"""A parity certificate: a few observations with what a policy made of them, stage by stage.

It is saved with the policy, so any machine, device or release can tell whether it still acts as it
did where it was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np

from ...core import nest
from ...core.arrays.batching import batch as batch_items
from ...core.arrays.batching import unbatch
from ...core.arrays.stage_differences import Differences, StageComparison
from ...core.errors import WeightsError
from ...core.spaces.values import Course, sampled_courses
from ..connectors.adapted import seen_space
from .policy import Policy
from .stages import LegacyStages

_SEED: Final = 0
_COURSES: Final = 3
_LENGTH: Final = 3
_MOST_BYTES: Final = 1 << 20


def certificate_of(policy: Policy) -> dict[str, Any]:
    """Return the outputs of a policy for a few random observations; see `certificate_by`."""
    return certificate_by(lambda: LegacyStages(policy), seen_space(policy))


def certificate_by(stages: Callable[[], Any], space: Any) -> dict[str, Any]:
    """Return the outputs of all stages for a few random observations, as plain data and arrays.

    If the policy cannot process random observations (without connectors, for example), the
    certificate contains the reason.
    """
    try:
        courses = sampled_courses(
            space, count=_COURSES, length=_LENGTH, seed=_SEED, with_corners=False
        )
        if sum(np.asarray(leaf).nbytes for leaf in nest.flatten(courses)) > _MOST_BYTES:
            courses = [course[:2] for course in courses[:1]]
        observations = [batch_items(list(step)) for step in zip(*courses, strict=True)]
        steps = _steps(stages(), courses)
    except Exception as error:  # user code may stand anywhere in between
        return {"missing": f"{type(error).__name__}: {error}"[:300]}
    return {"observations": observations, "steps": steps}


def compare_with_certificate(
    policy: Policy, certificate: Mapping[str, Any], *, absolute: float, relative: float
) -> tuple[StageComparison, ...]:
    """Compare the outputs of a policy with those recorded in a certificate."""
    return compare_stages(
        LegacyStages(policy),
        certificate,
        absolute=absolute,
        relative=relative,
        weights=policy.get_weights(),
    )


def compare_stages(
    stages: Any,
    certificate: Mapping[str, Any],
    *,
    absolute: float,
    relative: float,
    weights: Mapping[str, Any],
    in_form: Callable[[Any, Any], Any] = lambda wanted, found: dict(wanted),
) -> tuple[StageComparison, ...]:
    """Compare stages with a certificate.

    `weights` are those of the policy by name. `in_form` converts expected values to the form of the
    found ones.
    """
    if "observations" not in certificate:
        raise WeightsError(
            "this policy has no parity certificate",
            found=str(certificate.get("missing", "none")),
            hint="compare it with its source: give `verify` both.",
        )
    rows = [list(unbatch(step)) for step in certificate["observations"]]
    courses: list[Course] = [list(course) for course in zip(*rows, strict=True)]
    differences = Differences(absolute, relative, weights)
    for found, expected in zip(_steps(stages, courses), certificate["steps"], strict=True):
        differences.add(found, in_form(expected, found))
    return differences.stages()


def check_certificate(policy: Policy, *, absolute: float = 1e-5, relative: float = 1e-5) -> None:
    """Raise unless a loaded policy acts as it did when it was saved."""
    extra = {} if policy.record is None else policy.record.extra
    certificate = extra.get("certificate") or {}
    check_stages(
        compare_with_certificate(policy, certificate, absolute=absolute, relative=relative),
        f"policy {policy.name!r} does not act as it did when it was saved",
        absolute,
    )


def check_stages(stages: Iterable[StageComparison], what: str, absolute: float = 1e-5) -> None:
    """Raise, with `what` it would mean, where a stage differs."""
    for stage in stages:
        if not stage.is_equal:
            raise WeightsError(
                what,
                expected=f"stage {stage.name!r} within {absolute:g}",
                found=stage.note or f"a difference of {stage.largest:.2g}",
                hint="`verify` shows every stage; custom connectors may differ.",
                stage=stage.name,
            )


def _steps(stages: Any, courses: list[Course]) -> list[dict[str, Any]]:
    slots = [f"certificate-{number}" for number in range(len(courses))]
    stages.reset(slots)
    steps = []
    for number, observations in enumerate(zip(*courses, strict=True)):
        rewards = None if number == 0 else [0.0] * len(slots)
        steps.append(stages.step(slots, list(observations), rewards))
    return steps
