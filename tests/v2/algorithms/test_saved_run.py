"""What `save()` gives: text, and RLlib's names for it."""

import os
import pickle

import pytest
from rlconnect.v2 import PPO, PPOConfig
from rlconnect.v2.algorithms.saved_run import SavedFolder, SavedRun


@pytest.fixture
def algo():
    """PPO after one iteration."""
    config = (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=0)
        .training(train_batch_size_per_learner=32, minibatch_size=32, num_epochs=1)
    )
    made = config.build_algo()
    made.train()
    yield made
    made.stop()


def test_save_gives_the_folder_and_the_last_result(algo, tmp_path):
    """`.checkpoint.path`, the text itself and `.metrics` are there at once."""
    saved = algo.save(tmp_path / "run")

    assert saved == saved.checkpoint.path == str(tmp_path / "run")
    assert saved.metrics["training_iteration"] == 1
    assert "algorithm_state.pkl" in os.listdir(saved)


@pytest.mark.parametrize("as_given", [lambda saved: saved, lambda saved: saved.checkpoint])
def test_what_was_saved_can_be_handed_on(algo, as_given):
    """Restoring takes what `save()` gave, whole or by its checkpoint."""
    saved = algo.save()
    algo.train()

    algo.restore(as_given(saved))

    assert algo.iteration == 1
    assert type(PPO.from_checkpoint(as_given(saved))) is PPO


def test_a_subclass_says_what_is_written(algo, tmp_path):
    """`save()` goes by `save_checkpoint`, so that a subclass may leave something out."""

    class Lean(PPO):
        def save_checkpoint(self, checkpoint_dir):
            state = self.get_state(not_components="learner_group/learner/optimizer")
            self.save_to_path(checkpoint_dir, state=state)

    lean = Lean(config=algo.config.copy(copy_frozen=False))

    saved = lean.save(tmp_path / "lean")

    assert (
        "optimizer"
        not in lean.get_state(not_components="learner_group/learner/optimizer")["learner_group"][
            "learner"
        ]
    )
    assert os.path.isdir(saved)


def test_a_folder_can_be_copied_and_opened(tmp_path):
    """`to_directory` copies, `as_directory` lends."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_text("held", encoding="utf-8")
    folder = SavedFolder.from_directory(tmp_path / "a")

    copied = folder.to_directory(tmp_path / "b")

    with folder.as_directory() as path:
        assert os.listdir(path) == os.listdir(copied) == ["file"]
    assert folder.to_directory() == os.fspath(folder)
    assert "a" in repr(folder)


def test_it_travels():
    """Pickles keep text and metrics."""
    held = pickle.loads(pickle.dumps(SavedRun("folder", {"x": 1})))

    assert (held, held.checkpoint.path, held.metrics) == ("folder", "folder", {"x": 1})


def test_a_part_of_a_state_leaves_the_count_alone(algo):
    """Handing over one module's weights does not begin the run anew."""
    weights = algo.get_module().get_state()

    algo.set_state({"learner_group": {"learner": {"rl_module": {"default_policy": weights}}}})

    assert algo.iteration == 1
