"""A policy's whole step as one file other programs run: torch.export's `.pt2`, or ONNX.

The artifact takes raw observations of an environment and gives actions for it; states go in and
come out explicitly. Beside it lies a manifest, JSON, that says everything a runner must know, the
artifact's SHA-256 among it. It is written last: where there is one, it is of this artifact.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import torch
from gymnasium.spaces import Space
from packaging.version import Version

from ...core.data.array_codec import array_to_data
from ...core.errors import MissingExtraError, PieceError
from ...core.spaces.own_layout import space_to_data
from ...core.step.plan import ActPlan
from ...core.step.tensor_step import placed
from ...core.text.first_line import first_line
from ...core.types import Array
from ...core.version import __version__
from ..actor.actor import Actor
from ..actor.players import PipelinePlayer
from ..exported.files import write_artifact
from ..exported.opened import onnx_session, quiet
from .flat_step import FlatStep, Port
from .traced_plan import traced_plan

NEEDED_ONNXSCRIPT: Final = "0.6.2"

Runner = Callable[[Sequence[Array]], list[Array]]


def expect_onnx() -> None:
    """Check that the packages for writing a model are installed, before anything is traced."""
    try:
        import onnx  # noqa: F401
        import onnxscript
    except ImportError as error:
        raise _missing("onnx and onnxscript") from error
    new_enough("onnxscript", onnxscript.__version__, NEEDED_ONNXSCRIPT)


def onnx_model(program: Any, step: FlatStep, opset: int) -> bytes:
    """An exported program as an ONNX model."""
    try:
        with quiet():
            exported = torch.onnx.export(
                program,
                tuple(placed(port.zeros(3), "cpu") for port in step.inputs),
                input_names=[port.name for port in step.inputs],
                output_names=[port.name for port in step.outputs],
                opset_version=opset,
                dynamo=True,
                verbose=False,
            )
    except Exception as error:  # it passes through many packages, each with errors of its own
        raise PieceError(
            "torch makes no ONNX model of the policy",
            found=first_line(error),
            hint="a file that ends in .pt2 is torch's own.",
        ) from error
    if exported is None:
        raise PieceError("torch gave no ONNX program")
    model = exported.model_proto
    for node in model.graph.node:  # they tell where on this machine the code lies
        del node.metadata_props[:]
        node.doc_string = ""
    return bytes(model.SerializeToString())


def new_enough(name: str, found: str, needed: str) -> None:
    """Check that a package is new enough for writing files for other programs."""
    if Version(found).release < Version(needed).release:
        raise MissingExtraError(
            f"{name} is too old to write a file for other programs",
            expected=f"{name} {needed} or newer",
            found=f"{name} {found}",
            hint="pip install 'rlconnect[export]'",
        )


def onnx_runner(data: bytes, step: FlatStep) -> Runner:
    """Run an ONNX model with onnxruntime on one thread, arrays in and out."""
    session = onnx_session(data)
    input_names = {port.name for port in session.get_inputs()}

    def run(tensors: Sequence[Array]) -> list[Array]:
        pairs = zip(step.inputs, tensors, strict=True)
        inputs = {port.name: array for port, array in pairs if port.name in input_names}
        return list(session.run([port.name for port in step.outputs], inputs))

    return run


def _missing(what: str) -> MissingExtraError:
    return MissingExtraError(
        f"ONNX files need {what}, which is not installed.", hint="pip install 'rlconnect[export]'"
    )


Kind = Literal["onnx", "pt2"]
OPSET: Final = 18
NEEDED_TORCH: Final = "2.9"
TOLERANCE: Final = 1e-5
_CHECKED_ROWS: Final = (1, 2, 5)


def export_actor(
    actor: Actor,
    path: str | os.PathLike[str],
    *,
    to: Kind | None = None,
    policy: str | None = None,
    opset: int = OPSET,
    observation_space: Space[Any] | None = None,
) -> dict[str, Any]:
    """Write an actor's whole step as one artifact, checked against the actor.

    Args:
        actor: What acts.
        path: The file; its manifest lies beside it as `<file>.json`.
        to: "onnx" or "pt2"; what the file's name ends in if None.
        policy: Which of several policies.
        opset: ONNX's.
        observation_space: What the environment gives; see `compile_actor`.

    Returns:
        The manifest.

    Raises:
        PieceError: Some piece has no tensor form, or the artifact does not do what the actor does.
        MissingExtraError: ONNX's packages are not installed, or they or torch are too old.
        CheckpointWriteError: The disk refuses.
    """
    target = Path(path)
    kind = to or target.suffix.removeprefix(".")
    if kind not in ("onnx", "pt2"):
        raise PieceError(
            f"nobody knows what {target.name} is to be", expected="'onnx' or 'pt2'", found=kind
        )
    plan = plan_of(actor, policy, observation_space)
    if plan.missing:
        raise PieceError(
            f"policy {plan.name!r} cannot be exported whole",
            found=f"no tensor form: {', '.join(plan.missing)}",
            hint="declare them as adapter steps, such as Scale(0.5), or compile_actor(actor).",
        )
    if kind == "onnx":
        expect_onnx()
    step = FlatStep(plan)
    program = exported(step)
    data = _pt2(program) if kind == "pt2" else onnx_model(program, step, opset)
    run = _pt2_runner(data) if kind == "pt2" else onnx_runner(data, step)
    _compare(step, run, plan.name)
    manifest = _manifest(plan, step, kind, opset, data)
    write_artifact(target, data, json.dumps(manifest, indent=1, sort_keys=True) + "\n")
    return manifest


def plan_of(
    actor: Actor, policy: str | None = None, observation_space: Space[Any] | None = None
) -> ActPlan:
    """The plan of one of an actor's policies, with users' connectors traced.

    `observation_space` is what the environment gives, if only such connectors know it.
    """
    players = actor.players
    if policy is None and len(players) > 1:
        raise PieceError(
            "several policies, and one artifact acts as one",
            expected=f"policy= one of {list(players)}",
            hint="export them one by one.",
        )
    name = next(iter(players)) if policy is None else policy
    if name not in players:
        raise PieceError(f"no policy {name!r}", expected=f"one of {list(players)}")
    player: Any = players[name]
    plan = getattr(player, "plan", None)
    if not isinstance(plan, ActPlan):
        raise PieceError(f"policy {name!r} has no tensor form", found=", ".join(player.missing))
    if isinstance(player, PipelinePlayer):
        return traced_plan(player.policy, observation_space)
    if observation_space is not None:
        raise PieceError(
            f"policy {name!r} knows what its environment gives",
            expected=str(plan.observation_space),
            found=str(observation_space),
            hint="adapt(policy, env=...) lets a policy act in another environment.",
        )
    return plan


def exported(step: FlatStep) -> Any:
    """The step as an exported program with a free number of rows."""
    new_enough("torch", torch.__version__, NEEDED_TORCH)
    rows = torch.export.Dim("batch")
    examples = tuple(placed(port.zeros(3), "cpu") for port in step.inputs)
    shapes = tuple({0: rows} for _ in examples)
    try:
        with quiet(), torch.no_grad(), step.naming_inputs() as named:
            program = torch.export.export(named, examples, dynamic_shapes=shapes, strict=False)
    except Exception as error:  # whatever a user's own model raises under a tracer
        raise PieceError(
            f"torch cannot trace policy {step.step.plan.name!r}",
            found=first_line(error),
            hint="a custom model must be free of choices that depend on values.",
        ) from error
    for node in program.graph.nodes:  # they tell where on this machine the code lies
        node.meta.pop("stack_trace", None)
    return program


def _pt2(program: Any) -> bytes:
    buffer = io.BytesIO()
    try:
        with quiet():
            torch.export.save(program, buffer)
    except Exception as error:  # a user's own model may hold what torch writes nowhere
        raise PieceError(
            "torch cannot write the policy's program",
            found=first_line(error),
            hint="export it to a file that ends in .onnx.",
        ) from error
    return buffer.getvalue()


def _pt2_runner(data: bytes) -> Runner:
    with quiet():
        module = torch.export.load(io.BytesIO(data)).module()

    def run(tensors: Sequence[Array]) -> list[Array]:
        with torch.no_grad():
            outputs = module(*(placed(tensor, "cpu") for tensor in tensors))
        return [output.numpy() for output in outputs]

    return run


def _compare(step: FlatStep, run: Runner, name: str) -> None:
    """Check an artifact against the step that it was made from, at several numbers of rows."""
    rng = np.random.default_rng(0)
    for rows in _CHECKED_ROWS:
        inputs = [_drawn(port, rows, rng) for port in step.inputs]
        with torch.no_grad():
            expected = [each.numpy() for each in step(*(placed(each, "cpu") for each in inputs))]
        for port, want, got in zip(step.outputs, expected, run(inputs), strict=True):
            scale = max(1.0, float(np.abs(want).max(initial=0)))
            is_same = want.shape == got.shape and np.allclose(want, got, 0, TOLERANCE * scale)
            if not is_same:
                raise PieceError(
                    f"the artifact of policy {name!r} gives another {port.name!r}",
                    expected=str(want.reshape(-1)[:4]),
                    found=str(got.reshape(-1)[:4]),
                    hint="please report this with the checkpoint.",
                )


def _drawn(port: Port, rows: int, rng: np.random.Generator) -> Array:
    zeros = port.zeros(rows)
    if zeros.dtype == bool:
        return np.asarray(rng.random(zeros.shape) < 0.5)
    if zeros.dtype.kind == "f":
        return rng.normal(size=zeros.shape).astype(zeros.dtype)
    return np.asarray(rng.integers(0, 2, zeros.shape), zeros.dtype)


def _manifest(plan: ActPlan, step: FlatStep, kind: str, opset: int, data: bytes) -> dict[str, Any]:
    starts = dict(zip(plan.memory_names, plan.start, strict=True))
    return {
        "format": "rlconnect artifact",
        "format_version": 1,
        "written_by": f"rlconnect {__version__}",
        "kind": kind,
        "torch": torch.__version__,
        **({"opset": opset} if kind == "onnx" else {}),
        "sha256": hashlib.sha256(data).hexdigest(),
        "size": len(data),
        "batch": "any",
        "inputs": [port.to_data() for port in step.inputs],
        "outputs": [port.to_data() for port in step.outputs],
        "states": {name: array_to_data(start) for name, start in starts.items()},
        "first": "true in a row that begins an episode: its states are then not read",
        "observation_space": space_to_data(plan.observation_space),
        "action_space": space_to_data(plan.action_space),
        "pieces": [part.name for part in (*plan.obs, *plan.reward)]
        + ["network"]
        + [part.name for part in plan.action],
        "adapters": list(plan.origin.get("adapters", ())),
        "origin": {name: value for name, value in plan.origin.items() if name != "adapters"},
        "tolerance": TOLERANCE,
    }
