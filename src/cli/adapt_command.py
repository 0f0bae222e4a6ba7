"""`rlconnect adapt`: a policy for an environment that has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .environments import Environment
from .options import FINDING, PATH, ActionSteps, Chosen, DryRun, Json, Loading, ObsSteps
from .printing import print_json, show, show_lines
from .sources import Source

_OUT = typer.Option("--out", metavar="DIR", help="Write the adapted policy here.")


def adapt(
    path: Annotated[str, PATH],
    environment: Environment,
    obs: ObsSteps = None,
    action: ActionSteps = None,
    reward: Annotated[
        list[str] | None, typer.Option("--reward", metavar="STEP", help="scale(...) or clip(...).")
    ] = None,
    yes: Annotated[
        bool,
        typer.Option("--yes", "--accept", help="Take every proposed step, the doubtful ones too."),
    ] = False,
    out: Annotated[Path | None, _OUT] = None,
    dry_run: DryRun = False,
    *,
    chosen: Chosen,
    loading: Loading,
    as_json: Json = False,
) -> None:
    """Adapt a policy to an environment that has changed; a dry run without --out.

    Without steps of your own it shows what changed, what would absorb it and what it has to ask.
    A STEP is a call such as "drop_features([4, 5])" or "extend_action([0])".
    """
    from ..bridge.adapting.adapt import adapt as adapted_to
    from ..bridge.adapting.adapt import suggest_adapter
    from ..bridge.adapting.step_text import step_text, steps_from_text
    from ..bridge.front.load import as_policies

    environment.named()
    source = Source(path, chosen, loading)
    natives = source.natives()
    policies = natives.policies if chosen.everything else {"": natives.only}
    env = environment.make(path)
    adapted, reports, pages = {}, {}, []
    for name, policy in policies.items():
        suggestion = suggest_adapter(policy, env)
        diffs = (suggestion.observations, suggestion.actions)
        steps_of_both = [
            steps_from_text(texts) if texts else diff.steps
            for texts, diff in zip((obs, action), diffs, strict=True)
        ]
        questions = [
            question
            for texts, diff in zip((obs, action), diffs, strict=True)
            if not texts and not diff.is_sure
            for question in diff.questions
        ]
        is_settled = yes or not questions
        if is_settled:
            steps = steps_from_text(reward or [])
            adapted[name or next(iter(natives.policies))] = adapted_to(
                policy, env=env, obs=steps_of_both[0], action=steps_of_both[1], reward=steps
            )
        named = {
            kind: [step_text(step) for step in steps]
            for kind, steps in zip(("obs", "action"), steps_of_both, strict=True)
        }
        reports[name] = {
            "observations": str(suggestion.observations),
            "actions": str(suggestion.actions),
            "questions": questions,
            "steps": named,
            "settled": is_settled,
        }
        pages.append((suggestion, named, is_settled))
    is_written = len(adapted) == len(policies) and out is not None and not dry_run
    if is_written and out is not None:
        as_policies(adapted).save(out)
    where = str(out) if is_written else None
    if as_json:
        reports = {name: {**each, "written": where} for name, each in reports.items()}
        print_json(reports if chosen.everything else reports[""])
    else:
        from .adapt_page import adapt_page, next_command

        for suggestion, _, is_settled in pages:
            show(adapt_page(suggestion, is_settled, where))
        if where is None:
            proposed = pages[0][1] if len(pages) == 1 else {}
            is_open = len(adapted) < len(policies)
            show_lines(next_command(path, proposed, is_open=is_open))
    if len(adapted) < len(policies):
        raise typer.Exit(FINDING)
