"""The network of an RLModule that Ray 2.5 to 2.9 saved inside an old-stack policy.

Its layers are read off the names and shapes of the weights: `encoder` (shared, one each for
actor and critic, or BC's only one; dense, convolutional, or either under an LSTM), then the
heads `pi` and `vf`.
In a sequential stack the numbers that carry no weight are activations and paddings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ...core.errors import PieceError, WeightsError
from ...core.runtime.sharing import PerThread
from .base import LegacyModel, ModelOutput
from .rlmodule_layers import LayerReader, LstmEncoder

# What may lie inside `encoder`, the actor's first; BC's has nothing inside, but is one itself.
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
        """The actor's encoder, and the critic's where it has one of its own."""
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
        """Give the value estimates `(B,)` of the last `forward`."""
        if self._critic is None or self.vf is None:
            raise PieceError("there are no values: forward() has not run, or there is no critic.")
        value: Tensor = self.vf(self._critic)
        return value.squeeze(-1)

    def get_initial_state(self) -> list[Tensor]:
        """Give zeros `(layers, cells)` for each `h` and `c`; empty without an LSTM."""
        lstms = [part.lstm for part in self.encoders if isinstance(part, LstmEncoder)]
        return [
            next(lstm.parameters()).new_zeros(lstm.num_layers, lstm.hidden_size)
            for lstm in lstms
            for _ in ("h", "c")
        ]
