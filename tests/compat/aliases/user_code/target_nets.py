"""Copies of networks that follow slowly, schedules and small tools around them."""

import numpy as np
from masked_actions import fill
from ray.rllib.core.learner.utils import make_target_network, update_target_network
from ray.rllib.models.utils import get_activation_fn
from ray.rllib.utils.framework import try_import_torch
from ray.rllib.utils.lambda_defaultdict import LambdaDefaultDict
from ray.rllib.utils.numpy import convert_to_numpy
from ray.rllib.utils.schedules import PiecewiseSchedule
from ray.rllib.utils.schedules.scheduler import Scheduler
from ray.rllib.utils.torch_utils import explained_variance

torch, nn = try_import_torch()


def run():
    main = fill(nn.Linear(2, 3))
    target = make_target_network(main)
    with torch.no_grad():
        main.weight.add_(1.0)
    update_target_network(main_net=main, target_net=target, tau=0.25)
    schedule = PiecewiseSchedule(endpoints=[(0, 1.0), (10, 0.5)], outside_value=0.1, framework=None)
    scheduler = Scheduler([[0, 0.3], [100, 0.1]])
    named = LambdaDefaultDict(lambda key: key * 2)
    return {
        "target": target.weight.detach().numpy(),
        "trains": any(p.requires_grad for p in target.parameters()),
        "scheduled": [schedule.value(t) for t in (0, 5, 20)],
        "scheduler": [float(scheduler.get_current_value()), float(scheduler.update(50))],
        "named": named["ab"],
        "activation": get_activation_fn("tanh", framework="torch").__name__,
        "explained": float(
            explained_variance(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([1.1, 1.9, 3.0]))
        ),
        "numpy": convert_to_numpy({"a": torch.ones(2), "b": np.zeros(1)}),
    }
