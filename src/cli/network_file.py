"""`rlconnect inspect --write-model`: the network of a policy as a file to edit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..core.errors import ConfigError, MissingPartError, UnknownNameError
from ..core.vault.own.atomic import replaced_file
from .options import DONE, FINDING
from .printing import print_json, show_lines


def show_network(
    path: str,
    file: Path | None,
    *,
    policy: str | None = None,
    data: Path | None = None,
    as_json: bool = False,
) -> int:
    """Write or print what names and shapes of weights tell of a network, and say how sure it is.

    Args:
        path: A checkpoint.
        file: Where to; a file that is there stays, unless it says the same. None prints it.
        policy: Which policy or module; by default those whose code is not here, or the only one.
        data: Recorded outputs that decide what names and shapes do not.
        as_json: Whether to print one JSON document.

    Returns:
        The exit code: 1 where no order of layers fits, or none gives what was recorded.

    Raises:
        ConfigError: A file with something else is there, or no policy is meant.
        MissingPartError: There are no weights.
    """
    from rich.text import Text

    from ..core.text.visible import visible
    from ..core.vault import open_checkpoint
    from ..core.vault.opening import of_newest
    from ..core.vault.proposed_networks import (
        layers_in_order_of_the_file,
        needs_network,
        proposed_network,
        records_near,
    )
    from ..core.vault.recorded_outputs import read_records

    checkpoint = of_newest(path, open_checkpoint)
    acting = {name: record for name, record in checkpoint.acting.items() if record.weights}
    if policy is not None and policy not in acting:
        raise UnknownNameError(
            f"no policy {policy!r} with weights in {checkpoint.path}",
            expected=", ".join(map(repr, acting)) or "one of none",
        )
    if not acting:
        raise MissingPartError(f"{checkpoint.path} holds no weights to tell a network by")
    meant = [policy] if policy else [name for name in acting if needs_network(acting[name])]
    if not meant and len(acting) == 1:
        meant = list(acting)
    if not meant:
        raise ConfigError(
            "all networks in this checkpoint are RLlib's own",
            hint=f"name one of {', '.join(map(repr, acting))}: --policy ID.",
        )
    # One description is for all; several policies of the same shapes have the same one.
    record = acting[meant[0]]
    records = [read_records(data)] if data is not None else records_near(checkpoint)
    proposal = proposed_network(record, records, is_given=data is not None)
    text = layers_in_order_of_the_file(record) if proposal is None else proposal.toml()
    remarks = []
    if file is not None:
        _write(file, text)
        remarks.append(f"wrote {file}: the network of {meant[0]!r}")
    if proposal is None:
        remarks.append(
            "no order of layers fits the weights: put those that the file lists in order"
        )
    elif proposal.decision is not None:
        remarks.append(f"{proposal.decision} ({proposal.records})")
    elif proposal.guessed:
        remarks.append(f"activations are guesses: look at {', '.join(proposal.guessed[:6])}")
    others = [name for name in meant[1:] if _shapes(acting[name]) != _shapes(record)]
    if others:
        remarks.append(f"other networks: --policy {others[0]} (and so on) writes theirs")
    is_sure = proposal is not None and (proposal.decision is None or proposal.is_proven)
    if as_json:
        network = None if proposal is None else proposal.network.as_data()
        written = None if file is None else str(file)
        print_json({"written": written, "network": network, "told": remarks})
    else:
        lines = ([] if file is not None else text.splitlines()) + remarks
        show_lines(*(Text(visible(line, 8000)) for line in lines))
    return DONE if is_sure else FINDING


def _write(file: Path, text: str) -> None:
    if file.exists():
        try:
            is_same = file.read_text(encoding="utf-8") == text
        except (OSError, ValueError):
            is_same = False
        if not is_same:
            raise ConfigError(
                f"{file} is there already, and says something else",
                hint="choose another name, or move it away.",
            )
        return
    with replaced_file(file) as staged:
        staged.write_text(text, encoding="utf-8")


def _shapes(record: Any) -> list[Any]:
    return [(name, record.weights.describe(name)[0]) for name in record.weights]
