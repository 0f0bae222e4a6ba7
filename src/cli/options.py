"""What commands share: options and exit codes.

Options that several commands take together are a dataclass, here or in `environments`; `grouped`
makes each of its fields an option of the command.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final, get_type_hints

import typer

from ..core.errors import ConfigError
from .imports import from_user, user_module

DONE: Final = 0
FINDING: Final = 1
MISTAKE: Final = 2
USER_FAILED: Final = 3

UsageError: type[Exception] = typer.BadParameter.__bases__[0]
"""What typer raises for a wrong command line; where that class lives depends on its version."""

PATH: Final = typer.Argument(
    metavar="PATH", help="A checkpoint: a folder, a file, an archive or a URL."
)
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a page.")]
Audit = Annotated[
    bool,
    typer.Option("--audit", help="List what an ordinary unpickler would call; nothing here does."),
]
One = Annotated[
    str | None, typer.Option("--policy", metavar="ID", help="This policy of several only.")
]
NoHost = Annotated[
    bool, typer.Option("--no-host", help="Leave the name of this machine out of what is told.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Do all of it, but put nothing in place.")]
Trusted = Annotated[
    list[str] | None,
    typer.Option(
        "--trust",
        metavar="MODULE:NAME",
        help="A class or function of yours that the checkpoint names; may be repeated.",
    ),
]
Data = Annotated[
    str,
    typer.Option(
        "--data", metavar="DIR", help="Recorded samples: a file, a folder, a pattern or a URL."
    ),
]
Explore = Annotated[
    bool, typer.Option("--explore", help="Explore as in training, instead of the best action.")
]
Episodes = Annotated[int, typer.Option("--episodes", min=1, help="Played in --env.")]
Recorded = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FILE",
        help="Recorded observations instead: .npy, .npz, episodes, or RLlib's samples.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Of draws and episodes.")]
Report = Annotated[
    Path | None, typer.Option("--report", "--html", metavar="FILE", help="Write an HTML page.")
]
Observations = Annotated[
    str,
    typer.Option(
        "--obs-form",
        "--obs",
        metavar="FORM",
        help="As the environment gave them (raw), or as a network behind connectors saw them "
        "(seen); auto tells by their shapes.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="FILE",
        help="The network as data, in TOML or JSON, where its code is not here.",
    ),
]


@dataclass(frozen=True)
class Chosen:
    """Which policies of a checkpoint."""

    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", metavar="ID", help="This policy or module; may be repeated."),
    ] = None
    everything: Annotated[bool, typer.Option("--all", help="All policies.")] = False

    @property
    def ids(self) -> list[str] | None:
        """The ids that were named; None for all.

        Raises:
            ConfigError: Some were named, and all of them as well.
        """
        if self.policy and self.everything:
            raise ConfigError("--policy and --all exclude each other", hint="give one of them.")
        return list(dict.fromkeys(self.policy)) if self.policy else None


ObsSteps = Annotated[
    list[str] | None,
    typer.Option("--obs", metavar="STEP", help="A step on observations; may be repeated."),
]
ActionSteps = Annotated[
    list[str] | None,
    typer.Option("--action", metavar="STEP", help="A step on actions; may be repeated."),
]


@dataclass(frozen=True)
class Loading:
    """How a checkpoint is loaded: what it lacks, and what of the user's it may name."""

    trust: Trusted = None
    imports: Annotated[
        list[str] | None,
        typer.Option(
            "--import",
            metavar="MODULE",
            help="A module or .py file of yours to import first: it registers what it has.",
        ),
    ] = None
    model: Model = None
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", metavar="FILE", help="JSON with settings laid over the checkpoint's."
        ),
    ] = None
    algorithm: Annotated[
        str | None,
        typer.Option("--algorithm", metavar="NAME", help="PPO, DQN, ...; if no file tells it."),
    ] = None
    trained_in: Annotated[
        str | None,
        typer.Option(
            "--trained-in", metavar="ENV", help="Where it learnt, if its spaces are lost."
        ),
    ] = None
    mapping: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="AGENT=ID",
            help="Which policy plays an agent, or all of a pattern (car_*=ID); may be repeated.",
        ),
    ] = None

    allow_program: Annotated[
        bool,
        typer.Option(
            "--allow-program",
            help="Run an exported program (.pt2, .onnx). It is code: only from a trusted source.",
        ),
    ] = False

    def words(self) -> dict[str, Any]:
        """As options of a loader; only those that were given.

        Raises:
            ConfigError: One of them cannot be used.
        """
        for module in self.imports or ():
            user_module(module, "--import")
        words: dict[str, Any] = {} if self.model is None else {"model": self.model}
        if self.trust:
            words["trust"] = [from_user(name, "--trust") for name in self.trust]
        if self.config is not None:
            words["config"] = _settings(self.config)
        if self.algorithm is not None:
            words["algorithm"] = self.algorithm
        if self.allow_program:
            words["allow_program"] = True
        return words

    def agents(self) -> dict[Any, str] | None:
        """The policy of each agent; a name that is a number also stands for the number.

        Raises:
            ConfigError: One is not AGENT=ID.
        """
        policies: dict[Any, str] = {}
        for pair in self.mapping or ():
            agent, sign, name = pair.partition("=")
            if not sign or not name:
                raise ConfigError(
                    f"--map {pair!r}",
                    expected="AGENT=ID",
                    hint="name an agent of the environment and a policy of the checkpoint.",
                )
            policies[agent] = name
            if agent.removeprefix("-").isdecimal():
                policies[int(agent)] = name
        return policies or None


@contextmanager
def place_for(out: Path, *, dry_run: bool) -> Iterator[Path]:
    """Where to write what goes to `out`; in a dry run a place that is thrown away."""
    with TemporaryDirectory() as folder:
        yield Path(folder, out.name or "out") if dry_run else out


def _settings(file: Path) -> dict[str, Any]:
    """The settings in a JSON file; spaces as `inspect --json` writes them under "data"."""
    from ..core.spaces.own_layout import space_from_data

    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
        problem = "" if isinstance(settings, dict) else type(settings).__name__
    except (OSError, ValueError) as error:
        problem = str(error)
    if problem:
        raise ConfigError(
            f"--config {str(file)!r}",
            expected="a JSON file with an object of settings",
            found=problem,
            hint='write {"model": {"fcnet_hiddens": [64, 64]}} or such into it.',
        )
    for name in ("observation_space", "action_space"):
        if isinstance(settings.get(name), dict):
            settings[name] = space_from_data(settings[name])
    return dict(settings)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters that are dataclasses become the options that these hold."""
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        if not is_dataclass(parameter.annotation):
            parameters.append(parameter.replace(kind=parameter.KEYWORD_ONLY))
            continue
        groups[parameter.name] = parameter.annotation
        hints = get_type_hints(parameter.annotation, include_extras=True)
        parameters += (
            parameter.replace(
                name=one.name,
                kind=parameter.KEYWORD_ONLY,
                default=one.default,
                annotation=hints[one.name],
            )
            for one in fields(parameter.annotation)
        )

    def run(**values: Any) -> None:
        options = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**values, **options)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
