"""Optional interfaces of an RLModule, in addition to its forward methods.

A module inherits from those that it implements; pipelines and learners check with `isinstance`.
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from torch import Tensor


TARGET_NETWORK_ACTION_DIST_INPUTS: Final = "target_network_action_dist_inputs"
"""Key under which `forward_target` of a policy network gives its distribution inputs."""


class ValueFunctionAPI(abc.ABC):
    """A module that estimates the value of observations."""

    @abc.abstractmethod
    def compute_values(self, batch: dict[str, Any], embeddings: Any | None = None) -> Any:
        """Estimate values `(B,)`, or `(B, T)` with a time dimension.

        Args:
            batch: Columns of a forward batch.
            embeddings: What `forward_train` gave under `embeddings`, if it has run already.
        """


class InferenceOnlyAPI(abc.ABC):
    """A module with parts that acting does not need."""

    @abc.abstractmethod
    def get_non_inference_attributes(self) -> list[str]:
        """Name the attributes, dotted where nested, that an inference-only module leaves out."""


class TargetNetworkAPI(abc.ABC):
    """A module with slowly following copies of some of its networks."""

    @abc.abstractmethod
    def make_target_networks(self) -> None:
        """Create the copies, equal to the networks they follow."""

    @abc.abstractmethod
    def get_target_network_pairs(self) -> list[tuple[Any, Any]]:
        """Pair each network with its copy."""

    @abc.abstractmethod
    def forward_target(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the outputs of the copies."""


class QNetAPI(abc.ABC):
    """A module that estimates the value of actions."""

    @abc.abstractmethod
    def compute_q_values(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Estimate the values of actions, with logits and probabilities where there are some."""

    def compute_advantage_distribution(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the distribution over returns; without one, the plain values."""
        return self.compute_q_values(batch)


class SelfSupervisedLossAPI(abc.ABC):
    """A module that brings its own loss."""

    @abc.abstractmethod
    def compute_self_supervised_loss(
        self,
        *,
        learner: Any,
        module_id: str,
        config: Any,
        batch: dict[str, Any],
        fwd_out: dict[str, Any],
        **kwargs: Any,
    ) -> Tensor:
        """Compute the loss on a train `batch` of which `forward_train` gave `fwd_out`."""
