"""What an old config says of learning, under the names of the new stack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

_NAMES: Final = {
    "gamma": "gamma",
    "lr": "lr",
    "grad_clip": "grad_clip",
    "lambda": "lambda_",
    "use_critic": "use_critic",
    "kl_coeff": "kl_coeff",
    "kl_target": "kl_target",
    "clip_param": "clip_param",
    "vf_clip_param": "vf_clip_param",
    "vf_loss_coeff": "vf_loss_coeff",
    "entropy_coeff": "entropy_coeff",
    "train_batch_size": "train_batch_size_per_learner",
    "sgd_minibatch_size": "minibatch_size",
    "minibatch_size": "minibatch_size",
    "num_sgd_iter": "num_epochs",
    "num_epochs": "num_epochs",
    "beta": "beta",
}
_SCHEDULES: Final = {"lr_schedule": "lr", "entropy_coeff_schedule": "entropy_coeff"}


def training_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of learning that mean the same in both stacks.

    Example:
        >>> training_settings({"gamma": 0.9, "num_sgd_iter": 3, "lr_schedule": [[0, 0.1]]})
        {'gamma': 0.9, 'num_epochs': 3, 'lr': [[0, 0.1]]}
    """
    settings = {
        new: config[old]
        for old, new in _NAMES.items()
        if isinstance(config.get(old), (bool, int, float)) and np.isfinite(config[old])
    }
    for old, new in _SCHEDULES.items():
        points = config.get(old)
        if isinstance(points, (list, tuple)) and points:
            settings[new] = [list(point) for point in points if isinstance(point, (list, tuple))]
    return settings
