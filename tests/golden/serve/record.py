"""Record what a real `PolicyClient` sends: run with a Ray that has it.

`policy_client_VERSION.json` holds bodies in hex: of single commands by name, and of two episodes of
two agents, played at once.
"""

import json
from pathlib import Path

import numpy as np
import ray
from ray.rllib.env.policy_client import PolicyClient


class Reply:
    """The least that a client takes for an answer."""

    status_code = 200
    content = b"\x80\x05}\x94(\x8c\x0aepisode_id\x94\x8c\x01e\x94\x8c\x06action\x94K\x00u."

    def raise_for_status(self):
        """Nothing is wrong."""


class Session:
    """Keeps the bodies."""

    def __init__(self):
        self.bodies = []

    def post(self, address, data):
        """Take a body."""
        self.bodies.append(data)
        return Reply()


session = Session()
client = PolicyClient("http://nowhere", inference_mode="remote", session=session)
obs = np.linspace(-0.5, 0.5, 8, dtype=np.float32)
names = []


def ask(name, method, *args):
    """Send one command and name it."""
    getattr(client, method)(*args)
    names.append(name)


ask("start", "start_episode", "e")
ask("start_unnamed", "start_episode")
ask("act", "get_action", "e", obs[:4])
ask("act_strided", "get_action", "e", obs[::2])
ask("act_list", "get_action", "e", obs[:4].tolist())
ask("act_agents", "get_action", "e", {"a": obs[:4], "b": obs[4:]})
ask("log_action", "log_action", "e", obs[:4], 1)
ask("returns", "log_returns", "e", 1.5)
ask("returns_scalar", "log_returns", "e", np.float32(1.5), {"lives": 3})
ask("returns_agents", "log_returns", "e", {"a": 1.0, "b": 2.0}, None, {"a": True, "__all__": False})
ask("end", "end_episode", "e", obs[:4])
ask("end_agents", "end_episode", "e", {"b": obs[4:]})

session.bodies, bodies = [], session.bodies
rng = np.random.default_rng(0)
for name in "xy":
    client.start_episode(name)
for step in range(5):
    for name in "xy":
        agents = ["b", 4] if step < 3 else ["b"]
        client.get_action(name, {agent: rng.uniform(-1, 1, 4).astype("f4") for agent in agents})
        earned = {agent: float(rng.normal()) for agent in agents}
        over = {4: True, "__all__": False} if step == 2 else None
        client.log_returns(name, earned, {agent: {} for agent in agents}, over)
for name in "xy":
    client.end_episode(name, {"b": obs[:4]})

recorded = {
    "ray": ray.__version__,
    "numpy": np.__version__,
    "bodies": {name: body.hex() for name, body in zip(names, bodies, strict=True)},
    "played": [body.hex() for body in session.bodies],
}
target = Path(__file__).parent / f"policy_client_{ray.__version__}.json"
target.write_text(json.dumps(recorded, indent=1) + "\n")
