"""The versions of a model and their uses as plain data, for workers that start late."""

from __future__ import annotations

from typing import Any

from ...core.errors import RlconnectError
from ..admin import load
from ..answers import log
from ..models import Model


def arrangement_of(model: Model) -> dict[str, Any]:
    """A policy's versions by number with their paths, and what each is for."""
    return {
        "name": model.name,
        "versions": [[version.number, version.path] for version in model.versions.values()],
        "current": model.current.number,
        "canary": None if model.canary is None else [model.canary.number, model.canary_share],
        "shadow": None if model.shadow is None else model.shadow.number,
    }


async def arrange(model: Model, arrangement: dict[str, Any]) -> None:
    """Make a policy like another worker's.

    Raises:
        RlconnectError: What is to act cannot be loaded any more.
    """
    if arrangement == arrangement_of(model):
        return
    for number, path in arrangement["versions"]:
        if number in model.versions:
            continue
        try:
            await load(model, path, number)
        except RlconnectError as error:
            if number == arrangement["current"]:
                raise
            log.error("version %d of %s cannot be loaded again: %s", number, model.name, error)
    model.promote(model.numbered(arrangement["current"]), move=False)
    numbers = {number for number, _ in arrangement["versions"]}
    for number in [*model.versions]:
        if number not in numbers:
            model.drop(number)
    if arrangement["canary"] is not None and arrangement["canary"][0] in model.versions:
        model.try_as_canary(model.numbered(arrangement["canary"][0]), arrangement["canary"][1])
    if arrangement["shadow"] in model.versions:
        model.follow_as_shadow(model.numbered(arrangement["shadow"]))
