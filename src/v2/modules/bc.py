"""The default module of behaviour cloning: a policy and nothing else."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from ...core.columns import Columns
from .catalogs import BCCatalog
from .networks import ENCODER_OUT
from .torch_rl_module import TorchRLModule


class DefaultBCTorchRLModule(TorchRLModule):
    """An encoder and a policy head."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        catalog_class = kwargs.pop("catalog_class", None) or BCCatalog
        super().__init__(*args, **kwargs, catalog_class=catalog_class)

    @override
    def setup(self) -> None:
        """Build the networks."""
        catalog = self._needed_catalog()
        self._encoder = catalog.build_encoder(framework=self.framework)
        self._pi_head = catalog.build_pi_head(framework=self.framework)

    @override
    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        encoded = self._encoder(batch)
        out = {Columns.ACTION_DIST_INPUTS: self._pi_head(encoded[ENCODER_OUT])}
        if Columns.STATE_OUT in encoded:
            out[Columns.STATE_OUT] = encoded[Columns.STATE_OUT]
        return out

    @override
    def get_initial_state(self) -> dict[str, Any]:
        """Give the encoder's."""
        give = getattr(self._encoder, "get_initial_state", None)
        return give() if give is not None else {}
