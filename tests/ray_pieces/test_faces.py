"""The classes that bring to Ray what it lacks."""

import subprocess
import sys

import numpy as np
import pytest
import rlconnect.ray_pieces
from rlconnect.bridge.migrate.faces import MODULE_HOMES, PIECE_HOMES, own_class, use_face
from rlconnect.core.errors import MissingExtraError
from rlconnect.v2 import EnvToModulePipeline, SquashGreedyActions

HAS_RAY = "ray" in sys.modules or __import__("importlib.util").util.find_spec("ray") is not None
STAND_IN = """
import numpy as np, torch
from gymnasium.spaces import Box, Discrete
from rlconnect.bridge import LegacyPolicyModule, ray_aliases
ray_aliases.activate(force=True)
import rlconnect.ray_pieces as room
from ray.rllib.connectors.connector_v2 import ConnectorV2
from rlconnect.core.adapters import AdapterChain, DropFeatures
from rlconnect.legacy import Policy
from rlconnect.v2 import SingleAgentEpisode
"""


def run(script):
    """A script in a process of its own, where Ray's names are rlconnect's: a stand-in for Ray."""
    ran = subprocess.run(
        [sys.executable, "-c", STAND_IN + script],
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    assert ran.returncode == 0, ran.stderr[-1500:]


@pytest.mark.torch
def test_pieces_hand_everything_on():
    """Spaces, calls, states and arguments of a face are those of the piece behind it."""
    run("""
chain = AdapterChain(obs=[DropFeatures([1])]).to_data()
face = room.AdaptObservations(Box(-1, 1, (3,)), Discrete(2), chain=chain)
assert isinstance(face, ConnectorV2) and room.AdaptObservations is type(face)
assert face.observation_space.shape == (2,)
episode = SingleAgentEpisode()
episode.add_env_reset(observation=np.float32([1, 9, 0]))
assert face(rl_module=None, batch={}, episodes=[episode]) == {}
assert episode.get_observations(-1).tolist() == [1, 0]
args, kwargs = face.get_ctor_args_and_kwargs()
again = type(face)(*args, **kwargs)
assert again.observation_space == face.observation_space
again.set_state(face.get_state())
""")


@pytest.mark.torch
def test_modules_hand_everything_on():
    """Outputs, values, weights and arguments of a face are those of the module behind it."""
    run("""
policy = Policy(Box(-1, 1, (4,)), Discrete(2), {"seed": 0})
own = LegacyPolicyModule.of(policy)
args, kwargs = own.get_ctor_args_and_kwargs()
face = room.LegacyPolicyModule(**kwargs)
face.set_state(own.get_state())
batch = {"obs": torch.rand(3, 4)}
wanted, found = own.forward_inference(dict(batch)), face.forward_inference(dict(batch))
assert wanted.keys() == found.keys()
assert torch.equal(wanted["action_dist_inputs"], found["action_dist_inputs"])
assert torch.equal(own.compute_values(batch), face.compute_values(batch))
assert face.forward_train(batch)["action_dist_inputs"].requires_grad
assert face.get_state().keys() == own.get_state().keys()
assert face.get_ctor_args_and_kwargs()[1].keys() == kwargs.keys()
""")


@pytest.mark.skipif(HAS_RAY, reason="Ray is installed")
@pytest.mark.parametrize("name", sorted((*PIECE_HOMES, *MODULE_HOMES)))
def test_without_ray_the_error_says_what_to_install(name):
    """Each class is one of Ray's: without it there is none, and the way to it is told."""
    with pytest.raises(MissingExtraError, match=r"rlconnect\[ray\]"):
        getattr(rlconnect.ray_pieces, name)


def test_names_that_are_not_there_are_plain_errors():
    """The room offers its classes and nothing else."""
    assert dir(rlconnect.ray_pieces) == sorted((*PIECE_HOMES, *MODULE_HOMES))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        rlconnect.ray_pieces.Nothing  # noqa: B018


@pytest.mark.parametrize("name", sorted((*PIECE_HOMES, *MODULE_HOMES)))
def test_every_face_has_a_class_of_ours_behind_it(name):
    """The table names classes that are there."""
    assert own_class(name).__name__ == name


def test_a_face_comes_back_as_ours(tmp_path):
    """Here a checkpoint for Ray gives our own piece, computing as ever."""
    pipeline = EnvToModulePipeline(connectors=[use_face(SquashGreedyActions())])
    pipeline.save_to_path(tmp_path / "pipeline")

    (piece,) = EnvToModulePipeline.from_checkpoint(tmp_path / "pipeline").connectors
    batch = {"actions": {("e",): [np.full(1, 100.0)]}}

    assert type(piece) is SquashGreedyActions
    assert piece(rl_module=None, batch=batch, episodes=[])["actions"][("e",)][0] == [1.0]
