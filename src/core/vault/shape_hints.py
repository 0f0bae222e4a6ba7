"""Guess spaces and algorithm from names and shapes of weights."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from ..algorithms import acts_by_values, family_of
from .records.records import ModuleRecord, PolicyRecord
from .records.weights import WeightTable

# First dense layers, then what gives the outputs, as torch names them: (outputs, inputs).
_FIRST: Final = re.compile(
    r"(?:(?:action_model\.)?_hidden_layers\.0|policy_model\.action_0)\._model\.0\.weight"
    r"|(?:encoder\.(?:actor_encoder\.|encoder\.)?|\w+_encoder\.)(?:tokenizer\.)?net\.mlp\.0\.weight"
)
_HEAD: Final = re.compile(
    r"(?:action_model\.)?_logits(?:_branch)?\._model\.0\.weight"
    r"|policy_model\.action_out\._model\.0\.weight"
    r"|(?:pi|_pi_head|af)\.net\.mlp\.(\d{1,4})\.weight"
)
# The same of TensorFlow: (inputs, outputs).
_TF_FIRST: Final = re.compile(r"[^/]+/(?:fc_1|(?:[^/]+/)?actor_hidden_0)/kernel(?::0)?")
_TF_HEAD: Final = re.compile(r"[^/]+/(?:fc_out|(?:[^/]+/)?actor_out)/kernel(?::0)?")
# Where values of actions have branches of their own, the trunk ends in features, not in actions:
# their last layer, noisy as (inputs, outputs), is the head.
_BRANCHED: Final = re.compile(r"advantage_module\.|[^/]+/hidden_0[/_]")
_BRANCHES: Final = (
    (re.compile(r"advantage_module\.A\._model\.0\.weight"), 0),
    (re.compile(r"advantage_module\.A\.w"), 1),
    (re.compile(r"[^/]+/dense/kernel(?::0)?"), 1),
)
_HIDDEN: Final = re.compile(r"_hidden_layers\.(\d{1,4})\._model\.0\.weight")
_TF_HIDDEN: Final = re.compile(r"[^/]+/fc_(\d{1,4})/kernel(?::0)?")
_PICTURE: Final = re.compile(
    r"(?:.*_convs\.0\..*|.*\.cnn\.\d\.|[^/]+/conv1/)(?:weight|kernel)(?::0)?"
)

_FAMILIES: Final = (
    (r"advantage_module\.|value_module\.|.*/hidden_0/kernel", "DQN"),
    (r"action_model\.|q_net\.|twin_q_net\.|log_alpha", "SAC"),
    (r"policy_model\.|.*/actor_out/kernel|.*/actor_hidden_0/kernel", "DDPG"),
    (r"_value_branch|value_layer|vf\.|.*/value_out/kernel", "PPO"),
    (r"_logits", "PG"),
)


class Sizes(NamedTuple):
    """How many numbers a network takes and gives, None if unknown, and the weights that tell it."""

    inputs: int | None = None
    first: str = ""
    outputs: int | None = None
    head: str = ""


def told_sizes(weights: WeightTable) -> Sizes:
    """Input and output sizes of RLlib's own networks, found by the names of their weights."""
    first = _layer(weights, ((_FIRST, 1), (_TF_FIRST, 0)))
    is_branched = any(map(_BRANCHED.match, weights))
    head = _layer(weights, _BRANCHES if is_branched else ((_HEAD, 0), (_TF_HEAD, 1)))
    if first[0] is None and any(name.startswith("_logits._model.0.") for name in weights):
        first = _layer(weights, ((_HEAD, 1),))  # no hidden layers
    return Sizes(*first, *head)


def told_hiddens(weights: WeightTable) -> list[int]:
    """Widths of the hidden layers of RLlib's dense networks, found by the names of their weights.

    Example:
        >>> import numpy as np
        >>> told_hiddens(WeightTable({"_hidden_layers.0._model.0.weight": np.zeros((8, 4))}))
        [8]
    """
    widths = {}
    for pattern, axis in ((_HIDDEN, 0), (_TF_HIDDEN, 1)):
        for name in weights:
            match, shape = pattern.fullmatch(name), weights.describe(name)[0]
            if match and len(shape) == 2:
                widths[int(match[1])] = int(shape[axis])
    return [widths[place] for place in sorted(widths)]


