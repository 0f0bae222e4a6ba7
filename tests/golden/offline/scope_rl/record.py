"""What SCOPE-RL 0.2.1 makes of drawn episodes, written beside this file.

    pip download --no-deps scope-rl==0.2.1 && unzip scope_rl-0.2.1-*.whl -d FOLDER
    python record.py FOLDER

Only its estimators run: what they import beside (d3rlpy, gym, scikit-learn) is stood in for.
"""

import sys
from pathlib import Path
from types import ModuleType
from unittest.mock import MagicMock

import numpy as np

FOLDER = Path(sys.argv[1])
sys.path.insert(0, str(FOLDER))
for name in ("d3rlpy", "d3rlpy.preprocessing", "gym", "scipy", "sklearn", "sklearn.utils"):
    sys.modules[name] = MagicMock()
for name in ("scope_rl.ope", "scope_rl.ope.discrete"):
    sys.modules[name] = ModuleType(name)
    sys.modules[name].__path__ = [str(FOLDER / name.replace(".", "/"))]

from scope_rl.ope.discrete import basic_estimators as scope  # noqa: E402

METHODS = {
    "dm": scope.DirectMethod,
    "tis": scope.TrajectoryWiseImportanceSampling,
    "pdis": scope.PerDecisionImportanceSampling,
    "dr": scope.DoublyRobust,
    "sntis": scope.SelfNormalizedTIS,
    "snpdis": scope.SelfNormalizedPDIS,
    "sndr": scope.SelfNormalizedDR,
}

rng = np.random.default_rng(0)
episodes, steps, actions, gamma = 20, 6, 3, 0.95
count = episodes * steps
rows = np.arange(count)
target = rng.dirichlet(np.ones(actions), count)
behavior = rng.dirichlet(3 * np.ones(actions), count)
taken = np.array([rng.choice(actions, p=each) for each in behavior])
rewards, values = rng.normal(size=count), rng.normal(size=(count, actions))
given = {
    "step_per_trajectory": steps,
    "action": taken,
    "reward": rewards,
    "pscore": behavior[rows, taken],
    "evaluation_policy_action_dist": target,
    "state_action_value_prediction": values,
    "gamma": gamma,
}
np.savez_compressed(
    Path(__file__).with_name("episodes.npz"),
    lengths=np.full(episodes, steps),
    rewards=rewards,
    ratios=target[rows, taken] / behavior[rows, taken],
    chosen=values[rows, taken],
    values=(values * target).sum(-1),
    gamma=gamma,
    **{f"by_{name}": cls()._estimate_trajectory_value(**given) for name, cls in METHODS.items()},
)
