"""The environment that a command plays in: named on the command line, made here."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from ..core.errors import CheckpointError, ConfigError, PieceError, SpaceError
from ..core.text.shell import command
from .imports import from_user, user_module

_SETTINGS_NAMES: Final = ("config", "env_config", "env_context", "context", "ctx", "cfg")
_PLAIN: Final = (bool, int, float, str, type(None))


@dataclass(frozen=True)
class Environment:
    """Which environment, and its settings."""

    env: Annotated[
        str | None,
        typer.Option(
            "--env",
            metavar="ENV",
            help="An id of gymnasium's, MODULE:NAME or FILE.py:NAME of your own.",
        ),
    ] = None
    env_config: Annotated[
        list[str] | None,
        typer.Option(
            "--env-config",
            metavar="SETTINGS",
            help="JSON, or KEY=VALUE, may be repeated; the checkpoint's own if left out.",
        ),
    ] = None

    def make(self, path: str, *, filmed: bool = False) -> Any:
        """A live environment.

        Raises:
            ConfigError: Its name or settings cannot be used.
            PieceError: Nobody says which.
        """
        name = self.env or own_environment(path) or self.named()
        settings = self.settings()
        where, _, last = name.rpartition(":")
        if where and not _is_id(last):
            maker = from_user(name, "--env")
            made = _called(maker, settings, path, filmed=filmed) if callable(maker) else maker
            return _checked(made, name)
        if where:
            user_module(where, "--env")
        from ..core.video import MODE
        from ..v2.envs.registry import is_registered

        settings = _own_settings(path, last) if settings is None else settings
        if filmed and not is_registered(last):
            settings = {"render_mode": MODE, **settings}
        return _registered(last, settings)

    def named(self) -> str:
        """What --env says.

        Raises:
            PieceError: It was not given.
        """
        if self.env is None:
            raise PieceError(
                "which environment?",
                expected="--env",
                hint="give an id of gymnasium's, or --env FILE.py:NAME of your own.",
            )
        return self.env

    def words(self) -> list[str]:
        """The options that say which environment, as they were given."""
        settings = [f"--env-config={text}" for text in self.env_config or ()]
        return [*(["--env", self.env] if self.env else []), *settings]

    def settings(self) -> dict[str, Any] | None:
        """The settings that were given; None if none were.

        Raises:
            ConfigError: They are neither JSON nor KEY=VALUE.
        """
        return settings_in(self.env_config, "--env-config") if self.env_config else None


@contextmanager
def adapting_first(path: str, words: Sequence[str]) -> Iterator[None]:
    """Let what fails for a policy that does not fit an environment name the command that adapts it.

    Args:
        path: The policy.
        words: The options that say which environment.
    """
    try:
        yield
    except (SpaceError, ConfigError) as error:
        if "rlconnect" in error.hint and ".adapt(" in error.hint:
            error.hint = f"adapt it first: {command('adapt', path, *words)}"
        raise


def closing_lines(
    out: Path | None, environment: Environment, *train_words: str, learns: bool = True
) -> list[str]:
    """Where a policy was written, and the commands that train it on and let it act.

    Args:
        out: Its folder; None if nothing was written.
        environment: What it is for.
        train_words: More options of `train`.
        learns: Whether it can be trained on.
    """
    if out is None:
        return ["written        nothing; give --out DIR and no --dry-run"]
    env = environment.words()
    train = command("train", "--algo", "PPO", *env, "--from", out, *train_words)
    return [
        f"written        {out}",
        *([f"train on       {train}"] if learns else []),
        f"act            {command('rollout', out, *env)}",
    ]


def settings_in(texts: Iterable[str], option: str) -> dict[str, Any]:
    """Settings as people type them: JSON, or KEY=VALUE.

    Raises:
        ConfigError: They are neither.
    """
    settings: dict[str, Any] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if text.lstrip().startswith("{"):
            parsed = _json_of(text, option=option)
            if not isinstance(parsed, dict):
                raise _odd(text, option)
            settings |= parsed
        elif sign and key:
            settings[key] = _json_of(value, value)
        else:
            raise _odd(text, option)
    return settings


def own_environment(path: str) -> str | None:
    """The environment that a checkpoint names, if gymnasium or an imported module has it."""
    from ..core.vault import open_checkpoint
    from ..core.vault.opening import of_newest
    from ..v2.envs.registry import env_of_file

    try:
        named = of_newest(path, open_checkpoint).environment
    except CheckpointError:
        return None
    return env_of_file(named) if named else None


def _own_settings(path: str, name: str = "") -> dict[str, Any]:
    """A checkpoint's own settings for its environment, as far as they are plain."""
    from ..core.vault import open_checkpoint
    from ..core.vault.opening import of_newest
    from ..v2.envs.registry import check_env_config, env_of_file

    try:
        checkpoint = of_newest(path, open_checkpoint)
    except CheckpointError:
        return {}
    if name and (not checkpoint.environment or env_of_file(checkpoint.environment) != name):
        return {}
    configs = [checkpoint.config, *(record.config for record in checkpoint.policies.values())]
    for config in configs:
        settings = config.get("env_config")
        if isinstance(settings, Mapping) and settings and _is_plain(settings):
            check_env_config(name or None, settings)
            return dict(settings)
    return {}


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return isinstance(value, _PLAIN)


