"""`rlconnect evaluate`: what is a policy worth, by recorded data alone?"""

from __future__ import annotations

from typing import Annotated

import typer

from .options import FINDING, PATH, Chosen, Data, Json, Loading, NoHost, Observations
from .printing import print_json, show, show_lines
from .sources import Source


def evaluate(
    path: Annotated[str, PATH],
    data: Data,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="OTHER", help="Another checkpoint, on the same data."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            metavar="NAME",
            help="is, pdis, wis, dm or dr; may be repeated.",
        ),
    ] = None,
    gamma: Annotated[
        float | None, typer.Option("--gamma", min=0, max=1, help="The discount; the policy's own.")
    ] = None,
    greedy: Annotated[
        bool, typer.Option("--greedy", help="Judge it as one that never explores.")
    ] = False,
    observations: Observations = "auto",
    behavior: Annotated[
        str | None,
        typer.Option(
            "--behavior",
            metavar="PATH",
            help="The checkpoint that recorded the data, if the data has no probabilities.",
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option("--rounds", min=0, help="How often the model of values goes over the data."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the model's first weights.")] = 0,
    no_host: NoHost = False,
    *,
    chosen: Chosen,
    loading: Loading,
    as_json: Json = False,
) -> None:
    """Estimate what a policy is worth by recorded data, without an environment.

    Exit code 1 tells that the data cannot answer the question.
    """
    from ..bridge.over_data.appraisal import appraise
    from .verify_command import evidence_of

    def of(where: str | None) -> object:
        return None if where is None else Source(where, chosen, loading).natives()

    appraisal = appraise(
        Source(path, chosen, loading).natives(),
        data,
        against=of(against),  # type: ignore[arg-type]  # natives are a source
        behavior=of(behavior),  # type: ignore[arg-type]
        methods=method,
        gamma=gamma,
        q_model=None if rounds is None else {"n_iters": rounds, "solves": True},
        observations=observations,  # type: ignore[arg-type]  # looked at there
        greedy=greedy,
        name=path,
        other_name=against or "",
        seed=seed,
    )
    paths = [path, *([] if against is None else [against])]
    appraisal = appraisal.with_evidence(evidence_of(paths, seed, no_host))
    if as_json:
        print_json(appraisal.to_dict())
    else:
        from .evaluate_page import evaluate_page
        from .verify_page import evidence_lines

        show(evaluate_page(appraisal))
        if appraisal.evidence is not None:
            show_lines(*evidence_lines(appraisal.evidence))
    if not appraisal.answers:
        raise typer.Exit(FINDING)
