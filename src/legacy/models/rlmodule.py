"""The network of an RLModule that Ray 2.5 to 2.9 saved inside an old-stack policy.

Its layers are read off the names and shapes of the weights: `encoder` (shared, one each for
actor and critic, or BC's only one; dense, convolutional, or either under an LSTM), then the
heads `pi` and `vf`.
In a sequential stack the numbers that carry no weight are activations and paddings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ...core.errors import PieceError, WeightsError
from ...core.runtime.sharing import PerThread
from .base import LegacyModel, ModelOutput
from .defaults import get_filter_config
from .layers import activation, pair, same_padding
from .lstm import add_time_dimension

MakeActivation = Callable[[], nn.Module] | None
Encoded = tuple[Tensor, list[Tensor]]


class Mlp(nn.Module):
    """Dense layers under the name `mlp`."""

    def __init__(self, layers: nn.Sequential) -> None:
        super().__init__()
        self.mlp = layers

    def forward(self, x: Tensor) -> Tensor:
        """Map `(B, in)` to `(B, out)`."""
        out: Tensor = self.mlp(x)
        return out


class Cnn(nn.Module):
    """Convolutions under the name `cnn`; images in and out are `(B, H, W, C)`."""

    def __init__(self, layers: nn.Sequential) -> None:
        super().__init__()
        self.cnn = layers

    def forward(self, images: Tensor) -> Tensor:
        """Map `(B, H, W, C)` to `(B, H', W', C')`."""
        out: Tensor = self.cnn(images.permute(0, 3, 1, 2))
        return out.permute(0, 2, 3, 1)


class Encoder(nn.Module):
    """A dense or convolutional encoder; `column` says which form of the observation it eats."""

    def __init__(self, net: nn.Module, column: str) -> None:
        super().__init__()
        self.net = net
        self.column = column

    def forward(self, columns: Any, state: list[Tensor], seq_lens: Any) -> Encoded:
        """Return features `(B, n)` and the next state."""
        return self.net(columns[self.column].float()), []


class LstmEncoder(nn.Module):
    """An LSTM over an encoder's features."""

    def __init__(self, tokenizer: Encoder | None, lstm: nn.LSTM) -> None:
        super().__init__()
        self.tokenizer = tokenizer
        self.lstm = lstm

    def forward(self, columns: Any, state: list[Tensor], seq_lens: Any) -> Encoded:
        """Return features `(B, n)` and the next state."""
        if self.tokenizer is None:
            x = columns["obs_flat"].float()
        else:
            x, _ = self.tokenizer(columns, [], seq_lens)
        before = tuple(part.transpose(0, 1).contiguous() for part in state)
        out, after = self.lstm(add_time_dimension(x, seq_lens), before)
        return out.reshape(x.shape[0], -1), [part.transpose(0, 1) for part in after]