def _is_id(name: str) -> bool:
    """Whether it ends in a version, as ids of gymnasium's do: `CartPole-v1`."""
    return name.rpartition("-v")[2].isdecimal() and "-v" in name


def _registered(name: str, settings: Mapping[str, Any]) -> Any:
    """An environment that gymnasium has, or that an imported module registered."""
    import gymnasium as gym

    from ..v2.envs.context import EnvContext
    from ..v2.envs.registry import env_creator_of, is_registered

    try:
        return env_creator_of(name)(EnvContext(settings))
    except gym.error.Error as error:
        hint = getattr(error, "hint", "")
        reason = " ".join(str(getattr(error, "summary", error)).split()).rstrip(".")
        raise PieceError(
            f"environment {name!r} cannot be made: {reason}.",
            hint=hint
            if hint.startswith("did you mean")
            else "give one of your own as --env FILE.py:NAME, or import what registers it: "
            "--import FILE.py.",
        ) from None
    except TypeError as error:
        if is_registered(name) or not settings:
            raise
        raise PieceError(
            f"environment {name!r} does not take these settings",
            found=str(error),
            hint="say which: --env-config KEY=VALUE; --env-config '{}' gives none.",
        ) from None


def registered_env(name: str) -> str:
    """Let what was named stand for an environment in settings; gives the name it has there.

    Args:
        name: As of `--env`.

    Raises:
        ConfigError: There is no such thing.
    """
    from ..v2.envs.registry import register_env

    where, _, last = name.rpartition(":")
    if where and not _is_id(last):
        maker = from_user(name, "--env")
        if not callable(maker):
            raise ConfigError(
                f"--env {name!r}",
                expected="a class, or a function that makes an environment",
                found=type(maker).__name__,
            )
        register_env(name, lambda context: _checked(_called(maker, context, ""), name))
        return name
    if where:
        user_module(where, "--env")
    return last


def _checked(env: Any, name: str) -> Any:
    """Return `env`, or raise a ConfigError if it is no environment."""
    if callable(getattr(env, "reset", None)):
        return env
    raise ConfigError(
        f"--env {name!r} is not an environment",
        expected="an environment, or a class or function that returns one",
        found=type(env).__name__,
        hint="check the name, and that the function returns the environment.",
    )


def _called(
    maker: Any, given_settings: Mapping[str, Any] | None, path: str, *, filmed: bool = False
) -> Any:
    """An environment made by a class or function of the user's, as RLlib or as gymnasium does."""
    from ..core.video import MODE
    from ..v2.envs.context import EnvContext

    try:
        parameters = list(inspect.signature(maker).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    places = [parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
    takes_dict = any(
        place.name in _SETTINGS_NAMES
        or (place.kind is place.POSITIONAL_OR_KEYWORD and place.default is place.empty)
        or place.kind is place.POSITIONAL_ONLY
        for place in places[:1]
    )
    if takes_dict:
        settings = _own_settings(path) if given_settings is None else given_settings
        return maker(settings if isinstance(settings, EnvContext) else EnvContext(settings))
    can_draw = filmed and any(place.name == "render_mode" for place in places)
    drawn = {"render_mode": MODE} if can_draw else {}
    return maker(**{**drawn, **(given_settings or {})})


def _json_of(text: str, *otherwise: str, option: str = "") -> Any:
    try:
        return json.loads(text)
    except ValueError:
        if otherwise:
            return otherwise[0]
        raise _odd(text, option) from None


def _odd(text: str, option: str) -> ConfigError:
    return ConfigError(
        f"{option} {text!r}",
        expected="JSON or KEY=VALUE",
        hint=f"""write {option} '{{"size": 4}}' or {option} size=4.""",
    )
