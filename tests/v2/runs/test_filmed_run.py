"""Runs whose evaluations are filmed."""

import gymnasium as gym
import numpy as np
import pytest
from rlconnect.core.errors import ConfigError, PieceError
from rlconnect.v2 import PPOConfig
from rlconnect.v2.envs import registry
from rlconnect.v2.tuning import TrainingRun

from .runs import curves

LENGTH = 5


class Drawn(gym.Env):
    """Five random steps, each drawn in a shade of its own."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, settings):
        self.render_mode = settings.get("render_mode")
        self.observation_space = gym.spaces.Box(0, 1, (2,), np.float32)
        self.action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.n = 0
        return self.np_random.random(2, np.float32), {}

    def step(self, action):
        self.n += 1
        return self.np_random.random(2, np.float32), float(action), self.n == LENGTH, False, {}

    def render(self):
        return np.full((8, 12, 3), 40 * self.n, np.uint8)


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """Names of environments are forgotten afterwards."""
    monkeypatch.setattr(registry, "_creators", dict(registry._creators))


def config(**evaluation):
    return (
        PPOConfig()
        .environment(Drawn)
        .env_runners(num_env_runners=0)
        .training(train_batch_size_per_learner=32, minibatch_size=16, num_epochs=1)
        .rl_module(model_config={"fcnet_hiddens": [4]})
        .evaluation(**{"evaluation_interval": 2, "evaluation_duration": 3, **evaluation})
        .debugging(seed=2)
    )


def test_each_evaluation_leaves_a_film(tmp_path):
    """One whole episode each, by iteration; the run is the same as one without, and goes on."""
    image = pytest.importorskip("PIL.Image")
    TrainingRun(config(), tmp_path / "plain", stop={"training_iteration": 6}).go()

    for iterations in (3, 6):
        stop = {"training_iteration": iterations}
        TrainingRun(config(), tmp_path / "filmed", stop=stop, video="gif").go()

    films = sorted((tmp_path / "filmed" / "videos").iterdir())
    assert [each.name for each in films] == [f"iteration_00000{n}.gif" for n in (2, 4, 6)]
    for each in films:
        with image.open(each) as film:
            shades = []
            for number in range(film.n_frames):
                film.seek(number)
                shades.append(film.convert("RGB").getpixel((3, 3))[0])
        assert shades == pytest.approx([40 * n for n in range(LENGTH)], abs=4)
    assert curves(tmp_path / "filmed") == curves(tmp_path / "plain")


@pytest.mark.parametrize(
    ("settings", "video", "match"),
    [
        ({"evaluation_interval": None}, "gif", "evaluations to be filmed"),
        ({}, "avi", "'gif' or 'mp4'"),
    ],
)
def test_what_cannot_be_filmed_is_told_first(tmp_path, settings, video, match):
    """Before anything is made."""
    with pytest.raises(ConfigError, match=match):
        TrainingRun(config(**settings), tmp_path / "run", video=video)

    assert not (tmp_path / "run").exists()


def test_an_environment_that_draws_nothing_is_told_before_training(tmp_path):
    """Not at the first evaluation."""
    made = config().environment("CartPole-v1", env_config={"render_mode": None})
    run = TrainingRun(made, tmp_path / "run", stop={"training_iteration": 1}, video="gif")

    with pytest.raises(PieceError, match="cannot be filmed"):
        run.go()


class NoKeyword(Drawn):
    """Takes keywords, but no `render_mode`."""

    def __init__(self, size=2):
        super().__init__({})


def test_an_environment_that_cannot_be_asked_to_draw_is_told(tmp_path):
    """Its constructor's error is told with what to do."""
    run = TrainingRun(
        config().environment(lambda settings: NoKeyword(**settings)),
        tmp_path,
        stop={"training_iteration": 2},
        video="gif",
    )

    with pytest.raises(ConfigError, match="render_mode") as told:
        run.go()

    assert "without videos" in told.value.hint
