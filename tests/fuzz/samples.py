"""Checkpoints of every kind: what lies recorded, and what is written here for the purpose."""

import json
import shutil
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.fuzz.encodings import encoding_of, read_tree

_HAS_READERS = all(find_spec(name) for name in ("pyarrow", "h5py"))
GOLDEN = Path(__file__).parents[1] / "golden"
LARGEST = 200_000

# A name -> the recorded folder, and which doors lead to it.
RECORDED = {
    "policy 2.0": ("recordings/legacy/2.0.1/ppo_cartpole_meanstd/algo_checkpoint", "policy"),
    "policy 2.2 lstm": ("recordings/legacy/2.2.0/ppo_lstm_prev/algo_checkpoint", "policy"),
    "policy 2.3 tuple": ("recordings/legacy/2.3.1/ppo_tuple_act/algo_checkpoint", "policy"),
    "policy 2.5 module": ("recordings/legacy/2.5.1/ppo_rlmodule/algo_checkpoint", "policy"),
    "policy dqn": ("recordings/legacy/2.7.2/dqn_c51/algo_checkpoint", "policy"),
    "policy td3": ("recordings/legacy/2.7.2/td3/algo_checkpoint", "policy"),
    "policy sac": ("recordings/legacy/2.7.2/sac_cont/algo_checkpoint", "policy"),
    "policy attention": ("recordings/legacy/2.7.2/ppo_attention/algo_checkpoint", "policy"),
    "policy image": ("recordings/legacy/2.7.2/ppo_image_vision/algo_checkpoint", "policy"),
    "policy complex": ("recordings/legacy/2.7.2/ppo_dict_obs_complex/algo_checkpoint", "policy"),
    "policy msgpack": ("recordings/legacy/2.7.2/ppo_msgpack/algo_checkpoint", "policy"),
    "policy filter": (
        "recordings/legacy/2.7.2/ppo_pendulum_norm_meanstd/algo_checkpoint",
        "policy",
    ),
    "policy lambdas": ("recordings/legacy/2.7.2/ppo_lambda_connectors/algo_checkpoint", "policy"),
    "policy stack": ("recordings/legacy/2.7.2/ppo_framestack_view/algo_checkpoint", "inspect"),
    "policy adapted": ("recordings/legacy/2.10.0/ppo_adapt_cartpole/algo_checkpoint", "policy"),
    "policy crr": ("rare/2.7.2-crr", "policy"),
    "policy curiosity": ("rare/2.7.2-ppo_curiosity", "policy"),
    "policy bandit": ("rare/2.2.0-bandit_ts", "policy"),
    "worker file": ("rare/2.0.1-sac_multi_agent", "policy"),
    "old algorithm": ("checkpoints/2.3.1-ppo_multiagent/algo_checkpoint", "policy"),
    "old algorithm msgpack": ("checkpoints/2.5.1-ppo_msgpack/msgpack_algo", "policy"),
    "old algorithm modules": ("checkpoints/2.7.2-ppo_rlmodule/algo_checkpoint", "policy"),
    "ray 1": ("checkpoints/1.13.0-ppo_swish/trial", "trial"),
    "ray 0": ("checkpoints/0.1-ppo_torch/checkpoint", "inspect"),
    "evolution": ("rare/2.2.0-es", "policy"),
    "new algorithm": ("recordings/new/2.60.0-algo_pkl", "algorithm"),
    "new algorithm msgpack": ("recordings/new/2.60.0-algo_msgpack", "algorithm"),
    "module": ("recordings/new/2.60.0-ppo_module", "module"),
    "module msgpack": ("recordings/new/2.60.0-module_msgpack", "module"),
    "module sac": ("module_checkpoints/sac", "module"),
    "modules": ("module_checkpoints/multi", "module"),
    "pipeline": ("recordings/new/2.60.0-pipe", "pipeline"),
    "filter": ("recordings/new/2.60.0-filter", "pipeline"),
    "data 1.13": ("offline/1.13.0/json_box_infos_packed/data", "data"),
    "data nested": ("offline/2.2.0/json_dict_nested/data", "data"),
    "data rnn": ("offline/2.2.0/json_rnn/data", "data"),
    "data of several": ("offline/2.60.0/json_multi/data", "data"),
    "data tables": ("offline/2.7.2/dataset_parquet_multi/data", "data"),
    "data episodes": ("offline/2.60.0/episodes_tuple/data", "data"),
    "data rows": ("offline/2.60.0/columns_tuple/data", "data"),
    "data hdf5": ("offline/0.5.4/minari_hdf5_tuple/data", "data"),
    "data jpeg": ("offline/0.5.4/minari_hdf5_jpeg/data", "data"),
    "data arrow": ("offline/0.5.4/minari_arrow_tuple/data", "data"),
}


@dataclass(frozen=True)
class Sample:
    """A checkpoint that is whole.

    Attributes:
        name: What it is.
        root: Its folder, or the folder of its one file.
        doors: Which doors lead to it.
        files: The files in it that hold trees, relative to the root.
    """

    name: str
    root: Path
    doors: str
    files: tuple

    def tree(self, file):
        """What a file of it holds."""
        return read_tree((self.root / file).read_bytes(), encoding_of(self.root / file))


