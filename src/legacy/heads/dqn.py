"""DQN with all its variants, Apex, R2D2: a trunk of the catalog with Q branches on top."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ...core.errors import ConfigError
from ...core.nets import Layer as NetLayer
from ..distributions.choice import choices_only
from ..models.as_data import Shapes, acting, dense_layer, dense_layers, end_of, has, trunk
from .agreement import Claim, dense_claims, found_width, presence, width_claims
from .catalog_networks import complete, no_layer_norms, without, wrapped_layers
from .family import Blueprint, Family, TensorFlowReader, explores_by_noise

if TYPE_CHECKING:
    from ...core.nets import Network
    from ..tf.layers import Layer
    from .head import PolicyHead

Settings = Mapping[str, Any]


def _head(plan: Blueprint) -> PolicyHead:
    from .dqn_model import DQNHead, DQNTorchModel

    config, model_config = plan.config, dict(plan.model_config)
    hiddens = config.get("hiddens", [256])
    hiddens = [] if hiddens is None else list(hiddens)
    num_outputs = int(plan.action_space.n)  # type: ignore[attr-defined]  # Discrete
    if hiddens:
        # With branches on top the trunk ends in its last hidden layer.
        num_outputs = [256, *(model_config.get("fcnet_hiddens", [256, 256]) or [])][-1]
        model_config["no_final_linear"] = True
    temperature = config.get("categorical_distribution_temperature", 1.0)
    return plan.head(
        partial(DQNHead, temperature=temperature),
        num_outputs,
        model_config=model_config,
        interface=DQNTorchModel,
        name="q_func",
        q_hiddens=hiddens,
        dueling=bool(config.get("dueling", True)),
        num_atoms=int(config.get("num_atoms", 1)),
        use_noisy=bool(config.get("noisy", False)),
        v_min=float(config.get("v_min", -10.0)),
        v_max=float(config.get("v_max", 10.0)),
        sigma0=float(config.get("sigma0", 0.5)),
        add_layer_norm=explores_by_noise(config),
    )


def _network(plan: Blueprint, shapes: Shapes) -> Network:
    config, prefixes = plan.config, ("advantage_module.", "value_module.")
    rest = {key: value for key, value in shapes.items() if not key.startswith(prefixes)}
    layers = trunk(rest, plan.model_config)
    features = end_of(layers)
    advantage, value = (_branch(shapes, prefix, features) for prefix in prefixes)
    is_dueling = bool(config.get("dueling", True))
    if any("LayerNorm" in key for key in shapes):
        raise ConfigError("this network runs in torch only: it has layer norms.")
    layers += advantage
    atoms = int(config.get("num_atoms", 1))
    if is_dueling:
        both = [end_of(branch, features) for branch in (advantage, value)]
        layers += [*value, NetLayer("dueling", both, "dueling", (), settings={"atoms": atoms})]
    if atoms > 1:
        returns = [float(config.get("v_min", -10.0)), float(config.get("v_max", 10.0))]
        settings = {"atoms": atoms}
        layers.append(
            NetLayer("expected", returns, "expected", (end_of(layers),), "linear", settings)
        )
    temperature = config.get("categorical_distribution_temperature", 1.0)
    if temperature != 1:
        layers.append(NetLayer("divide", float(temperature), "tempered", (end_of(layers),)))
    return acting(layers, shapes, "q")


def _branch(shapes: Shapes, prefix: str, features: str) -> list[NetLayer]:
    """A Q branch; an absent one has no layers."""
    letter = prefix[0].upper()
    layers = dense_layers(shapes, f"{prefix}dueling_{letter}_{{}}", features, "relu")
    if has(shapes, f"{prefix}{letter}"):
        layers.append(dense_layer(shapes, f"{prefix}{letter}", end_of(layers, features)))
    return layers


def _claims(config: Settings, weights: Settings, action_space: Any) -> Iterator[Claim]:
    yield from dense_claims(config.get("model"), weights, "model", is_q=True)
    num_actions = int(getattr(action_space, "n", 0))
    hiddens = config.get("hiddens", [256])
    dueling, atoms = bool(config.get("dueling", True)), config.get("num_atoms", 1)
    noisy = bool(config.get("noisy", False))
    has_value = any(name.startswith("value_module.") for name in weights)
    if (has_value and not dueling) or (dueling and not has_value and (hiddens or noisy)):
        yield Claim(
            f"dueling={dueling}",
            "a value branch" if dueling else "no value branch",
            presence("value_module.", weights),
        )
    has_noise = any(name.endswith(".sigma_w") for name in weights)
    has_branch = any(name.startswith("advantage_module.") for name in weights)
    if has_branch and noisy != has_noise:
        yield Claim(
            f"noisy={noisy}",
            "noisy layers" if noisy else "no noisy layers",
            presence("advantage_module.", weights),
        )
    yield from width_claims(config, weights, "hiddens", "advantage_module.dueling_A_{}")
    outputs = found_width(weights, "advantage_module.A")
    if outputs is not None and outputs != num_actions * int(atoms):
        yield Claim(
            f"num_atoms={atoms}",
            f"{num_actions} times {atoms} outputs",
            f"weights advantage_module.A of {outputs}",
        )


def _layers(plan: Blueprint, named: bool) -> list[Layer]:
    from ..tf.layers import Layer

    config = plan.config
    no_layer_norms(config)
    model = complete(plan.model_config)
    hiddens = list(config.get("hiddens", [256]) or [])
    dueling, noisy = bool(config.get("dueling", True)), bool(config.get("noisy"))
    atoms = int(config.get("num_atoms", 1))
    actions = int(plan.action_space.n)  # type: ignore[attr-defined]  # Discrete
    outputs = actions
    if hiddens:  # the trunk ends in its last hidden layer
        outputs = [256, *plan.model_config.get("fcnet_hiddens", [256, 256])][-1]
        model["no_final_linear"] = True
    elif noisy or atoms > 1:
        raise ConfigError("Q branches without hiddens are noisy or distributional.")
    trunk = without(wrapped_layers(plan.obs_space, outputs, model, named), "_value_branch")
    if not hiddens:
        value = Layer("dense", "dense", "value_module.V._model.0", 1)
        return [*trunk, value] if dueling else trunk
    branches = _branch_layers("A", "advantage_module", hiddens, actions * atoms, noisy)
    if dueling:
        branches += _branch_layers("V", "value_module", hiddens, atoms, noisy)
    return trunk + branches


def _branch_layers(
    letter: str, torch: str, hiddens: list[int], outputs: int, noisy: bool
) -> list[Layer]:
    from ..tf.layers import Layer

    layers: list[Layer] = []
    for i, width in enumerate(hiddens):
        twin = f"{torch}.dueling_{letter}_{i}"
        if noisy:
            name = f"hidden_{i}" if letter == "A" else f"dueling_hidden_{i}"
            layers.append(Layer("noisy", name, twin, width))
            continue
        name = f"hidden_{i}" if letter == "A" else "dense"
        layers.append(Layer("dense", name, f"{twin}._model.0", width))
    if noisy:
        name = "output" if letter == "A" else "dueling_output"
        return [*layers, Layer("noisy", name, f"{torch}.{letter}", outputs)]
    return [*layers, Layer("dense", "dense", f"{torch}.{letter}._model.0", outputs)]


FAMILY = Family(_head, _network, choices_only, _claims, TensorFlowReader(_layers))
