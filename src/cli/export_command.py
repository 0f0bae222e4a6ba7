"""`rlconnect export`: a policy's whole step as one file for other programs."""

from __future__ import annotations

import warnings
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from .options import Model, One, Trusted, print_json, trusted


class ArtifactKind(str, Enum):
    """What an artifact may be."""

    onnx = "onnx"
    pt2 = "pt2"


def export(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH", help="A checkpoint: a folder, a checkpoint-<n> file, or a URL."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The file to write.")],
    to: Annotated[
        ArtifactKind | None,
        typer.Option("--to", help="What to write; the ending of FILE says it otherwise."),
    ] = None,
    policy: One = None,
    trust: Trusted = None,
    model: Model = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifest as JSON.")] = False,
) -> None:
    """Write a policy's whole step as one ONNX or torch.export file.

    The file takes raw observations of the environment and gives actions for it. It is checked
    against the policy before it is written; FILE.json beside it tells a runner the rest.
    """
    from ..bridge.actor.actor import Actor, SlowPieceWarning
    from ..bridge.compiled.artifact import export_actor

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowPieceWarning)  # the export itself refuses these
        actor = Actor.from_checkpoint(path, policy_ids=policy, **trusted(trust, model))
    manifest = export_actor(actor, out, to=None if to is None else to.value)
    if as_json:
        print_json(manifest)
        return
    from .theme import console

    page = console()
    for line in written_lines(out, manifest):
        page.print(line, soft_wrap=True, highlight=False, markup=False)


def written_lines(out: Path, manifest: dict[str, Any]) -> list[str]:
    """What was written: what goes in, what comes out, what it does."""
    from ..core.visible import visible

    kind = f"ONNX, opset {manifest['opset']}" if manifest["kind"] == "onnx" else "torch.export"
    lines = [
        f"wrote {out} ({manifest['size']:,} bytes, {kind})",
        f"  in   {', '.join(map(_port, manifest['inputs']))}",
        f"  out  {', '.join(map(_port, manifest['outputs']))}",
        f"  does {' -> '.join(manifest['pieces'])}",
        f"  checked against the policy: equal within {manifest['tolerance']:g}",
    ]
    return list(map(visible, lines))


def _port(port: dict[str, Any]) -> str:
    shape = "".join(f", {size}" for size in port["shape"])
    return f"{port['name']} (batch{shape}) {port['dtype']}"
