"""`rlconnect doctor`: whether what is installed here is fit to work."""

from __future__ import annotations

import platform
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import typer

from ..core.errors import RlconnectError
from ..core.text.first_line import first_line
from ..core.version import __version__
from .options import FINDING, Json
from .printing import print_json, show, show_lines
from .sample_command import NAME, SAMPLES

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_PACKAGE: Final = "rlconnect"
_FOR_WORK_ON_IT: Final = ("dev", "test", "docs")
_OBSERVATION: Final = (0.6, -0.8, 1.5)
_ACTION: Final = 0.24878


class Check(NamedTuple):
    """One thing that was looked at.

    Attributes:
        part: Which part of the page it belongs to.
        name: What was looked at.
        found: What it is like here.
        is_fit: Whether that will do; None where nothing depends on it.
        hint: What to do about it.
    """

    part: str
    name: str
    found: str
    is_fit: bool | None
    hint: str = ""


def doctor(as_json: Json = False) -> None:
    """Check the installation: versions, torch, GPU, extras, one policy, and one served request."""
    checks = [
        *_machine(), *_packages(), *_extras(), _ray(), *_torch(), _acts(), *_serves(), _writes(),
    ]  # fmt: skip
    unfit = [check for check in checks if check.is_fit is False]
    if as_json:
        print_json({"fit": not unfit, "checks": [check._asdict() for check in checks]})
    else:
        _show(checks, len(unfit))
    if unfit:
        raise typer.Exit(FINDING)


def _machine() -> Iterator[Check]:
    yield Check("this machine", "rlconnect", __version__, None)
    yield Check("this machine", "system", f"{platform.system()} {platform.machine()}", None)
    needs = "".join(_metadata_of("Requires-Python")) or ">=3.10"
    version = platform.python_version()
    is_fit = _admits(needs, version)
    hint = "" if is_fit else f"make an environment of Python {needs} and install rlconnect there."
    yield Check("this machine", "python", f"{version} in {sys.prefix}", is_fit, hint)


def _packages() -> Iterator[Check]:
    for requirement in _requirements():
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield _installed("packages it needs", requirement)


def _installed(part: str, requirement: Requirement) -> Check:
    """Whether a package is there, in a version that will do."""
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        version = ""
    is_fit = bool(version) and requirement.specifier.contains(version, prereleases=True)
    specifier = f"{requirement.name}{requirement.specifier}"
    hint = "" if is_fit else f"python -m pip install '{specifier}'"
    return Check(part, requirement.name, version or "not installed", is_fit, hint)


def _extras() -> Iterator[Check]:
    """What is optional: a package too old for us is unfit, one that is not there is no fault."""
    for extra in sorted(_metadata_of("Provides-Extra")):
        if extra in _FOR_WORK_ON_IT or extra == "ray":
            continue
        packages = [
            _installed("extras", requirement)
            for requirement in _requirements()
            if requirement.marker is not None
            and requirement.marker.evaluate({"extra": extra})
            and not requirement.marker.evaluate({"extra": ""})
        ]
        absent = [check for check in packages if check.found == "not installed"]
        unfit = [check for check in packages if not check.is_fit]
        there = ", ".join(f"{check.name} {check.found}" for check in packages)
        hint = f"python -m pip install '{_PACKAGE}[{extra}]'" if unfit else ""
        is_fit = True if not unfit else None if len(absent) == len(unfit) else False
        yield Check("extras", extra, there, is_fit, hint)


def _ray() -> Check:
    """Ray's version, if it is installed; nothing here needs it."""
    try:
        version = metadata.version("ray")
    except metadata.PackageNotFoundError:
        version = "not installed, and not needed"
    return Check("extras", "ray", version, None)


def _torch() -> Iterator[Check]:
    part = "torch"
    try:
        import torch
    except (ImportError, OSError) as error:
        hint = "python -m pip install --force-reinstall torch"
        yield Check(part, "import", f"fails: {error}", False, hint)
        return
    yield Check(part, "threads", str(torch.get_num_threads()), None)
    if torch.cuda.is_available():
        for number in range(torch.cuda.device_count()):
            yield Check(part, f"cuda:{number}", *_computes(torch, f"cuda:{number}"))
    elif torch.backends.mps.is_available():
        yield Check(part, "mps", *_computes(torch, "mps"))
    else:
        yield Check(part, "GPU", "none that torch can use; all works on the CPU", None)


