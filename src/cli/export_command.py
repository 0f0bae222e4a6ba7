"""`rlconnect export`: a policy's whole step as one file for other programs."""

from __future__ import annotations

import re
import warnings
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.data.damage import at
from ..core.data.file_names import names_trouble
from ..core.errors import PieceError
from .environments import Environment
from .options import PATH, Chosen, DryRun, Loading, place_for
from .printing import print_json, show_lines
from .sources import Source

if TYPE_CHECKING:
    from ..bridge.actor.actor import Actor


class ArtifactKind(str, Enum):
    """What an artifact may be."""

    onnx = "onnx"
    pt2 = "pt2"


def export(
    path: Annotated[str, PATH],
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="FILE", help="The file to write; of several policies, the folder."
        ),
    ],
    to: Annotated[
        ArtifactKind | None,
        typer.Option("--to", help="What to write; the ending of FILE says it otherwise."),
    ] = None,
    *,
    environment: Environment,
    chosen: Chosen,
    loading: Loading,
    dry_run: DryRun = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifest as JSON.")] = False,
) -> None:
    """Write a policy's whole step as one ONNX or torch.export file.

    The file takes raw observations of the environment and gives actions for it. It is checked
    against the policy before it is written; FILE.json beside it tells a runner the rest.
    """
    from ..bridge.actor.actor import Actor, SlowPieceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowPieceWarning)  # the export itself refuses these
        actor = Actor.from_policy(Source(path, chosen, loading, environment).natives())
    files = _files(list(actor.players), path, out, to, chosen)
    kind = None if to is None else to.value
    manifests = {name: _exported(actor, name, file, kind, dry_run) for name, file in files.items()}
    if as_json:
        many = chosen.everything or len(manifests) > 1
        print_json(manifests if many else next(iter(manifests.values())))
        return
    for name, manifest in manifests.items():
        show_lines(*written_lines(files[name], manifest, dry_run))


def _files(
    names: list[str], path: str, out: Path, to: ArtifactKind | None, chosen: Chosen
) -> dict[str, Path]:
    """Where each policy goes: one to the file, several into a folder of that name.

    Raises:
        PieceError: There are several, and nobody says which or all.
    """
    if len(names) == 1 and not chosen.everything:
        return {names[0]: out}
    if not (chosen.everything or chosen.ids):
        raise PieceError(
            f"{path} holds {len(names)} policies, and a file acts as one",
            expected="--policy ID, or --all for a folder of files",
            found=", ".join(names),
            hint="choose one with --policy ID, or give a folder: --all --out DIR.",
        )
    ending = "onnx" if to is None else to.value
    plain = {name: re.sub(r"[^\w.-]", "-", name).strip(".") or "policy" for name in names}
    is_clear = len({*plain.values()}) == len(plain) and not names_trouble(plain.values(), "win32")
    return {
        name: out / f"{plain[name]}{'' if is_clear else f'-{number}'}.{ending}"
        for number, name in enumerate(names)
    }


def _exported(actor: Actor, name: str, file: Path, kind: Any, dry_run: bool) -> dict[str, Any]:
    """Export one policy; to a place that is thrown away for a dry run."""
    from ..bridge.compiled.artifact import export_actor

    with place_for(file, dry_run=dry_run) as place:
        return export_actor(actor, place, to=kind, policy=name)


def show_program(file: Path, *, as_json: bool) -> None:
    """Print the manifest of an exported policy."""
    from ..bridge.exported.opened import read_manifest
    from ..core.text.visible import visible

    manifest = read_manifest(file)
    with at(f"{file.name}.json"):
        _, *lines = written_lines(file, manifest, is_claim=True)
    if as_json:
        print_json(manifest)
        return
    show_lines(f"an exported policy: {visible(str(file))}", *lines)


def written_lines(
    out: Path, manifest: dict[str, Any], dry_run: bool = False, *, is_claim: bool = False
) -> list[str]:
    """What was written: what goes in, what comes out, what it does."""
    from ..core.text.visible import visible

    kind = f"ONNX, opset {manifest['opset']}" if manifest["kind"] == "onnx" else "torch.export"
    lines = [
        f"{'would write' if dry_run else 'wrote'} {out} ({manifest['size']:,} bytes, {kind})",
        f"  in   {', '.join(map(_port, manifest['inputs']))}",
        f"  out  {', '.join(map(_port, manifest['outputs']))}",
        f"  does {' -> '.join(manifest['pieces'])}",
        f"  {'its manifest claims: ' if is_claim else ''}checked against the policy: "
        f"equal within {manifest['tolerance']:g}",
    ]
    if manifest["kind"] == "pt2":
        lines.append(
            f"  bound to torch {manifest['torch']}; others may not run it, ONNX runs anywhere"
        )
    return list(map(visible, lines))


def _port(port: dict[str, Any]) -> str:
    shape = "".join(f", {size}" for size in port["shape"])
    return f"{port['name']} (batch{shape}) {port['dtype']}"
