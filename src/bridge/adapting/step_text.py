"""Adapter steps as people type them: `drop_features([4, 5])`, `scale(factor=0.5)`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from ...core.adapters import Step, step_from_data, steps
from ...core.errors import PieceError, UnknownNameError


def steps_from_text(texts: Sequence[str]) -> tuple[Step, ...]:
    """Steps from calls in text, in order; one text may hold several, separated by semicolons.

    A call is a step's name with plain values; nothing is run.

    Example:
        >>> steps_from_text(["drop_features([4, 5]); scale(factor=0.5)"])
        (DropFeatures(indices=(4, 5)), Scale(factor=0.5, offset=0.0))
    """
    steps = []
    for text in texts:
        for part in text.split(";"):
            if part.strip():
                steps.append(_step(part.strip()))
    return tuple(steps)


def step_text(step: Step) -> str:
    """A step as `steps_from_text` reads it.

    Example:
        >>> from rlconnect.core.adapters import ExtendAction
        >>> step_text(ExtendAction([0.0]))
        'extend_action(values=[0.0])'
    """
    data = step.to_data()
    settings = [
        f"{setting.name}={data[setting.name]!r}"
        for setting in fields(step)  # type: ignore[arg-type]  # every step is a dataclass
        if data[setting.name] is not None
    ]
    return f"{step.kind}({', '.join(settings)})"


def _step(text: str) -> Step:
    try:
        call = ast.parse(text, mode="eval").body
    except SyntaxError:
        raise _odd(text) from None
    if isinstance(call, ast.Name):
        _kind(call.id)
        return step_from_data({"step": call.id})
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise _odd(text)
    names = [setting.name for setting in fields(_kind(call.func.id))]
    if len(call.args) > len(names) or any(word.arg is None for word in call.keywords):
        raise _odd(text, f"settings {names}")
    try:
        settings: dict[str, Any] = {
            name: ast.literal_eval(value) for name, value in zip(names, call.args, strict=False)
        }
        settings |= {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except ValueError:
        raise _odd(text) from None
    return step_from_data({"step": call.func.id, **settings})


def _kind(name: str) -> Any:
    try:
        return steps.get(name)
    except UnknownNameError as error:
        hint = error.hint if "did you mean" in error.hint else f"there are: {', '.join(steps)}."
        raise UnknownNameError(f"there is no adapter step {name!r}", hint=hint) from None


def _odd(text: str, expected: str = "NAME(setting=value, ...) with plain values") -> PieceError:
    return PieceError(
        f"{text!r} is no adapter step",
        expected=expected,
        hint=f"such as drop_features([4, 5]); there are: {', '.join(steps.names())}.",
    )