def _layer(
    weights: WeightTable, patterns: Iterable[tuple[re.Pattern[str], int]]
) -> tuple[int | None, str]:
    for pattern, axis in patterns:
        names = [name for name in weights if pattern.fullmatch(name)]
        for name in sorted(names, key=_depth, reverse=axis == 0 and pattern is _HEAD):
            shape = weights.describe(name)[0]
            if len(shape) == 2:
                return int(shape[axis]), name
    return None, ""


def _depth(name: str) -> tuple[int, str]:
    match = re.search(r"mlp\.(\d{1,4})\.", name)
    return int(match[1]) if match else 0, name


def space_hint(record: PolicyRecord | ModuleRecord) -> str:
    """Lost spaces as the weights suggest them, ready to be passed; empty if they suggest none.

    Example:
        >>> import numpy as np
        >>> from rlconnect.core.vault import PolicyRecord, WeightTable
        >>> names = "_hidden_layers.0._model.0.weight", "_logits._model.0.weight"
        >>> table = WeightTable({names[0]: np.zeros((8, 4)), names[1]: np.zeros((2, 8))})
        >>> print(space_hint(PolicyRecord("p", algorithm="DQN", weights=table)))
        its first layer takes 4 numbers and its head gives 2: observation_space=Box(-inf, inf, \
(4,)), action_space=Discrete(2)
    """
    sizes = told_sizes(record.weights)
    sources, spaces = [], []
    if sizes.inputs is not None:
        sources.append(f"its first layer takes {sizes.inputs} numbers")
        spaces.append(f"observation_space=Box(-inf, inf, ({sizes.inputs},))")
    elif any(_PICTURE.fullmatch(name) for name in record.weights):
        return "its first layer is a convolution, so it sees pictures"
    if sizes.outputs is not None:
        sources.append(f"its head gives {sizes.outputs}")
        spaces.append(f"action_space={_actions(record, sizes.outputs)}")
    return f"{' and '.join(sources)}: {', '.join(spaces)}" if sources else ""


def _actions(record: PolicyRecord | ModuleRecord, outputs: int) -> str:
    """The action spaces that such a head may have been made for."""
    algorithm = record.algorithm if isinstance(record, PolicyRecord) else ""
    if family_of(algorithm) == "ddpg" or any(n.endswith("log_std") for n in record.weights):
        return _box(outputs)
    choices = f"Discrete({outputs})"
    critic = "q_net._hidden_layers.0._model.0.weight"
    inputs = told_sizes(record.weights).inputs
    if critic in record.weights and inputs is not None:
        # A critic of numbers sees them beside the observation.
        sees_actions = record.weights.describe(critic)[0][1] != inputs
        return _box(outputs // 2) if sees_actions else choices
    config = record.config if isinstance(record, PolicyRecord) else record.model_config
    if acts_by_values(algorithm) or told_sizes(record.weights).head.startswith("af."):
        atoms = config.get("num_atoms")
        return f"Discrete({outputs // atoms if type(atoms) is int and atoms > 1 else outputs})"
    if outputs % 2:
        return choices
    return f"{choices}, or {_box(outputs // 2)} where actions are numbers"


def _box(size: int) -> str:
    return f"Box(-1.0, 1.0, ({size},))"


def told_algorithm(weights: Iterable[str]) -> str:
    """An algorithm whose networks have weights of these names; empty where no family fits.

    Those of a family act alike, so it is told by one of them.

    Example:
        >>> told_algorithm(["_logits._model.0.weight", "_value_branch._model.0.weight"])
        'PPO'
    """
    names = list(weights)
    for pattern, algorithm in _FAMILIES:
        if any(re.match(pattern, name) for name in names):
            return algorithm
    return ""
