"""Record what Ray 2.60's ASHA decides about made-up curves, one trial after the other.

    python record_asha.py > asha.json     (in an environment with Ray)
"""

import json
import random
from types import SimpleNamespace

from ray.tune.schedulers import ASHAScheduler

SETTINGS = [
    {"max_t": 16, "grace_period": 2, "reduction_factor": 2},
    {"max_t": 100},
    {"max_t": 20, "grace_period": 3, "reduction_factor": 3, "stop_last_trials": False},
    {"max_t": 9, "grace_period": 1, "reduction_factor": 2.5, "time_attr": "steps"},
]


def curves(case, mode):
    """Nine trials: the age, the score (null is NaN) and whether the trial ends, result by result."""
    settings = SETTINGS[case]
    rng = random.Random(case)
    asha = ASHAScheduler(metric="score", mode=mode, **settings)
    age = settings.get("time_attr", "training_iteration")
    told = []
    for number in range(9):
        trial = SimpleNamespace(trial_id=f"t{number}", status="RUNNING")
        asha.on_trial_add(SimpleNamespace(), trial)
        slope, when, rows = rng.uniform(-1, 1), 0, []
        while len(rows) < 24:
            when += rng.choice([1, 1, 1, 2, 3])
            score = round(slope * when + rng.gauss(0, 0.5), 3)
            if rng.random() < 0.03:
                score = float("nan")
            result = {age: when, "score": score}
            is_end = asha.on_trial_result(SimpleNamespace(), trial, result) == "STOP"
            rows.append([when, None if score != score else score, is_end])
            if is_end:
                asha.on_trial_complete(SimpleNamespace(), trial, result)
                break
        told.append(rows)
    return {"settings": settings, "mode": mode, "trials": told}


print(json.dumps([curves(case, mode) for case in range(len(SETTINGS)) for mode in ("max", "min")]))
