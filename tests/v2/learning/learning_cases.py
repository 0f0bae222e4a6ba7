"""Settings, episodes and learners that the tests of learners share."""

import copy
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.v2 import (
    BCCatalog,
    DefaultBCTorchRLModule,
    DefaultPPOTorchRLModule,
    MultiAgentEpisode,
    MultiRLModuleSpec,
    PPOCatalog,
    RLModuleSpec,
    SingleAgentEpisode,
)
from rlconnect.v2.common.agent_to_module_mapping import AgentMapping
from rlconnect.v2.learner.defaults import learner_pipeline
from rlconnect.v2.learning.marwil import BCTorchLearner, MARWILTorchLearner
from rlconnect.v2.learning.ppo import PPOTorchLearner

GOLDEN = Path(__file__).parents[2] / "golden" / "v2_learning"
OBS = Box(-10.0, 10.0, (3,), np.float32)
ACTS = {"discrete": Discrete(2), "box": Box(-1.0, 1.0, (2,), np.float32)}
LEARNERS = {"PPO": PPOTorchLearner, "MARWIL": MARWILTorchLearner, "BC": BCTorchLearner}
MLP = {"fcnet_hiddens": [4], "vf_share_layers": False}

_DEFAULTS = {
    "lr": 5e-5,
    "grad_clip": None,
    "grad_clip_by": "global_norm",
    "gamma": 0.99,
    "lambda_": 1.0,
    "use_critic": True,
    "use_kl_loss": True,
    "kl_coeff": 0.2,
    "kl_target": 0.01,
    "vf_loss_coeff": 1.0,
    "entropy_coeff": 0.0,
    "clip_param": 0.3,
    "vf_clip_param": 10.0,
    "beta": 1.0,
    "bc_logstd_coeff": 0.0,
    "moving_average_sqd_adv_norm_update_rate": 1e-8,
    "moving_average_sqd_adv_norm_start": 100.0,
    "vf_coeff": 1.0,
    "policies_to_train": None,
    "add_default_connectors_to_learner_pipeline": True,
    "log_gradients": False,
    "torch_skip_nan_gradients": False,
    "num_gpus_per_learner": 0,
    "num_learners": 0,
    "seed": 1,
}


class Settings(SimpleNamespace):
    """As much of an algorithm's settings as a learner asks for."""

    def __init__(self, *, agents=None, overrides=None, **changed):
        super().__init__(**{**_DEFAULTS, **changed})
        self.agents = agents
        self.algorithm_config_overrides_per_module = overrides or {}

    def copy(self, copy_frozen=None):
        return copy.copy(self)

    def get_config_for_module(self, module_id):
        made = copy.copy(self)
        vars(made).update(self.algorithm_config_overrides_per_module.get(module_id, {}))
        return made

    def build_learner_connector(
        self, input_observation_space=None, input_action_space=None, device=None
    ):
        return learner_pipeline(
            input_observation_space, input_action_space, agents=self.agents, device=device
        )

    def rl_module(self, *, algorithm_config_overrides_per_module):
        self.algorithm_config_overrides_per_module = algorithm_config_overrides_per_module

    def multi_agent(self, *, policies_to_train):
        self.policies_to_train = policies_to_train


def ppo_spec(model=MLP, act="discrete"):
    """PPO's default module."""
    return RLModuleSpec(
        DefaultPPOTorchRLModule, OBS, ACTS[act], model_config=model, catalog_class=PPOCatalog
    )


def make_learner(
    cls=PPOTorchLearner, *, model=MLP, act="discrete", ids=("default_policy",), **settings
):
    """A built learner of default modules."""
    spec = ppo_spec(model, act)
    if issubclass(cls, BCTorchLearner):
        spec = RLModuleSpec(
            DefaultBCTorchRLModule, OBS, ACTS[act], model_config=model, catalog_class=BCCatalog
        )
    if len(ids) > 1:
        settings["agents"] = AgentMapping(ids, lambda agent_id, episode: f"p_{agent_id}")
    specs = MultiRLModuleSpec(rl_module_specs=dict.fromkeys(ids, spec))
    learner = cls(config=Settings(**settings), module_spec=specs)
    learner.build()
    return learner


