"""Configs of algorithms: their modules, learners and the pieces they add for learning."""

import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect import v2
from rlconnect.core.errors import ConfigError, UnusedSettingWarning

SPACES = (Box(-1.0, 1.0, (3,)), Discrete(2))


def _names(pipeline):
    return [type(piece).__name__ for piece in pipeline.connectors]


DEFAULTS = [
    "AddObservationsFromEpisodesToBatch",
    "AddColumnsFromEpisodesToTrainBatch",
    "AddTimeDimToBatchAndZeroPad",
    "AddStatesFromEpisodesToBatch",
    "BatchIndividualItems",
    "NumpyToTensor",
]
WITH_NEXT = [DEFAULTS[0], "AddNextObservationsFromEpisodesToTrainBatch", *DEFAULTS[1:]]


@pytest.mark.parametrize(
    ("name", "module", "model_config", "pieces"),
    [
        ("PPOConfig", "DefaultPPOTorchRLModule", {"vf_share_layers": False}, DEFAULTS),
        ("BCConfig", "DefaultBCTorchRLModule", {}, WITH_NEXT),
        (
            "MARWILConfig",
            "DefaultPPOTorchRLModule",
            {},
            ["AddOneTsToEpisodesAndTruncate", *WITH_NEXT, "GeneralAdvantageEstimation"],
        ),
        ("SACConfig", "DefaultSACTorchRLModule", {"twin_q": True}, WITH_NEXT),
        ("IQLConfig", "DefaultIQLTorchRLModule", {"twin_q": True}, WITH_NEXT),
        # There the piece is added twice, where once is enough.
        ("CQLConfig", "DefaultCQLTorchRLModule", {"twin_q": True, "num_actions": 10}, WITH_NEXT),
    ],
)
def test_default_module_and_learner_pipeline(name, module, model_config, pieces):
    """Class, settings and pieces are those Ray 2.60 gives for the same config."""
    config = getattr(v2, name)()

    spec = config.get_rl_module_spec(spaces={"default_policy": SPACES})
    pipeline = config.build_learner_connector(*SPACES)

    assert spec.module_class.__name__ == module
    assert spec.model_config == model_config
    assert _names(pipeline) == pieces


@pytest.mark.parametrize("name", ["PPOConfig", "BCConfig", "MARWILConfig"])
def test_a_learner_right_here(name):
    """`build_learner` gives a built learner of the algorithm's class, with its pipeline."""
    spaces = {"__env_single__": SPACES, "default_policy": SPACES}
    config = getattr(v2, name)()

    learner = config.build_learner(spaces=spaces)

    assert type(learner).__name__ == name.replace("Config", "TorchLearner")
    assert len(learner.learner_connector["NumpyToTensor"]) == 1
    estimations = learner.learner_connector["GeneralAdvantageEstimation"]
    assert len(estimations) == (0 if name == "BCConfig" else 1)


def test_a_learner_class_of_ones_own():
    """`learners(learner_class=)` takes the default's place."""

    class Mine(v2.PPOTorchLearner):
        pass

    config = v2.PPOConfig().learners(learner_class=Mine)

    assert type(config.build_learner(spaces={"default_policy": SPACES})) is Mine


def test_cloning_does_not_weigh():
    """BC's beta is 0; another one is MARWIL."""
    with pytest.raises(ConfigError, match="MARWILConfig"):
        v2.BCConfig().training(beta=1.0)
    with pytest.raises(ConfigError, match="0 to 1"):
        v2.MARWILConfig().training(beta=-1.0)


def test_what_learns_from_recordings():
    """PPO samples what it learns from; BC and MARWIL read it."""
    offline = {name: getattr(v2, name)().is_offline for name in ("PPOConfig", "BCConfig")}

    assert offline == {"PPOConfig": False, "BCConfig": True}
    assert v2.MARWILConfig().is_offline


def test_schedules():
    """Rates and weights may be lines through points."""
    config = v2.PPOConfig().training(lr=[[0, 1e-3], [1e6, 1e-5]], entropy_coeff=[[0, 0.1], [9, 0]])

    config.validate()

    assert config.entropy_coeff == [[0, 0.1], [9, 0]]


@pytest.mark.parametrize(
    ("sizes", "is_unused"),
    [
        ({"train_batch_size": 64}, True),
        ({"train_batch_size": 64, "train_batch_size_per_learner": None}, False),
        ({"train_batch_size": 64, "train_batch_size_per_learner": 64}, False),
        ({"train_batch_size_per_learner": 64}, False),
    ],
)
def test_a_batch_size_that_changes_nothing_is_told(sizes, is_unused, recwarn):
    """SAC has a size for each learner, which counts, as in RLlib; DQN has none."""
    for config in (v2.SACConfig(), v2.DQNConfig()):
        config.environment("Pendulum-v1").training(**sizes).validate()
        told = [each for each in recwarn if each.category is UnusedSettingWarning]

        assert bool(told) is (is_unused and type(config) is v2.SACConfig)
        recwarn.clear()
