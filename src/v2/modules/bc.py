"""The default module of behaviour cloning: a policy and nothing else."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from ...core.columns import Columns
from .catalogs import BCCatalog
from .networks import ENCODER_OUT, initial_state_of, state_of
from .torch_rl_module import TorchRLModule


class DefaultBCTorchRLModule(TorchRLModule):
    """An encoder and a policy head."""

    _default_catalog = BCCatalog

    @override
    def setup(self) -> None:
        catalog = self._needed_catalog()
        self._encoder = catalog.build_encoder(framework=self.framework)
        self._pi_head = catalog.build_pi_head(framework=self.framework)

    @property
    def encoder(self) -> Any:
        """The encoder of observations, which is private in RLlib."""
        return self._encoder

    @property
    def pi(self) -> Any:
        """The action head, which is private in RLlib."""
        return self._pi_head

    @override
    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        encoded = self._encoder(batch)
        inputs = self._pi_head(encoded[ENCODER_OUT])
        return {Columns.ACTION_DIST_INPUTS: inputs, **state_of(encoded)}

    @override
    def get_initial_state(self) -> dict[str, Any]:
        return initial_state_of(self._encoder)