def all_samples(scratch):
    """Every sample; those that are written here lie below `scratch`, and are written once.

    Args:
        scratch: A folder of our own.
    """
    made = Path(scratch) / "made"
    if not (made / "done").is_file():
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kinds = _write(made)
        (made / "done").write_text(json.dumps(kinds), encoding="utf-8")
    kinds = json.loads((made / "done").read_text(encoding="utf-8"))
    found = [_sample(name, GOLDEN / path, doors) for name, (path, doors) in RECORDED.items()]
    return found + [_sample(name, made / name, doors) for name, doors in kinds.items()]


def _sample(name, root, doors):
    files = []
    for path in sorted(root.rglob("*")):
        is_tree = path.is_file() and encoding_of(path) and path.name != "answers.json"
        if path.suffix in (".parquet", ".hdf5", ".arrow") and not _HAS_READERS:
            continue
        if is_tree and path.name[0] != "." and 0 < path.stat().st_size <= LARGEST:
            files.append(path.relative_to(root))
    return Sample(name, root, doors, tuple(files))


def _write(folder):
    """Write the kinds that nobody recorded; their doors by name."""
    import numpy as np
    from gymnasium.spaces import Box, Discrete
    from rlconnect.bridge.actor.actor import Actor
    from rlconnect.bridge.adapting.adapt import adapt
    from rlconnect.bridge.migrate.front_door import migrate
    from rlconnect.bridge.migrate.plan import plan_migration
    from rlconnect.bridge.wrap.triple import policy_to_v2
    from rlconnect.core.adapters import DropFeatures
    from rlconnect.legacy.policy.policy import Policy

    legacy = GOLDEN / "recordings" / "legacy"
    lstm = _policy(legacy / "2.7.2" / "ppo_lstm_prev" / "algo_checkpoint")
    plain = _policy(legacy / "2.60.0" / "ppo_cartpole" / "algo_checkpoint")
    filtered = _policy(legacy / "2.7.2" / "ppo_pendulum_norm_meanstd" / "algo_checkpoint")
    doors = {}

    def put(name, kind):
        doors[name] = kind
        return folder / name

    lstm.export_checkpoint(put("own", "policy"))
    (folder / "own json").mkdir()
    plain.export_checkpoint(put("own json", "policy") / "policy.json", arrays="inline")
    wider = Box(-5.0, 5.0, (6,), np.float32)
    adapt(plain, observation_space=wider, obs=DropFeatures([4, 5])).export_checkpoint(
        put("adapted", "policy")
    )
    migrate(filtered, put("migrated", "migrated"))
    migrate(plain, put("migrated for ray", "triple"), to="ray")
    plan = plan_migration(legacy / "2.7.2" / "ppo_pendulum_norm_meanstd" / "algo_checkpoint")
    put("plan", "plan").mkdir()
    plan.save(folder / "plan" / "plan.json")
    Actor.from_policy(filtered).save(put("actor", "actor"))
    Actor.from_v2(*policy_to_v2(filtered)).save(put("actor wrapped", "actor"))
    Actor.from_checkpoint(folder / "migrated").save(put("actor of modules", "actor"))
    policies = {"a": lstm, "b": Policy(Box(-1, 1, (3,)), Discrete(2), {"seed": 0})}
    Actor.from_policy(policies).save(put("actor of two", "actor"))
    from rlconnect.bridge.actor.actor import Actor as _Actor

    first = Actor.from_checkpoint(folder / "migrated").players
    second = Actor.from_policy(plain).players
    _Actor({"a": next(iter(first.values())), "b": next(iter(second.values()))}).save(
        put("actor mixed", "actor")
    )
    for name, config, packed in (
        ("run", running(), False),
        ("run msgpack", running(model={"use_lstm": True, "max_seq_len": 4}), True),
    ):
        algo = config.build_algo()
        algo.train()
        algo.save_to_path(put(name, "run"), use_msgpack=packed)
        algo.stop()
    algo = running().build_algo()
    algo.save(put("run saved", "run"))
    algo.stop()
    return doors


def running(model=None):
    """A small run with everything that has a state."""
    from rlconnect.v2 import PPOConfig

    return (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(
            num_env_runners=0,
            num_envs_per_env_runner=2,
            env_to_module_connector=filtered,
        )
        .training(
            train_batch_size=32,
            minibatch_size=16,
            num_epochs=1,
            lr=[[0, 1e-3], [1000, 1e-5]],
            entropy_coeff=[[0, 0.1], [1000, 0.0]],
        )
        .rl_module(model_config={"fcnet_hiddens": [4], **(model or {})})
        .debugging(seed=5)
    )


def filtered(env, spaces, device):
    """A connector with a state."""
    from rlconnect.v2 import MeanStdFilter

    return MeanStdFilter()


def _policy(path):
    from rlconnect.bridge.loading.natives import natives_in

    return next(iter(natives_in(path).policies.values()))