class Head(nn.Module):
    """Dense layers from features to outputs, perhaps with free log deviations appended."""

    log_std_clip_param_const: Tensor

    def __init__(self, layers: nn.Sequential, free: int, has_clip: bool) -> None:
        super().__init__()
        self.net = Mlp(layers)
        last = [layer for layer in layers if isinstance(layer, nn.Linear)][-1]
        self.width = last.out_features + free
        self.log_std = nn.Parameter(torch.zeros(free)) if free else None
        self._clips = has_clip
        if has_clip:
            self.register_buffer("log_std_clip_param_const", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        """Map `(B, in)` to `(B, out)`."""
        out: Tensor = self.net(x)
        if self.log_std is None:
            return out
        free: Tensor = self.log_std
        if self._clips:
            bound = self.log_std_clip_param_const
            free = free.clamp(-bound, bound)
        return torch.cat([out, free.expand(out.shape[0], -1)], dim=-1)


class LayerReader:
    """Builds modules whose parameters have the names and shapes of saved weights.

    In a sequential stack the numbers that carry no weight are activations and paddings.
    """

    def __init__(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        config: Mapping[str, Any],
        image: tuple[int, ...],
    ) -> None:
        self.shapes = shapes
        self.config = config
        self.image = image
        self.act = activation(config.get("fcnet_activation"))
        self.post_act = activation(config.get("post_fcnet_activation"))
        self.conv_act = activation(config.get("conv_activation"))

    def encoder(self, name: str) -> nn.Module:
        """Build the encoder whose weights lie under a name."""
        if f"{name}.lstm.weight_ih_l0" not in self.shapes:
            return self._plain(name)
        tokens = f"{name}.tokenizer"
        has_tokens = any(key.startswith(f"{tokens}.") for key in self.shapes)
        layers = sum(1 for key in self.shapes if key.startswith(f"{name}.lstm.weight_hh_l"))
        width = self.shapes[f"{name}.lstm.weight_ih_l0"][1]
        cells = self.shapes[f"{name}.lstm.weight_hh_l0"][1]
        bias = f"{name}.lstm.bias_ih_l0" in self.shapes
        lstm = nn.LSTM(width, cells, num_layers=layers, bias=bias, batch_first=True)
        return LstmEncoder(self._plain(tokens) if has_tokens else None, lstm)

    def _plain(self, name: str) -> Encoder:
        if any(key.startswith(f"{name}.net.0.cnn.") for key in self.shapes):
            cnn = Cnn(self._convolutions(f"{name}.net.0.cnn"))
            return Encoder(nn.Sequential(cnn, nn.Flatten()), "obs")
        return Encoder(Mlp(self._dense(f"{name}.net.mlp", self.act, self.act)), "obs_flat")

    def head(self, name: str) -> Head:
        """Build the head whose weights lie under a name."""
        layers = self._dense(f"{name}.net.mlp", self.post_act, None)
        free = self.shapes.get(f"{name}.log_std", (0,))[0]
        return Head(layers, free, f"{name}.log_std_clip_param_const" in self.shapes)

    def _dense(self, name: str, act: MakeActivation, last: MakeActivation) -> nn.Sequential:
        numbered = self._numbered(name)
        layers: list[nn.Module] = []
        for number, key in numbered:
            if number > len(layers) and act is not None:
                layers.append(act())
            shape = self.shapes[f"{key}.weight"]
            if len(shape) == 1:
                layers.append(nn.LayerNorm(shape[0]))
            else:
                bias = f"{key}.bias" in self.shapes
                layers.append(nn.Linear(shape[1], shape[0], bias=bias))
        if last is not None:
            layers.append(last())
        return nn.Sequential(*layers)

    def _convolutions(self, name: str) -> nn.Sequential:
        filters = self.config.get("conv_filters") or get_filter_config(self.image)
        numbered = self._numbered(name)
        if len(numbered) != len(filters) or len(self.image) != 3:
            raise WeightsError(
                "the weights have another number of convolutions than conv_filters",
                expected=str(len(filters)),
                found=str(len(numbered)),
            )
        size: Sequence[int] = self.image[:2]
        layers: list[nn.Module] = []
        for (number, key), (_, kernel, stride, *mode) in zip(numbered, filters, strict=True):
            steps = pair(stride)
            if not mode or mode[0] == "same":
                padding, size = same_padding(size, kernel, stride)
                layers.append(nn.ZeroPad2d(padding))
            else:
                sides = zip(size, pair(kernel), steps, strict=True)
                size = [(n - side) // step + 1 for n, side, step in sides]
            if number != len(layers):
                raise WeightsError(f"the convolution {key!r} is not where conv_filters puts it.")
            out, channels, *cells = self.shapes[f"{key}.weight"]
            bias = f"{key}.bias" in self.shapes
            layers.append(nn.Conv2d(channels, out, pair(cells), steps, bias=bias))
            if self.conv_act is not None:
                layers.append(self.conv_act())
        return nn.Sequential(*layers)

    def _numbered(self, name: str) -> list[tuple[int, str]]:
        numbers = sorted(
            int(key[len(name) + 1 :].split(".")[0])
            for key in self.shapes
            if key.startswith(f"{name}.") and key.endswith(".weight")
        )
        if not numbers:
            raise WeightsError(f"the weights hold no layers under {name!r}.", missing=[name])
        return [(number, f"{name}.{number}") for number in numbers]


# Possible parts of `encoder`, the actor's first; the encoder of BC has no parts.
_ENCODERS = ("encoder", "actor_encoder", "critic_encoder")


def is_rlmodule(weights: Mapping[str, Any]) -> bool:
    """Whether weights are those of an RLModule rather than of a model."""
    return any(name.startswith("encoder.") for name in weights) and any(
        name.startswith("pi.") for name in weights
    )


class RLModuleNet(LegacyModel):
    """Encoder and heads of an RLModule, behind the interface of an old-stack model.

    The state of an LSTM is a flat list: `[h, c]` of a shared encoder, else `[h, c]` of the actor
    and `[h, c]` of the critic; each `(layers, cells)` per episode.

    Args:
        num_outputs: Width of the outputs; `None` takes what the weights have.
        weights: The saved weights; they decide the layers and are loaded.
    """

    _critic = PerThread[Tensor]()

    def _add_own_layers(  # type: ignore[override]  # settings come in by name
        self, weights: Mapping[str, Any]
    ) -> None:
        shapes = {key: tuple(np.shape(value)) for key, value in weights.items()}
        read = LayerReader(shapes, self.model_config, tuple(self.obs_space.shape or ()))
        names = {key.split(".")[1] for key in shapes if key.startswith("encoder.")}
        self._inner = [name for name in _ENCODERS if name in names]
        self.encoder = nn.Module() if self._inner else read.encoder("encoder")
        for name in self._inner:
            self.encoder.add_module(name, read.encoder(f"encoder.{name}"))
        self.pi = read.head("pi")
        self.vf = read.head("vf") if any(key.startswith("vf.") for key in shapes) else None
        self._from_weights(weights)
        if self.num_outputs is None:
            self.num_outputs = self.pi.width
        elif self.pi.width != self.num_outputs:
            raise WeightsError(
                "the weights of head 'pi' have another width than the actions need",
                expected=str(self.num_outputs),
                found=str(self.pi.width),
            )

    def _from_weights(self, weights: Mapping[str, Any]) -> None:
        shapes = self.state_dict()
        strange = sorted(set(weights) ^ set(shapes))
        if strange:
            raise WeightsError(
                f"the weights hold layers of an RLModule that are not known: {strange[:12]}.",
                unexpected=strange,
            )
        self.load_state_dict({key: torch.tensor(np.asarray(weights[key])) for key in shapes})

    @property
    def is_shared(self) -> bool:
        """Whether actor and critic look through one encoder."""
        return "encoder" in self._inner

    @property
    def encoders(self) -> list[nn.Module]:
        """The encoder of the actor, and that of the critic if it is separate."""
        return [self.encoder.get_submodule(name) for name in self._inner] or [self.encoder]

    def forward(
        self, input_dict: dict[str, Any], state: list[Tensor], seq_lens: Tensor | None
    ) -> ModelOutput:
        """Map observations to the outputs; an LSTM's state is carried."""
        size = sum(2 for part in self.encoders if isinstance(part, LstmEncoder))
        if len(state) != size:
            raise PieceError(
                "this policy needs its state", expected=f"{size} arrays", found=f"{len(state)}"
            )
        features, state_out = [], []
        for i, part in enumerate(self.encoders):
            out, after = part(input_dict, state[2 * i : 2 * i + 2], seq_lens)
            features.append(out)
            state_out.extend(after)
        self._critic = features[-1]
        outputs: Tensor = self.pi(features[0])
        return outputs, state_out

    def value_function(self) -> Tensor:
        """Return the value estimates `(B,)` of the last `forward`."""
        if self._critic is None or self.vf is None:
            raise PieceError("there are no values: forward() has not run, or there is no critic.")
        value: Tensor = self.vf(self._critic)
        return value.squeeze(-1)

    def get_initial_state(self) -> list[Tensor]:
        """Return zeros `(layers, cells)` for each `h` and `c`; empty without an LSTM."""
        lstms = [part.lstm for part in self.encoders if isinstance(part, LstmEncoder)]
        return [
            next(lstm.parameters()).new_zeros(lstm.num_layers, lstm.hidden_size)
            for lstm in lstms
            for _ in ("h", "c")
        ]
