"""Write `recorded.json`: what real Ray makes of the cases. Run with a Python that has Ray.

    python record.py

The file in the repository was written by Ray 2.60.0 with numpy 2.4, gymnasium 1.2 and torch 2.
"""

import inspect
import json
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

from cases import run

HOMES = """
connectors.action.clip connectors.action.immutable connectors.action.lambdas
connectors.action.normalize connectors.agent.clip_reward connectors.agent.env_sampling
connectors.agent.lambdas connectors.agent.obs_preproc connectors.agent.pipeline
connectors.agent.state_buffer connectors.agent.view_requirement connectors.connector
connectors.registry evaluation.collectors.agent_collector evaluation.postprocessing models.catalog
models.modelv2 models.preprocessors models.torch.misc models.torch.torch_action_dist models.utils
policy.rnn_sequencing policy.sample_batch policy.view_requirement utils.filter utils.framework
utils.postprocessing.value_predictions utils.serialization utils.spaces.flexdict
utils.spaces.repeated utils.spaces.simplex utils.spaces.space_utils utils.torch_utils utils.numpy
utils.typing models.utils connectors.action.pipeline connectors.agent.mean_std_filter
models.repeated_values models.torch.torch_modelv2 models.torch.fcnet models.torch.recurrent_net
policy.policy utils utils.error utils.exploration utils.lambda_defaultdict utils.schedules
utils.test_utils env.env_errors
"""

if __name__ == "__main__":
    names = {}
    for home in HOMES.split():
        module = import_module(f"ray.rllib.{home}")
        for name, value in vars(module).items():
            where = str(getattr(value, "__module__", module.__name__))
            is_home = where == module.__name__ or (
                home in ("utils.exploration", "utils.schedules", "utils.typing")
                and (home == "utils.typing" or where.startswith("ray.rllib"))
            )
            if not name.startswith("_") and not inspect.ismodule(value) and is_home:
                names[name] = value
    text = json.dumps(run(SimpleNamespace(**names)), separators=(",", ":"), sort_keys=True)
    Path(__file__).with_name("recorded.json").write_text(text + "\n")
