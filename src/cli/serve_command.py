"""`rlconnect serve`: policies behind a port; `serve-admin`: change them while they act."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.errors import ConfigError
from .options import Chosen, Json, Loading
from .printing import print_json


def serve(
    path: Annotated[
        str | None,
        typer.Argument(metavar="PATH", help="A checkpoint of any kind; see --name for several."),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", metavar="NAME=PATH", help="A policy under a name; may be repeated."),
    ] = None,
    host: Annotated[
        str | None, typer.Option("--host", help="The address to listen on; 127.0.0.1.")
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", help="And the port; 8000. 0 for any that is free.")
    ] = None,
    max_sessions: Annotated[
        int | None, typer.Option("--max-sessions", min=1, help="How many at a time; 10,000.")
    ] = None,
    session_ttl: Annotated[
        float | None, typer.Option("--session-ttl", help="Seconds one may lie unused; 3600.")
    ] = None,
    max_body: Annotated[
        int | None, typer.Option("--max-body", min=1, help="Bytes of a request; 4 MiB.")
    ] = None,
    token: Annotated[str | None, typer.Option("--token", help="What clients have to show.")] = None,
    admin_token: Annotated[
        str | None, typer.Option("--admin-token", help="What `serve-admin` has to show.")
    ] = None,
    tls_cert: Annotated[
        str | None, typer.Option("--tls-cert", metavar="FILE", help="A certificate, for HTTPS.")
    ] = None,
    tls_key: Annotated[
        str | None, typer.Option("--tls-key", metavar="FILE", help="And its key.")
    ] = None,
    cors: Annotated[
        str | None, typer.Option("--cors", metavar="ORIGIN", help="Whose pages may ask.")
    ] = None,
    access_log: Annotated[
        bool, typer.Option("--access-log", help="Tell each request on stderr, as JSON.")
    ] = False,
    policy_server_port: Annotated[
        int | None,
        typer.Option("--policy-server-port", metavar="P", help="Answer Ray's PolicyClients there."),
    ] = None,
    allow_host: Annotated[
        str | None,
        typer.Option("--allow-host", metavar="NAMES", help="Further names of a local server."),
    ] = None,
    allow_origin: Annotated[
        str | None,
        typer.Option("--allow-origin", metavar="ORIGINS", help="Web pages that may use it."),
    ] = None,
    move_sessions: Annotated[
        bool,
        typer.Option("--move-sessions", help="Running sessions go on with a promoted version."),
    ] = False,
    rllink_port: Annotated[
        int | None,
        typer.Option("--rllink-port", metavar="P", help="And the new stack's external clients."),
    ] = None,
    record: Annotated[
        str | None,
        typer.Option("--record", metavar="DIR", help="Keep the episodes of sessions there."),
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option("--settings", metavar="FILE", help="All of this from a TOML file."),
    ] = None,
    *,
    chosen: Chosen,
    loading: Loading,
) -> None:
    """Let policies answer requests over HTTP, with a memory for each session.

    What a flag does not say is taken from variables such as RLCONNECT_SERVE_PORT, then from the
    settings file. SIGTERM ends when what was accepted is answered, SIGHUP loads policies again.
    """
    from ..serve.settings import ServeSettings

    policies = {"": path} if path is not None else {}
    for named in name or ():
        policy, equals, place = named.partition("=")
        if not (policy and equals and place):
            raise ConfigError("--name", expected="NAME=PATH", found=named)
        policies[policy] = place
    flags: dict[str, Any] = {
        "host": host, "port": port, "max_sessions": max_sessions, "session_ttl": session_ttl,
        "max_body": max_body, "token": token, "admin_token": admin_token, "tls_cert": tls_cert,
        "tls_key": tls_key, "cors": cors, "access_log": access_log or None, "record": record,
        "policies": policies or None, "agents": loading.agents(), "rllink_port": rllink_port,
        "policy_server_port": policy_server_port, "move_sessions": move_sessions or None,
        "allow_host": allow_host, "allow_origin": allow_origin,
    }  # fmt: skip
    serving = ServeSettings.read(flags, file=settings)

    def started(server: Any) -> None:
        at, on = server.address
        url = f"{'https' if serving.tls_cert else 'http'}://{f'[{at}]' if ':' in at else at}:{on}"
        served = ", ".join(server.app.models)
        typer.echo(f"serving {served} at {url}; a page to look at is there, too", err=True)

    gc.disable()  # until the server runs: nothing goes that is imported
    try:
        from ..serve.server import run

        run(serving, started, policy_ids=chosen.ids, options=loading.words())
    finally:
        gc.enable()


def serve_admin(
    url: Annotated[str, typer.Argument(metavar="URL", help="Such as http://127.0.0.1:8000.")],
    do: Annotated[
        str | None,
        typer.Argument(
            metavar="WHAT",
            help="load, promote or rollback; if left out, the policies are listed.",
        ),
    ] = None,
    path: Annotated[
        str | None, typer.Argument(metavar="PATH", help="A checkpoint to load first.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option("--policy", metavar="NAME", help="Which, if there are several.")
    ] = None,
    version: Annotated[
        int | None, typer.Option("--version", help="A version that is loaded already.")
    ] = None,
    move: Annotated[
        bool | None,
        typer.Option(
            "--move/--stay",
            help="Whether running sessions go on with it; as the server was told if left out.",
        ),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            "--token", envvar="RLCONNECT_SERVE_ADMIN_TOKEN", help="The server's admin token."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Change the policies of a running server: load a new version, promote it, go back."""
    from ..serve.client import Client

    with Client(url, policy=policy, token=token) as client:
        if do is None:
            policies = client.policies()
        else:
            fields = {"path": path, "version": version, "move": move}
            policies = [client.admin(do, **fields)]
    if as_json:
        print_json({"policies": policies})
        return
    for acting in policies:
        typer.echo(
            f"{acting['name']}: version {acting['version']} of {len(acting['versions'])} acts"
        )
        if "moved" in acting:
            typer.echo(f"  {acting['moved']:,} sessions moved to it, {acting['stayed']:,} stayed")
