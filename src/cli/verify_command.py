"""`rlconnect verify`: do two policies do the same, does one do what it did when it was saved?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.errors import PieceError
from .command_line import command_line
from .environments import Environment
from .options import FINDING, PATH, Chosen, Episodes, Json, Loading, NoHost, Recorded, Report, Seed
from .printing import print_json, show, show_lines
from .sources import Source

if TYPE_CHECKING:
    from ..bridge.proof.evidence import Evidence
    from ..bridge.proof.verdict import Verdict

_OTHER = typer.Argument(
    metavar="OTHER", help="Another checkpoint; its own certificate if left out."
)


def verify(
    path: Annotated[str, PATH],
    other: Annotated[str | None, _OTHER] = None,
    *,
    environment: Environment,
    episodes: Episodes = 8,
    samples: Annotated[
        int, typer.Option("--samples", min=1, help="Random episodes, where there is no --env.")
    ] = 64,
    data: Recorded = None,
    tolerance: Annotated[
        float, typer.Option("--tolerance", help="What may differ, absolutely and relatively.")
    ] = 1e-5,
    seed: Seed = 0,
    report: Report = None,
    no_host: NoHost = False,
    chosen: Chosen,
    loading: Loading,
    as_json: Json = False,
) -> None:
    """Prove that two policies do the same, or that one does what it did when it was saved.

    Exit code 1 tells that they differ by more than the tolerance.
    """
    from .theme import progress_line

    source = Source(path, chosen, loading, environment)
    if other is not None:
        theirs = Source(other, chosen, loading, environment)
        how = {
            "episodes": episodes,
            "seed": seed,
            "absolute": tolerance,
            "relative": tolerance,
        }
        drawn = {"samples": samples, "observations": data}
        with progress_line("comparing", shown=not as_json) as advance:
            verdicts = _compared(source, theirs, drawn, {**how, "progress": advance})
    elif environment.env is not None:
        raise PieceError(
            "a certificate is checked without an environment", hint="name a second checkpoint."
        )
    else:
        from ..bridge.proof.certified import verify_certificate

        verdicts = {
            name: verify_certificate(side, absolute=tolerance, relative=tolerance)
            for name, side in source.natives().policies.items()
        }
    paths = [path] if other is None else [path, other]
    evidence = evidence_of(paths, None if other is None else seed, no_host)
    verdicts = {name: verdict.with_evidence(evidence) for name, verdict in verdicts.items()}
    reports = _save_reports(verdicts, report)
    if as_json:
        print_json([verdict.to_dict() for verdict in verdicts.values()])
    else:
        from .verify_page import evidence_lines, verify_page

        for verdict in verdicts.values():
            show(verify_page(verdict))
        show_lines(*evidence_lines(evidence), *(f"report  {file}" for file in reports))
    if not all(each.is_equal for each in verdicts.values()):
        raise typer.Exit(FINDING)


def _compared(
    ours: Source, theirs: Source, drawn: dict[str, Any], how: dict[str, Any]
) -> dict[str, Verdict]:
    """Two checkpoints, policy by policy."""
    from ..bridge.environments import has_agents
    from ..bridge.proof.agents import verify_agents
    from ..bridge.proof.verify import paired, staged
    from ..bridge.proof.verify import verify as compare

    pairs = paired(ours.natives().policies, theirs.natives().policies)
    sides = [
        {
            name: staged(pair[side], _name(source.path, name, len(pairs)))
            for name, pair in pairs.items()
        }
        for side, source in enumerate((ours, theirs))
    ]
    named = ours.env is not None and ours.env.env is not None
    env = ours.env.make(ours.path) if named and ours.env is not None else None
    if env is not None and has_agents(env):
        agents = ours.loading.agents()
        return verify_agents(sides[0], sides[1], env, policy_mapping_fn=agents, **how)
    return {
        name: compare(sides[0][name], sides[1][name], env=env, **drawn, **how) for name in pairs
    }


def _name(path: str, name: str, count: int) -> str:
    return path if count == 1 else f"{path}, {name}"


def _save_reports(verdicts: dict[str, Verdict], report: Path | None) -> list[Path]:
    """A page for each comparison; of several each has its policy in the file's name."""
    if report is None:
        return []
    files = []
    for number, verdict in enumerate(verdicts.values()):
        is_one = len(verdicts) == 1
        file = report if is_one else report.with_name(f"{report.stem}-{number}{report.suffix}")
        verdict.save_report(file)
        files.append(file)
    return files


def evidence_of(paths: list[str], seed: int | None, no_host: bool) -> Evidence:
    """The evidence of this run for a report: checkpoints, command, machine."""
    from ..bridge.proof.evidence import Evidence, Side

    sides = [Side.at(path) for path in paths]
    return Evidence.of_now(*sides, seed=seed, command=command_line(), tell_host=not no_host)
