"""The convolutional network: images `(B, H, W, C)` in, outputs and a value from conv features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymnasium.spaces import Space
from torch import Tensor, nn

from ...core.errors import ConfigError, PieceError
from ...core.formulas.convolutions import last_cells
from ...core.runtime.sharing import PerThread
from .base import LegacyModel, ModelOutput
from .defaults import KERAS_LAYERS, get_filter_config
from .layers import LayersByUse, SlimConv2d, SlimFC, dense_stack, normc_initializer, same_padding


class VisionNetwork(LegacyModel):
    """Convolutions over an image, the last one shrinking it to a single cell.

    Every convolution but the last pads like TensorFlow's "same". Pixels are used as they come.
    Settings read: `conv_filters` (`[channels, kernel, stride]` each), `conv_activation`,
    `post_fcnet_hiddens`, `post_fcnet_activation`, `no_final_linear`, `vf_share_layers`.

    Args:
        obs_space: A box `(H, W, C)`.
        num_outputs: Width of the outputs; `None` ends with the flattened conv features.
    """

    _features = PerThread[Tensor]()

    def _add_own_layers(self) -> None:
        model_config, num_outputs = self.model_config, self.num_outputs
        shape = _image_shape(self.obs_space)
        filters = model_config.get("conv_filters") or get_filter_config(shape)
        act = model_config.get("conv_activation")
        post = list(model_config.get("post_fcnet_hiddens") or [])
        post_act = model_config.get("post_fcnet_activation")
        ends_hidden = bool(model_config.get("no_final_linear") and num_outputs)
        shares = bool(model_config.get("vf_share_layers"))
        cells = last_cells(shape[:2], filters)
        if num_outputs and cells != (1, 1):
            raise ConfigError(
                "the convolutions do not shrink the image to a single cell",
                expected="1x1",
                found=f"{cells[0]}x{cells[1]} from an image {shape} and filters {filters}",
                hint="change the last kernel and stride in conv_filters.",
            )
        keras = bool(model_config.get(KERAS_LAYERS))
        if post and ends_hidden and not keras:
            raise ConfigError("no_final_linear with post_fcnet_hiddens fits no image network.")

        channels = int(filters[-1][0])
        if num_outputs and ends_hidden and not post:
            channels = int(num_outputs)
        layers = _convolutions(shape, filters, act, channels)
        self.last_layer_is_flattened = not num_outputs
        self._logits: nn.Module | None = None
        self._post_fcnet: nn.Sequential | None = None
        features = channels
        if not num_outputs:
            layers.append(nn.Flatten())
            features = channels * cells[0] * cells[1]
            if post and keras:
                self._post_fcnet = dense_stack(features, post, post_act)
                features = post[-1]
            self.num_outputs = features
        elif post and keras:
            sizes = [*post[:-1], num_outputs] if ends_hidden else post
            self._post_fcnet = dense_stack(channels, sizes, post_act)
            features = sizes[-1]
            self._logits = None if ends_hidden else SlimFC(features, num_outputs)
        elif post:
            dense = _post_stack(channels, [*post, num_outputs], post_act)
            self._logits = dense.pop()
            layers += [nn.Flatten(), *dense]
        elif not ends_hidden:
            # Ray pads this 1x1 convolution by nothing, which still shifts its parameter name.
            self._logits = SlimConv2d(channels, num_outputs, 1, 1, (0, 0, 0, 0), activation_fn=None)
        self._convs = nn.Sequential(*layers)

        self._value_branch: SlimFC | None = None
        self._value_branch_separate: nn.Sequential | None = None
        if shares:
            self._value_branch = SlimFC(features if post else channels, 1, normc_initializer(0.01))
        else:
            last = int(filters[-1][0])
            head = SlimConv2d(last, 1, 1, 1, None, activation_fn=None)
            self._value_branch_separate = nn.Sequential(
                *_convolutions(shape, filters, act, last), head
            )

    def forward(
        self, input_dict: dict[str, Any], state: list[Tensor], seq_lens: Tensor | None
    ) -> ModelOutput:
        """Map images in `obs` to the outputs; the state passes through."""
        images = input_dict["obs"].float().permute(0, 3, 1, 2)
        features = self._convs(images)
        if self._post_fcnet is not None:
            features = self._post_fcnet(_flat(features))
        self._features = features if self._value_branch_separate is None else images
        if self.last_layer_is_flattened:
            return features, state
        return _flat(features if self._logits is None else self._logits(features)), state

    def layers_by_use(self) -> LayersByUse:
        """Tell what its layers are for."""
        if self._value_branch_separate is not None:
            *critic, value = self._value_branch_separate
            return LayersByUse(self._convs, self._logits, value, nn.Sequential(*critic))
        assert self._value_branch is not None  # one of the two branches always exists
        return LayersByUse(self._convs, self._logits, self._value_branch)

    def value_function(self) -> Tensor:
        """Return the value estimates `(B,)` of the last `forward`."""
        if self._features is None:
            raise PieceError("value_function() was called before forward().")
        if self._value_branch_separate is not None:
            return _flat(self._value_branch_separate(self._features)).squeeze(1)
        assert self._value_branch is not None  # one of the two branches always exists
        is_flat = self.last_layer_is_flattened or self._post_fcnet is not None
        if self._features.ndim == 2 and not is_flat:
            raise ConfigError(
                "an image network with post_fcnet_hiddens has no shared value branch",
                expected="vf_share_layers=False",
                found="True",
            )
        value: Tensor = self._value_branch(_flat(self._features))
        return value.squeeze(1)


def _image_shape(space: Space[Any]) -> tuple[int, int, int]:
    shape = space.shape or ()
    if len(shape) != 3:
        raise ConfigError("an image network needs images", expected="(H, W, C)", found=str(shape))
    return int(shape[0]), int(shape[1]), int(shape[2])


def _convolutions(
    shape: tuple[int, int, int], filters: Sequence[Any], act: Any, last_channels: int
) -> list[nn.Module]:
    *size, channels = shape
    layers: list[nn.Module] = []
    for out, kernel, stride in filters[:-1]:
        padding, around = same_padding(size, kernel, stride)
        layers.append(SlimConv2d(channels, out, kernel, stride, padding, activation_fn=act))
        channels, size = out, list(around)
    _, kernel, stride = filters[-1]
    layers.append(SlimConv2d(channels, last_channels, kernel, stride, None, activation_fn=act))
    return layers


def _post_stack(width: int, sizes: list[int], act: Any) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for i, size in enumerate(sizes):
        # Ray leaves the last hidden layer without activation, and the output layer too.
        layer_act = act if i < len(sizes) - 2 else None
        layers.append(SlimFC(width, size, normc_initializer(1.0), activation_fn=layer_act))
        width = size
    return layers


def _flat(x: Tensor) -> Tensor:
    return x if x.ndim == 2 else x[:, :, 0, 0]