def episode(steps=5, seed=0, *, name="e", done=True, act="discrete"):
    """An episode of noise."""
    rng = np.random.default_rng(seed)
    actions = rng.integers(2, size=steps) if act == "discrete" else rng.normal(size=(steps, 2))
    return episode_of(
        {
            "obs": rng.normal(size=(steps + 1, 3)).astype(np.float32),
            "actions": actions,
            "rewards": rng.normal(size=steps),
            "logits": rng.normal(size=(steps, 2 if act == "discrete" else 4)).astype(np.float32),
            "logp": rng.normal(size=steps).astype(np.float32) - 1,
        },
        name=name,
        done=done,
        act=act,
    )


def episode_of(columns, *, name, done, act="discrete"):
    """An episode from the columns of one agent."""
    made = SingleAgentEpisode(id_=name, observation_space=OBS, action_space=ACTS[act])
    made.add_env_reset(observation=columns["obs"][0])
    steps = len(columns["rewards"])
    for t in range(steps):
        made.add_env_step(
            observation=columns["obs"][t + 1],
            action=columns["actions"][t],
            reward=float(columns["rewards"][t]),
            terminated=done and t == steps - 1,
            extra_model_outputs=_outputs(columns, t),
        )
    return made.to_numpy()


def several_episode_of(by_agent, *, name, done):
    """An episode from the columns of agents who act together."""
    made = MultiAgentEpisode(
        id_=name,
        observation_space=Dict(dict.fromkeys(by_agent, OBS)),
        action_space=Dict(dict.fromkeys(by_agent, ACTS["discrete"])),
        agent_to_module_mapping_fn=lambda agent_id, episode, **kwargs: f"p_{agent_id}",
    )
    made.add_env_reset(observations={a: columns["obs"][0] for a, columns in by_agent.items()})
    steps = len(next(iter(by_agent.values()))["rewards"])
    for t in range(steps):
        made.add_env_step(
            observations={a: columns["obs"][t + 1] for a, columns in by_agent.items()},
            actions={a: int(columns["actions"][t]) for a, columns in by_agent.items()},
            rewards={a: float(columns["rewards"][t]) for a, columns in by_agent.items()},
            terminateds={"__all__": done and t == steps - 1},
            extra_model_outputs={a: _outputs(columns, t) for a, columns in by_agent.items()},
        )
    return made.to_numpy()


def _outputs(columns, t):
    return {"action_dist_inputs": columns["logits"][t], "action_logp": columns["logp"][t]}


class Recorded:
    """One recording of real Ray's learner."""

    def __init__(self, name):
        with np.load(GOLDEN / f"{name}.npz") as held:
            self.arrays = {key: held[key] for key in held.files}
        self.facts = json.loads(str(self.arrays.pop("facts")))
        self.case = self.facts["case"]

    def below(self, first):
        """The arrays of one part, by the rest of their names."""
        return {
            key.partition("/")[2]: value
            for key, value in self.arrays.items()
            if key.partition("/")[0] == first
        }

    def episodes(self):
        """The episodes as they were given to Ray."""
        columns = self.below("episode")
        made = []
        for index, done in enumerate(self.facts["dones"]):
            own = {
                key.partition("/")[2]: value
                for key, value in columns.items()
                if key.startswith(f"{index}/")
            }
            facts = {"name": f"e{index}", "done": done}
            if self.case.get("several"):
                by_agent = {
                    agent: {k[2:]: v for k, v in own.items() if k.startswith(f"{agent}/")}
                    for agent in "ab"
                }
                made.append(several_episode_of(by_agent, **facts))
            else:
                made.append(episode_of(own, act=self.case.get("act", "discrete"), **facts))
        return made

    def learner(self, wrap=lambda cls: cls):
        """A learner of the same settings and weights."""
        several = bool(self.case.get("several"))
        learner = make_learner(
            wrap(LEARNERS[self.case.get("algorithm", "PPO")]),
            model=self.case["model"],
            act=self.case.get("act", "discrete"),
            ids=("p_a", "p_b") if several else ("default_policy",),
            log_gradients=True,
            overrides={"p_b": {"lr": 0.05, "clip_param": 0.1}} if several else None,
            **_defaults_of(self.case),
            **self.case["training"],
        )
        state = {}
        for key, value in self.below("before").items():
            module_id, _, name = key.partition("/")
            state.setdefault(module_id, {})[name] = value
        learner.module.set_state(state)
        return learner


def _defaults_of(case):
    if case.get("algorithm", "PPO") == "PPO" or "lr" in case["training"]:
        return {}
    return {"lr": 1e-4}


def weights_of(learner):
    """All weights by module id and name."""
    return {
        f"{module_id}/{name}": value
        for module_id, state in learner.module.get_state().items()
        for name, value in state.items()
        if "const" not in name
    }
