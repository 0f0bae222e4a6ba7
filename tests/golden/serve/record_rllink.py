"""Record a conversation in RLlink: run with a Ray that has it, and msgpack-numpy.

`rllink_client.bin` holds what Ray's own example client sends, two rounds of episodes;
`rllink_server.bin` what Ray's own server answers to a ping and a client that asks for the state.
Both with the weights of `checkpoints/2.60.0-ppo_new_stack`.
"""

import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import ray.rllib.examples.envs.classes.utils.dummy_external_client as example
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModule
from ray.rllib.env.external.env_runner_server_for_external_inference import (
    EnvRunnerServerForExternalInference,
)
from ray.rllib.env.external.rllink import get_rllink_message, send_rllink_message

PORT = 5791
ROUNDS = 2
here = Path(__file__).parent
module = RLModule.from_checkpoint(here.parent / "checkpoints" / "2.60.0-ppo_new_stack" / "module")
config = PPOConfig().training(train_batch_size=32)
config.observation_space, config.action_space = module.observation_space, module.action_space
config.rl_module(model_config=module.model_config)
config.env_config = {"port": PORT}

runner = EnvRunnerServerForExternalInference(config=config)
runner.set_state({"rl_module": module.get_state(inference_only=True), "weights_seq_no": 1})


class Tap:
    """Keeps what goes over a socket."""

    sent, received = [], []

    def __init__(self, sock):
        self.sock = sock

    def sendall(self, data):
        """Send, and keep."""
        self.sent.append(bytes(data))
        self.sock.sendall(data)

    def recv(self, size):
        """Receive, and keep."""
        data = self.sock.recv(size)
        self.received.append(data)
        return data


def learn():
    """Answer each round of episodes with the weights there are."""
    for _ in range(ROUNDS):
        runner.sample()
        runner.set_state({})


class EnoughError(Exception):
    """So many rounds were played."""


def receive(sock):
    """End the client, which never does, after some rounds."""
    message = get_rllink_message(Tap(sock))
    if len(Tap.sent) == 3 + ROUNDS:
        raise EnoughError
    return message


example.send_rllink_message = lambda sock, fields: send_rllink_message(Tap(sock), fields)
example.get_rllink_message = receive
np.random.seed(0)  # noqa: NPY002  # the example draws by it
threading.Thread(target=learn, daemon=True).start()
with suppress(EnoughError):
    example._dummy_external_client(PORT)
(here / "rllink_client.bin").write_bytes(b"".join(Tap.sent))

answers = b"".join(Tap.received)
frames = []
while answers:
    size = 8 + int(answers[:8])
    frames.append(answers[:size])
    answers = answers[size:]
pong, _, state, *_ = frames  # the config names classes of this very Ray
(here / "rllink_server.bin").write_bytes(pong + state)
