"""Replays the programs of `scenarios.json` on real Ray RLlib and writes what came out beside them.

    <python with Ray 2.60.0> record.py

The scenarios are data: how an episode is made and stepped. What is recorded per scenario: each
agent's columns, what hangs, who stepped and is to act, and what the getters return.
"""

import json
import pathlib
import warnings

import numpy as np

warnings.filterwarnings("ignore")
HERE = pathlib.Path(__file__).parent


def plain(value):
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    return value


def index(written):
    return slice(*written["slice"]) if isinstance(written, dict) else written


def single_view(single):
    lookback = single.observations.lookback
    return {
        "t": [single.t_started, single.t],
        "lookback": lookback,
        "obs": plain(single.observations.data),
        "actions": plain(single.actions.data),
        "rewards": plain(single.rewards.data),
        "infos": plain(single.infos.data),
        "outputs": {key: plain(b.data) for key, b in single.extra_model_outputs.items()},
        "flags": [bool(single.is_terminated), bool(single.is_truncated)],
    }


def view(episode):
    return {
        "env_t": [episode.env_t_started, episode.env_t],
        "agents": {agent: single_view(s) for agent, s in episode.agent_episodes.items()},
        "stepped": plain(set(episode.get_agents_that_stepped())),
        "to_act": plain(set(episode.get_agents_to_act())),
        "done": [bool(episode.is_terminated), bool(episode.is_truncated)],
        "hanging": plain(dict(episode.get_state()["_hanging_actions_end"])),
        "map": {a: plain(steps.data) for a, steps in episode.env_t_to_agent_t.items()},
        "return": episode.get_return(),
    }


def run(scenario, episode_class):
    """The views a scenario asks for, on any implementation."""
    episode = episode_class(
        id_="golden", agent_to_module_mapping_fn=lambda agent, episode: "m_" + agent
    )
    found = []
    for operation, *given in scenario:
        if operation == "reset":
            episode.add_env_reset(observations=given[0], infos={a: {"t": 0} for a in given[0]})
        elif operation == "step":
            seen, acted, earned, *more = given
            outputs = {agent: {"logp": -float(a)} for agent, a in acted.items()}
            episode.add_env_step(
                seen,
                acted,
                earned,
                {a: {"t": episode.env_t + 1} for a in seen},
                extra_model_outputs=outputs,
                **(more[0] if more else {}),
            )
        elif operation == "numpy":
            episode.to_numpy()
        elif operation == "cut":
            episode = episode.cut(given[0])
        elif operation == "view":
            found.append(view(episode))
        elif operation == "slice":
            part = view(episode[slice(*given[0])])
            for single in part["agents"].values():
                del single["infos"]  # Ray loses them in slices.
            found.append(part)
        elif operation == "get":
            what, at, named = given
            found.append(plain(getattr(episode, "get_" + what)(indices=index(at), **named)))
    return found


if __name__ == "__main__":
    import ray
    from ray.rllib.env.multi_agent_episode import MultiAgentEpisode

    scenarios = json.loads((HERE / "scenarios.json").read_text())["scenarios"]
    recorded = {name: run(s, MultiAgentEpisode) for name, s in scenarios.items()}
    text = json.dumps({"ray": ray.__version__, "recorded": recorded}, indent=None)
    (HERE / "recorded.json").write_text(text + "\n")
