"""`rlconnect adapt`, `verify` and `rollout`: what a policy does, and whether it still does it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.errors import PieceError
from .command_line import command_line
from .options import FINDING, Env, Json, Model, NoHost, One, Trusted, from_user, print_json, trusted

if TYPE_CHECKING:
    from ..bridge.proof.evidence import Evidence
    from ..bridge.proof.verdict import Verdict

_PATH = typer.Argument(
    metavar="PATH", help="A checkpoint: a folder, a checkpoint-<n> file, or a URL."
)


def adapt(
    path: Annotated[str, _PATH],
    env: Env = None,
    obs: Annotated[
        list[str] | None,
        typer.Option("--obs", metavar="STEP", help="A step on observations; may be repeated."),
    ] = None,
    action: Annotated[
        list[str] | None,
        typer.Option("--action", metavar="STEP", help="A step on actions; may be repeated."),
    ] = None,
    reward: Annotated[
        list[str] | None, typer.Option("--reward", metavar="STEP", help="scale(...) or clip(...).")
    ] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="Take every proposed step, the doubtful ones too.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write the adapted policy here.")
    ] = None,
    policy: One = None,
    trust: Trusted = None,
    model: Model = None,
    as_json: Json = False,
) -> None:
    """Adapt a policy to an environment that has changed; a dry run without --out.

    Without steps of your own it shows what changed, what would absorb it and what it has to ask.
    A STEP is a call such as "drop_features([4, 5])" or "extend_action([0])".
    """
    from ..bridge.adapt import adapt as adapted_to
    from ..bridge.adapt import suggest_adapter
    from ..bridge.front.load import as_policies
    from ..bridge.step_text import step_text, steps_from_text
    from .theme import console

    source = _policy(path, policy, trusted(trust, model))
    made = env_of(env)
    suggestion = suggest_adapter(source, made)
    diffs = (suggestion.observations, suggestion.actions)
    given = [
        steps_from_text(texts) if texts else diff.steps
        for texts, diff in zip((obs, action), diffs, strict=True)
    ]
    asked = [
        question
        for texts, diff in zip((obs, action), diffs, strict=True)
        if not texts and not diff.is_sure
        for question in diff.questions
    ]
    is_settled = accept or not asked
    if is_settled:
        adapted = adapted_to(
            source, env=made, obs=given[0], action=given[1], reward=steps_from_text(reward or [])
        )
        if out is not None:
            as_policies(adapted).save(out)
    steps = {
        name: [step_text(step) for step in own]
        for name, own in zip(("obs", "action"), given, strict=True)
    }
    if as_json:
        print_json(
            {
                "observations": str(suggestion.observations),
                "actions": str(suggestion.actions),
                "questions": asked,
                "steps": steps,
                "settled": is_settled,
                "written": str(out) if is_settled and out is not None else None,
            }
        )
    else:
        from .adapt_page import adapt_page

        where = str(out) if out is not None else None
        console().print(adapt_page(path, env, suggestion, steps, is_settled, where))
    if not is_settled:
        raise typer.Exit(FINDING)


def verify(
    path: Annotated[str, _PATH],
    other: Annotated[
        str | None,
        typer.Argument(
            metavar="OTHER", help="Another checkpoint; its own certificate if left out."
        ),
    ] = None,
    env: Env = None,
    episodes: Annotated[int, typer.Option("--episodes", min=1, help="Played in --env.")] = 8,
    samples: Annotated[
        int, typer.Option("--samples", min=1, help="Random episodes, where there is no --env.")
    ] = 64,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FILE",
            help="Recorded observations instead: .npy, .npz, or episodes (.msgpack).",
        ),
    ] = None,
    tolerance: Annotated[
        float, typer.Option("--tolerance", help="What may differ, absolutely and relatively.")
    ] = 1e-5,
    seed: Annotated[int, typer.Option("--seed", help="Of draws and episodes.")] = 0,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write an HTML page.")
    ] = None,
    no_host: NoHost = False,
    policy: One = None,
    trust: Trusted = None,
    model: Model = None,
    as_json: Json = False,
) -> None:
    """Prove that two policies do the same, or that one does what it did when it was saved.

    Exit code 1 tells that they differ by more than the tolerance.
    """
    from ..bridge.loading.natives import natives_in
    from ..bridge.proof.certified import verify_certificate
    from ..bridge.proof.verify import verify as compare
    from .progress import progress_line

    verdicts: list[Verdict] = []
    if other is None:
        if env is not None:
            raise PieceError(
                "a certificate is checked without an environment", hint="name a second checkpoint."
            )
        for loaded in natives_in(path, policy, **trusted(trust, model)).policies.values():
            verdicts.append(verify_certificate(loaded, absolute=tolerance, relative=tolerance))
    else:
        from ..bridge.proof.verify import staged

        words = trusted(trust, model)
        with progress_line("comparing", shown=not as_json) as advance:
            verdicts.append(
                compare(
                    staged(_policy(path, policy, words), path),
                    staged(_policy(other, policy, words), other),
                    env=None if env is None else env_of(env),
                    episodes=episodes,
                    observations=data,
                    samples=samples,
                    seed=seed,
                    absolute=tolerance,
                    relative=tolerance,
                    progress=advance,
                )
            )
    paths = [path] if other is None else [path, other]
    evidence = evidence_of(paths, None if other is None else seed, no_host)
    verdicts = [each.with_evidence(evidence) for each in verdicts]
    if report is not None:
        verdicts[0].save_report(report)
    if as_json:
        print_json([each.to_dict() for each in verdicts])
    else:
        from .theme import console
        from .verify_page import evidence_lines, verify_page

        for each in verdicts:
            console().print(verify_page(each))
        for line in evidence_lines(evidence):
            console().print(line, soft_wrap=True)
        if report is not None:
            console().print(f"report  {report}", soft_wrap=True)
    if not all(each.is_equal for each in verdicts):
        raise typer.Exit(FINDING)


def evidence_of(paths: list[str], seed: int | None, no_host: bool) -> Evidence:
    """What a report tells of this run: these checkpoints, this command, this machine."""
    from ..bridge.proof.evidence import Evidence, Side

    sides = [Side.at(each) for each in paths]
    return Evidence.of_now(*sides, seed=seed, command=command_line(), tell_host=not no_host)


def rollout(
    path: Annotated[str, _PATH],
    env: Annotated[
        str, typer.Option("--env", metavar="ENV", help="An id of gymnasium's, or module:NAME.")
    ],
    episodes: Annotated[int, typer.Option("--episodes", min=1, help="How many.")] = 10,
    seed: Annotated[int, typer.Option("--seed", help="Of the first episode.")] = 0,
    explore: Annotated[
        bool, typer.Option("--explore", help="Explore as in training, instead of the best action.")
    ] = False,
    policy: One = None,
    trust: Trusted = None,
    model: Model = None,
    as_json: Json = False,
) -> None:
    """Let a policy act in an environment and tell what it earns."""
    from ..bridge.actor.actor import Actor
    from ..bridge.rollout import rollout as play
    from .progress import progress_line

    with progress_line("playing", shown=not as_json) as advance:
        played = play(
            Actor.from_checkpoint(path, policy_ids=policy, **trusted(trust, model)),
            env_of(env),
            episodes=episodes,
            seed=seed,
            explore=explore,
            progress=advance,
        )
    if as_json:
        print_json(played.to_dict())
    else:
        from .rollout_page import rollout_page
        from .theme import console

        console().print(rollout_page(path, env, played))


def _policy(path: str, policy: str | None, words: dict[str, Any]) -> Any:
    """The one policy of a checkpoint, as its stack has it."""
    from ..bridge.loading.natives import natives_in

    return natives_in(path, policy, **words).only


def env_of(name: str | None) -> Any:
    """A live environment from an id, or from `module:NAME` of the user's own code."""
    if name is None:
        raise PieceError("which environment?", hint="--env ID, or --env module:NAME.")
    import gymnasium as gym

    attribute = name.partition(":")[2]
    if attribute and not attribute.endswith(tuple(f"-v{n}" for n in range(10))):
        made = from_user(name, "--env")
        return made() if callable(made) else made
    try:
        return gym.make(name)
    except gym.error.Error as error:
        raise PieceError(f"environment {name!r} cannot be made", found=str(error)) from None
