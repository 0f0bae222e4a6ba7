"""Code that only a piece's author can fill in."""

from __future__ import annotations


def agent_snippet(name: str) -> str:
    """A native piece on observations, to be filled in with what a connector's function does."""
    return f'''from rlconnect.bridge import register_twin
from rlconnect.v2 import SingleAgentObservationPreprocessor

class {_class_name(name)}(SingleAgentObservationPreprocessor):
    """What {name} did to data["obs"] and data["new_obs"]."""

    def recompute_output_observation_space(self, input_observation_space, input_action_space):
        return input_observation_space  # fill in, if the space changes

    def preprocess(self, observation, episode):
        return observation  # fill in

register_twin({name!r}, {_class_name(name)})'''


def action_snippet(name: str) -> str:
    """A native piece on actions, to be filled in with what a connector's function does."""
    return f'''from rlconnect.bridge import register_twin
from rlconnect.v2 import ConnectorV2

class {_class_name(name)}(ConnectorV2):
    """What {name} did to actions."""

    def __call__(self, *, batch, **kwargs):
        column = "actions_for_env" if "actions_for_env" in batch else "actions"
        batch["actions_for_env"] = {{
            key: [self.change(action) for action in items] for key, items in batch[column].items()
        }}
        return batch

    def change(self, action):
        return action  # fill in

register_twin({name!r}, {_class_name(name)})'''


def network_snippet(name: str) -> str:
    """A native module, to be filled in with what an author's network computes."""
    return f'''from rlconnect.v2 import TorchRLModule, ValueFunctionAPI

class {_class_name(name)}Module(TorchRLModule, ValueFunctionAPI):
    """What {name} computed."""

    def setup(self):
        ...  # fill in: the layers

    def _forward(self, batch, **kwargs):
        return {{"action_dist_inputs": ...}}  # fill in

    def compute_values(self, batch, embeddings=None):
        ...  # fill in'''


def _class_name(name: str) -> str:
    return "".join(part if part.isidentifier() else "_" for part in name) or "Piece"