def _computes(torch: Any, device: str) -> tuple[str, bool, str]:
    """Whether a product of two matrices comes out right on a device."""
    name = torch.cuda.get_device_name(device) if device.startswith("cuda") else "Apple GPU"
    try:
        ones = torch.ones(64, 64, device=device)
        is_fit = bool((ones @ ones == 64).all().item())
    except RuntimeError as error:
        return f"{name}: {first_line(error)}", False, "look at the driver: nvidia-smi"
    return name, is_fit, "" if is_fit else "this device computes wrong: look at its driver."


def _acts() -> Check:
    """Whether the sample that comes with us gives the action it gave where it was written."""
    import numpy as np

    from ..bridge.front.load import load

    try:
        action = float(load(SAMPLES / NAME).only.act(np.array(_OBSERVATION, np.float32))[0])
    except (RlconnectError, ImportError, OSError) as error:
        return Check("at work", "a policy acts", f"fails: {error}", False, "install again.")
    is_fit = abs(action - _ACTION) < 1e-4
    hint = "" if is_fit else f"{_ACTION} was expected: compare versions of numpy and torch."
    return Check("at work", "a policy acts", f"action {action:.4f}", is_fit, hint)


def _serves() -> Iterator[Check]:
    """Send one request to a server, if uvicorn is installed."""
    if find_spec("uvicorn") is None:
        return
    from ..serve.async_client import AsyncClient
    from ..serve.server import Server, app_of, run_loop
    from ..serve.settings import ServeSettings

    settings = ServeSettings(port=0, policies={"": str(SAMPLES / NAME)}, drain_timeout=1.0)
    actions: list[float] = []

    async def ask() -> None:
        server = Server(app_of(settings), settings)
        await server.start()
        try:
            url = "http://{}:{}".format(*server.address)
            async with AsyncClient(url, timeout=20.0) as client:
                actions.append((await client.act(list(_OBSERVATION))).action[0])
        finally:
            await server.drain()

    try:
        run_loop(ask)
    except (RlconnectError, ImportError, OSError) as error:
        hint = "python -m pip install --upgrade 'rlconnect[serve]'"
        yield Check("at work", "a server answers", f"fails: {first_line(error)}", False, hint)
        return
    is_fit = abs(actions[0] - _ACTION) < 1e-4
    yield Check("at work", "a server answers", f"action {actions[0]:.4f}", is_fit)


def _writes() -> Check:
    """Whether there is room for files that are put together before they take their place."""
    try:
        with tempfile.NamedTemporaryFile() as file:
            file.write(bytes(1 << 20))
            file.flush()
    except OSError as error:
        hint = "free some room, or set TMPDIR to a folder that can be written."
        return Check("at work", "scratch files", f"fails: {error.strerror}", False, hint)
    return Check("at work", "scratch files", f"in {tempfile.gettempdir()}", True)


def _requirements() -> list[Requirement]:
    from packaging.requirements import Requirement

    return [Requirement(line) for line in _metadata_of("Requires-Dist")]


def _metadata_of(field: str) -> list[str]:
    """What our package says of itself; nothing where its sources lie on the path, not installed."""
    try:
        return metadata.metadata(_PACKAGE).get_all(field) or []
    except metadata.PackageNotFoundError:
        return []


def _admits(specifier: str, version: str) -> bool:
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(specifier).contains(version, prereleases=True)


def _show(checks: list[Check], unfit: int) -> None:
    from rich.table import Table
    from rich.text import Text

    styles: dict[bool | None, tuple[str, str]] = {
        True: ("●", "good"),
        False: ("○", "bad"),
        None: ("·", "label"),
    }
    for part in dict.fromkeys(check.part for check in checks):
        table = Table.grid(padding=(0, 2, 0, 0))
        for check in checks:
            if check.part == part:
                mark, style = styles[check.is_fit]
                table.add_row(Text(f"  {mark}", style), Text(check.name, "name"), Text(check.found))
        show(Text(part, "title"), table, Text())
    if unfit:
        show_lines(Text(f"{unfit} of {len(checks)} are not fit:", "bad"))
    else:
        show_lines(Text("fit for work", "good"))
    for check in checks:
        if check.hint:
            show_lines(Text(f"  {check.name}: ", "label") + Text(check.hint, "command"))
