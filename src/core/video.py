"""Pictures of an environment, one after the other, as a film: a GIF, or an MP4."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any, Final

import numpy as np

from .errors import ConfigError, MissingExtraError, PieceError
from .importing.torch_needed import extra_needed
from .types import Array
from .vault.own.atomic import make_parents, replaced_file

MODE: Final = "rgb_array"
"""What an environment is made with as `render_mode`, so that it can be filmed."""
_AGAIN_AND_AGAIN: Final = b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"


@contextmanager
def filmed(path: str | PathLike[str], fps: float = 30) -> Iterator[Callable[[Array], None]]:
    """Yield a function that adds a frame; the film is written whole when the block ends.

    Frames are written as they come, and none is kept.

    Args:
        path: Where to; its suffix says what: `.gif` (Pillow) or `.mp4` (ffmpeg).
        fps: Frames a second; a GIF shows 50 at most.

    Raises:
        ConfigError: Another suffix.
        MissingExtraError: What writes it is not installed.
        PieceError: What was added is no frame, or has another size than the first.
    """
    target = Path(path)
    write = {".gif": _gif, ".mp4": _mp4}.get(target.suffix.lower())
    if write is None:
        raise ConfigError(
            f"a film called {target.name!r}", expected="a name that ends in .gif or .mp4"
        )
    make_parents(target)
    with replaced_file(target) as staged, write(staged, fps) as write_frame:
        first: tuple[int, ...] = ()

        def add(frame: Array) -> None:
            nonlocal first
            frame = _checked(frame)
            first = first or frame.shape
            if frame.shape != first:
                raise PieceError(
                    "a frame of another size", expected=f"{first}", found=f"{frame.shape}"
                )
            write_frame(frame)

        yield add


def frame_of(env: Any) -> Array:
    """A picture of a live environment: height, width and three colours, a byte each.

    Raises:
        MissingExtraError: What it draws with is not installed.
        PieceError: It draws nothing, or something else.
    """
    from gymnasium.error import DependencyNotInstalled

    mode = getattr(env, "render_mode", None)
    if mode != MODE and (mode is not None or getattr(env, "spec", None) is not None):
        raise PieceError(
            f"{_name(env)} cannot be filmed",
            expected=f"render_mode={MODE!r}",
            found=f"render_mode={mode!r}",
            hint=f"make it with it: gymnasium.make(..., render_mode={MODE!r}).",
        )
    try:
        frame = env.render() if hasattr(env, "render") else None
    except DependencyNotInstalled as error:
        raise MissingExtraError(
            f"{_name(env)} needs one more package to be drawn", hint=" ".join(str(error).split())
        ) from None
    return _checked(frame)


def frames_a_second(env: Any) -> float:
    """How fast an environment wants to be seen; 30 where it does not say."""
    return float((getattr(env, "metadata", None) or {}).get("render_fps") or 30)


def _name(env: Any) -> str:
    spec = getattr(env, "spec", None)
    return getattr(spec, "id", None) or type(getattr(env, "unwrapped", env)).__name__


def _checked(frame: Any) -> Array:
    if isinstance(frame, np.ndarray) and frame.dtype == np.uint8 and frame.ndim == 3:
        height, width, colours = frame.shape
        if height and width and colours == 3:
            return np.ascontiguousarray(frame)
    is_array = isinstance(frame, np.ndarray)
    raise PieceError(
        "no frame of a film",
        expected="an array of bytes (height, width, 3)",
        found=f"{frame.dtype} of {frame.shape}" if is_array else type(frame).__name__,
        hint=f"render() gives one with render_mode={MODE!r}.",
    )


@contextmanager
def _gif(staged: Path, fps: float) -> Iterator[Callable[[Array], None]]:
    with extra_needed("PIL", "a GIF", "video"):
        from PIL import Image
        from PIL.GifImagePlugin import getdata
    hundredths = max(2, round(100 / fps))  # browsers slow down what is faster

    with staged.open("wb") as file:

        def add(frame: Array) -> None:
            if not file.tell():
                size = np.array(frame.shape[1::-1], "<u2").tobytes()
                file.write(b"GIF89a" + size + b"\x70\x00\x00" + _AGAIN_AND_AGAIN)
            image = Image.fromarray(frame).quantize(256, Image.Quantize.FASTOCTREE)
            file.writelines(getdata(image, duration=10 * hundredths, include_color_table=True))

        yield add
        file.write(b";")


@contextmanager
def _mp4(staged: Path, fps: float) -> Iterator[Callable[[Array], None]]:
    import subprocess
    import tempfile

    program = _ffmpeg()
    process: Any = None
    with tempfile.TemporaryFile() as errors:

        def add(frame: Array) -> None:
            nonlocal process
            if process is None:
                height, width, _ = frame.shape
                line = (
                    f"-y -loglevel error -f rawvideo -pix_fmt rgb24 -s {width}x{height} -r {fps} "
                )
                line += "-i - -an -c:v libx264 -pix_fmt yuv420p -movflags +faststart -f mp4"
                even = "pad=ceil(iw/2)*2:ceil(ih/2)*2"  # H.264 knows no odd sizes
                process = subprocess.Popen(
                    [program, *line.split(), "-vf", even, f"file:{staged.absolute()}"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                )
            with suppress(BrokenPipeError):  # it says why, below
                process.stdin.write(frame.data)

        try:
            yield add
        except BaseException:
            if process is not None:
                process.kill()
            raise
        finally:
            if process is not None:
                with suppress(BrokenPipeError):
                    process.stdin.close()
                process.wait()
        if process is not None and process.returncode:
            errors.seek(0)
            words = errors.read(4096).decode(errors="replace").strip().splitlines() or [""]
            raise PieceError(f"{program} did not write the film", found=words[-1])


def _ffmpeg() -> str:
    """Where ffmpeg is: the one that imageio-ffmpeg brings, or the system's."""
    with suppress(ImportError, RuntimeError):
        from imageio_ffmpeg import get_ffmpeg_exe

        return str(get_ffmpeg_exe())
    program = shutil.which("ffmpeg")
    if program is None:
        raise MissingExtraError(
            "an MP4 needs ffmpeg, which is not installed",
            hint='pip install "rlconnect[video]", or write a .gif.',
        )
    return program
