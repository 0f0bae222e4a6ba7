"""Settings, episodes and learners that the tests of learners share."""

import json
from pathlib import Path

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.v2 import (
    BCCatalog,
    BCConfig,
    BCTorchLearner,
    DefaultBCTorchRLModule,
    DefaultPPOTorchRLModule,
    MARWILConfig,
    MARWILTorchLearner,
    MultiAgentEpisode,
    MultiRLModuleSpec,
    PPOCatalog,
    PPOConfig,
    PPOTorchLearner,
    RLModuleSpec,
    SingleAgentEpisode,
)

GOLDEN = Path(__file__).parents[2] / "golden" / "v2_learning"
OBS = Box(-10.0, 10.0, (3,), np.float32)
ACTS = {"discrete": Discrete(2), "box": Box(-1.0, 1.0, (2,), np.float32)}
LEARNERS = {"PPO": PPOTorchLearner, "MARWIL": MARWILTorchLearner, "BC": BCTorchLearner}
MLP = {"fcnet_hiddens": [4], "vf_share_layers": False}


def settings_of(cls=PPOTorchLearner, *, act="discrete", ids=("default_policy",), **changed):
    """The settings of the algorithm that a class of learners is for, with changes."""
    kinds = (BCTorchLearner, BCConfig), (MARWILTorchLearner, MARWILConfig)
    config = next((made for base, made in kinds if issubclass(cls, base)), PPOConfig)()
    config.environment(observation_space=OBS, action_space=ACTS[act])
    config.learners(learner_class=cls)
    if len(ids) > 1:
        config.multi_agent(
            policies=set(ids), policy_mapping_fn=lambda agent_id, episode, **kwargs: f"p_{agent_id}"
        )
    return config.update_from_dict({"seed": 1, **changed})


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
    specs = MultiRLModuleSpec(rl_module_specs=dict.fromkeys(ids, spec))
    config = settings_of(cls, act=act, ids=ids, **settings)
    learner = cls(config=config, module_spec=specs)
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
            algorithm_config_overrides_per_module=(
                {"p_b": {"lr": 0.05, "clip_param": 0.1}} if several else {}
            ),
            **self.case["training"],
        )
        state = {}
        for key, value in self.below("before").items():
            module_id, _, name = key.partition("/")
            state.setdefault(module_id, {})[name] = value
        learner.module.set_state(state)
        return learner


def weights_of(learner):
    """All weights by module id and name."""
    return {
        f"{module_id}/{name}": value
        for module_id, state in learner.module.get_state().items()
        for name, value in state.items()
        if "const" not in name
    }
