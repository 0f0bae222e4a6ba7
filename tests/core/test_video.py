"""Films of environments: what is written is what was drawn, frame by frame."""

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from rlconnect.core.errors import MissingExtraError, PieceError
from rlconnect.core.video import filmed, frame_of, frames_a_second

COLOURS = np.array([[250, 10, 10], [10, 250, 10], [10, 10, 250], [250, 250, 250]], np.uint8)


class Lamp(gym.Env):
    """Shows another colour in each step; three steps long."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012
    observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, render_mode="rgb_array"):
        self.render_mode, self.at = render_mode, 0

    def reset(self, *, seed=None, options=None):
        self.at = 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.at += 1
        return np.zeros(2, np.float32), 1.0, self.at == 3, False, {}

    def render(self):
        return picture(self.at)


def picture(number, size=(31, 17)):
    return np.broadcast_to(COLOURS[number], (*size, 3)).copy()


def frames_in(path):
    """What a GIF shows, and how long each frame."""
    image = pytest.importorskip("PIL.Image")
    with image.open(path) as film:
        found = []
        for number in range(film.n_frames):
            film.seek(number)
            found.append((np.asarray(film.convert("RGB")), film.info["duration"]))
    return found


def mp4_frames(path):
    """What an MP4 of even size shows, as ffmpeg reads it."""
    program = pytest.importorskip("imageio_ffmpeg").get_ffmpeg_exe()
    line = [program, "-loglevel", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24"]
    shown = subprocess.run([*line, "-"], check=True, stdout=subprocess.PIPE).stdout
    return np.frombuffer(shown, np.uint8).reshape(-1, 32, 18, 3)


def test_a_gif_shows_each_frame(tmp_path):
    """Sizes that are odd included; the folder above is made."""
    pytest.importorskip("PIL")
    path = tmp_path / "new" / "film.gif"

    with filmed(path, fps=20) as add:
        for number in range(4):
            add(picture(number))

    found = frames_in(path)
    assert [duration for _, duration in found] == [50] * 4
    for number, (frame, _) in enumerate(found):
        np.testing.assert_allclose(frame, picture(number), atol=8)


def test_an_mp4_shows_each_frame(tmp_path):
    """Odd sizes are filled up by a row and a column."""
    pytest.importorskip("imageio_ffmpeg")
    with filmed(tmp_path / "film.mp4", fps=20) as add:
        for number in range(4):
            add(picture(number))

    found = mp4_frames(tmp_path / "film.mp4")
    assert len(found) == 4
    for number, frame in enumerate(found):
        np.testing.assert_allclose(frame[4:28, 4:14], picture(number, (24, 10)), atol=24)


@pytest.mark.parametrize("suffix", ["gif", "mp4"])
def test_a_failure_leaves_the_old_film(tmp_path, suffix):
    """A film is there whole or not at all, and nothing is left beside it."""
    pytest.importorskip("PIL")
    pytest.importorskip("imageio_ffmpeg")
    path = tmp_path / f"film.{suffix}"
    path.write_bytes(b"old")

    def film():
        with filmed(path) as add:
            add(picture(0))
            add(picture(0, (30, 30)))

    with pytest.raises(PieceError, match="another size"):
        film()

    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "frame", [None, [picture(0)], picture(0).astype(float), picture(0)[..., 0], picture(0)[:0]]
)
def test_what_is_no_frame_is_refused(tmp_path, frame):
    """With the form that was expected."""
    pytest.importorskip("PIL")
    with pytest.raises(PieceError, match="height, width, 3"), filmed(tmp_path / "f.gif") as add:
        add(frame)


def test_environments_that_draw_nothing_are_refused():
    """With what to make them with."""
    with pytest.raises(PieceError, match="rgb_array"):
        frame_of(Lamp(render_mode="human"))
    env = gym.make("CartPole-v1")
    with pytest.raises(PieceError, match="render_mode='rgb_array'"):
        frame_of(env)
    env.close()


def test_what_is_missing_is_told(tmp_path, monkeypatch):
    """The extra is named, of a GIF, of an MP4 and of what an environment draws with."""
    for name in ("PIL", "imageio_ffmpeg"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setenv("PATH", "")
    for suffix in ("gif", "mp4"):
        with (
            pytest.raises(MissingExtraError, match=r"rlconnect\[video\]"),
            filmed(tmp_path / f"film.{suffix}") as add,
        ):
            add(picture(0))

    class Undrawn(Lamp):
        def render(self):
            raise gym.error.DependencyNotInstalled('run `pip install "gymnasium[other]"`')

    with pytest.raises(MissingExtraError, match=r"gymnasium\[other\]"):
        frame_of(Undrawn())
    assert list(tmp_path.iterdir()) == []


def test_speed_is_the_environments():
    """30 where it does not say."""
    assert frames_a_second(Lamp()) == 20
    assert frames_a_second(object()) == 30
