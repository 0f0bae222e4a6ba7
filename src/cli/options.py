"""What commands share: options, exit codes, and how a document is printed."""

from __future__ import annotations

import operator
import os
import sys
from importlib import import_module
from typing import Annotated, Any, Final

import typer

from ..core.errors import ConfigError

DONE: Final = 0
FINDING: Final = 1
MISTAKE: Final = 2
USER_FAILED: Final = 3

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a page.")]
Audit = Annotated[
    bool,
    typer.Option("--audit", help="List what an ordinary unpickler would call; nothing here does."),
]
Env = Annotated[
    str | None,
    typer.Option("--env", metavar="ENV", help="An id of gymnasium's, or module:NAME of your own."),
]
One = Annotated[
    str | None, typer.Option("--policy", metavar="ID", help="This policy of several only.")
]
NoHost = Annotated[
    bool, typer.Option("--no-host", help="Leave the name of this machine out of what is told.")
]
Trusted = Annotated[
    list[str] | None,
    typer.Option(
        "--trust",
        metavar="module:NAME",
        help="A class or function of yours that the checkpoint names; may be repeated.",
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


def trusted(given: list[str] | None, model: str | None = None) -> dict[str, Any]:
    """What the user trusts and describes, as options of a loader; importing is the user's act.

    Args:
        given: Each as `module:NAME`, on the path or in the current folder.
        model: The file that describes the network.

    Raises:
        ConfigError: There is no such thing.
    """
    options: dict[str, Any] = {} if model is None else {"model": model}
    return (
        {"trust": [from_user(each, "--trust") for each in given], **options} if given else options
    )


def from_user(name: str, option: str) -> Any:
    """Import what the user named as `module:NAME`.

    Raises:
        ConfigError: There is no such thing.
    """
    module, _, attribute = name.partition(":")
    here = os.getcwd()
    is_new = here not in sys.path
    if is_new:  # Last, and only now: nothing that lies there stands in for a library.
        sys.path.append(here)
    try:
        return operator.attrgetter(attribute)(import_module(module))
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"{option} {name!r}",
            expected="module:NAME of a class or function",
            found=str(error),
            hint="is it on the path?",
        ) from None
    finally:
        if is_new and here in sys.path:
            sys.path.remove(here)


def print_json(data: Any) -> None:
    """Print one JSON document."""
    from ..core.visible import visible_json

    typer.echo(visible_json(data))
