"""What can be set of a server: by flags, environment variables or a TOML file, in this order."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from ..core.data.toml import parse_toml
from ..core.errors import CheckpointNotFoundError, ConfigError

PREFIX: Final = "RLCONNECT_SERVE_"
_PORTS: Final = frozenset({"port", "policy_server_port", "rllink_port"})
_LAST_PORT: Final = 65535
_TABLES: Final = {"policies": "paths by name", "agents": "names of policies by agent"}


@dataclass(frozen=True)
class ServeSettings:
    """How a server runs.

    Args:
        host: The address it listens on.
        port: And the port; 0 for any that is free.
        max_sessions: How many sessions there may be; one more, and the least recently used is gone.
        session_ttl: Seconds that a session may lie unused.
        max_body: Bytes of a request's body.
        max_connections: How many clients at a time.
        max_waiting: How many requests may wait for a forward pass.
        read_timeout: Seconds in which a begun request has to be whole.
        drain_timeout: Seconds for what was accepted, once the server is to end.
        token: What clients have to show; empty lets everybody in.
        admin_token: What those have to show who change policies; empty lets nobody.
        tls_cert: A file with the certificate, for HTTPS.
        tls_key: And one with its key.
        cors: The origin whose pages may ask from a browser.
        allow_host: Further host names that requests over loopback may name, separated by commas;
            `*` allows all.
        allow_origin: Origins of further web pages that may use the server, separated by commas.
        access_log: Whether each request is told on stderr, as a line of JSON.
        policy_server_port: Where Ray's `PolicyClient`s are answered; nowhere if 0.
        move_sessions: Whether sessions go on with a version that is promoted, where it remembers
            the same things; others, and all if not, keep theirs until they end.
        rllink_port: Where external environments of RLlib's new stack are; nowhere if 0.
        record: A folder that keeps the episodes of all sessions; none if empty.
        policies: Paths of checkpoints by the names they are served under.
        agents: Names of policies by the agents that they play, or by patterns of those (`"car_*"`);
            if none are told, as the checkpoint says, or by their own names.

    Example:
        >>> ServeSettings.read({"port": 9000}, {"RLCONNECT_SERVE_MAX_BODY": "1000"}).max_body
        1000
    """

    host: str = "127.0.0.1"
    port: int = 8000
    max_sessions: int = 10_000
    session_ttl: float = 3600.0
    max_body: int = 4 << 20
    max_connections: int = 4096
    max_waiting: int = 2048
    read_timeout: float = 20.0
    drain_timeout: float = 30.0
    token: str = ""
    admin_token: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    cors: str = ""
    allow_host: str = ""
    allow_origin: str = ""
    access_log: bool = False
    policy_server_port: int = 0
    move_sessions: bool = False
    rllink_port: int = 0
    record: str = ""
    policies: Mapping[str, Any] = field(default_factory=dict)
    agents: Mapping[Any, str] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        flags: Mapping[str, Any],
        environment: Mapping[str, str] = os.environ,
        file: str | os.PathLike[str] | None = None,
    ) -> ServeSettings:
        """Settings from flags, else from environment variables, else from a file.

        Args:
            flags: By name; those that are None were not given.
            environment: Variables of the process; `RLCONNECT_SERVE_PORT` is the port.
            file: Of TOML: `port = 8000`, and the tables `[policies]` and `[agents]`.

        Raises:
            ConfigError: A setting is unknown, or of a wrong type.
        """
        kinds = {setting.name: setting for setting in fields(cls)}
        values: dict[str, Any] = _of_file(Path(file)) if file is not None else {}
        for name in kinds:
            text = environment.get(f"{PREFIX}{name.upper()}")
            if text is not None and name not in _TABLES:
                values[name] = text
        values |= {name: value for name, value in flags.items() if value is not None}
        unknown = sorted(values.keys() - kinds.keys())
        if unknown:
            raise ConfigError(
                f"no setting {unknown[0]!r} of a server", expected=", ".join(sorted(kinds))
            )
        settings = {name: _typed(value, kinds[name]) for name, value in values.items()}
        for name in _PORTS & set(settings):
            if not 0 <= settings[name] <= _LAST_PORT:
                raise ConfigError(
                    f"the setting {name!r} of a server",
                    expected=f"a port from 0 to {_LAST_PORT}",
                    found=str(settings[name]),
                    hint="give a port in this range; 0 for any that is free.",
                )
        return cls(**settings)


def _of_file(path: Path) -> dict[str, Any]:
    try:
        return parse_toml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointNotFoundError(f"no settings lie at {path}") from None
    except ValueError as error:
        raise ConfigError(f"{path} is no TOML: {error}") from None


def _typed(value: Any, setting: Any) -> Any:
    kind = type(setting.default)
    if setting.name in _TABLES:
        if isinstance(value, Mapping) and all(isinstance(item, str) for item in value.values()):
            return dict(value)
    elif isinstance(value, str) and kind is not str:
        text = value.strip().lower()
        try:
            if kind is bool:
                return {"1": True, "true": True, "yes": True, "0": False, "false": False,
                        "no": False}[text]  # fmt: skip
            return kind(text)
        except (KeyError, ValueError):
            pass
    elif isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        return value
    elif kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    raise ConfigError(
        f"the setting {setting.name!r} of a server",
        expected=_TABLES.get(setting.name) or kind.__name__,
        found=repr(value)[:80],
    )
