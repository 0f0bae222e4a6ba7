"""A policy's whole step as one file that other programs run."""

from __future__ import annotations

import os
from typing import Any

from ...core.importing.torch_needed import torch_needed
from ..actor.actor import Actor
from ..loading.natives import Source


def export(
    source: Source,
    path: str | os.PathLike[str],
    *,
    policy: str | None = None,
    trust: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """Write a policy's whole step, from raw observations to actions, as ONNX or torch's `.pt2`.

    The file is checked against the policy, and its manifest lies beside it.

    Args:
        source: A path, or what `rlconnect.load` gave.
        path: The file, which ends in `.onnx` or `.pt2`.
        policy: Which of several policies.
        trust: Your own classes that the checkpoint names.
        **options: `to`, `opset` and `observation_space`, as for `export_actor`.

    Returns:
        The manifest.

    Raises:
        PieceError: Some piece has no tensor form, or nobody says which policy of several.
        MissingExtraError: ONNX's packages are not installed, or torch is too old.
    """
    with torch_needed("exporting"):
        from ..compiled.artifact import export_actor
    words = {} if trust is None else {"trust": trust}
    return export_actor(Actor.from_policy(source, **words), path, policy=policy, **options)
