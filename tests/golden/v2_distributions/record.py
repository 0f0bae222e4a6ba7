"""Records what real RLlib's torch distributions (2.60) answer; writes recorded.npz."""

import logging
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

import numpy as np  # noqa: E402
import torch  # noqa: E402
from ray.rllib.core.distribution.torch import torch_distribution as d  # noqa: E402

random = np.random.RandomState(5)
logits = torch.as_tensor(random.standard_normal((6, 8)).astype(np.float32) * 2)
other = torch.as_tensor(random.standard_normal((6, 8)).astype(np.float32))
choice = torch.as_tensor(random.randint(0, 8, 6))
choices = torch.as_tensor(np.stack([random.randint(0, n, 6) for n in (2, 1, 5)], -1))
real = torch.as_tensor(random.uniform(-2, 3, (6, 4)).astype(np.float32))
found = {"logits": logits, "other": other, "choice": choice, "choices": choices, "real": real}


def record(name, dist, against, value, *parts):
    found[f"{name}/logp"] = dist.logp(value)
    best = dist.to_deterministic().sample()
    if isinstance(best, dict):
        found.update({f"{name}/best/{key}": part for key, part in best.items()})
    else:
        found[f"{name}/best"] = best
    if "kl" in parts:
        found[f"{name}/kl"] = dist.kl(against)
        found[f"{name}/entropy"] = dist.entropy()
    torch.manual_seed(3)
    sample = dist.sample()
    if isinstance(sample, dict):
        found.update({f"{name}/sample/{key}": part for key, part in sample.items()})
    else:
        found[f"{name}/sample"] = sample


both = ("kl",)
record(
    "categorical",
    d.TorchCategorical.from_logits(logits),
    d.TorchCategorical.from_logits(other),
    choice,
    *both,
)
record(
    "gaussian",
    d.TorchDiagGaussian.from_logits(logits),
    d.TorchDiagGaussian.from_logits(other),
    real,
    *both,
)
lens = [2, 1, 5]
record(
    "multi_categorical",
    d.TorchMultiCategorical.from_logits(logits, input_lens=lens),
    d.TorchMultiCategorical.from_logits(other, input_lens=lens),
    choices,
    *both,
)
for name, low, high in (("squashed", -1.0, 1.0), ("squashed_wide", -2.5, 4.0)):
    dist = d.TorchSquashedGaussian.from_logits(logits, low=low, high=high)
    record(name, dist, None, real)
    torch.manual_seed(3)
    found[f"{name}/sample_and_logp/0"], found[f"{name}/sample_and_logp/1"] = dist.sample_and_logp()
struct = {"b": d.TorchDiagGaussian, "a": d.TorchCategorical}
widths = {"b": 4, "a": 4}
nested = [
    d.TorchMultiDistribution.from_logits(x, child_distribution_cls_struct=struct, input_lens=widths)
    for x in (logits, other)
]
record("nested", *nested, {"a": choice % 4, "b": real[:, :2]}, *both)
np.savez_compressed("recorded.npz", **{key: np.asarray(value) for key, value in found.items()})
print(sorted(found))
