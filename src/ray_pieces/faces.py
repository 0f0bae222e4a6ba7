"""A piece or module of ours as a class of Ray's that hands everything on to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, TypeAlias

from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core.rl_module.apis import ValueFunctionAPI
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule

from ..bridge.migrate.faces import PIECE_HOMES, own_class
from ..v2.saving.class_names import RAY_PIECES

Names: TypeAlias = str | Collection[str] | None


class PieceFace(ConnectorV2):  # type: ignore[misc]  # Ray has no types where it is not installed
    """A piece of Ray's pipelines that runs one of ours.

    Args:
        input_observation_space: Of what comes in.
        input_action_space: Of what comes in.
        module_action_space: What the module gives, where the environment takes something else:
            Ray tells a pipeline the environment's space.
        **settings: Those of our piece.

    Attributes:
        piece: Ours.
    """

    our_class: ClassVar[Any]

    def __init__(
        self,
        input_observation_space: Any = None,
        input_action_space: Any = None,
        *,
        module_action_space: Any = None,
        **settings: Any,
    ) -> None:
        self.module_action_space = module_action_space
        self.piece = self.our_class(**settings)
        super().__init__(input_observation_space, input_action_space)

    def recompute_output_observation_space(
        self, input_observation_space: Any, input_action_space: Any
    ) -> Any:
        """The space of observations after our piece."""
        self.piece.input_observation_space = input_observation_space
        return self.piece.observation_space

    def recompute_output_action_space(
        self, input_observation_space: Any, input_action_space: Any
    ) -> Any:
        """The space of actions after our piece."""
        pinned = self.module_action_space
        self.piece.input_action_space = input_action_space if pinned is None else pinned
        return self.piece.action_space if pinned is None else input_action_space

    def __call__(
        self,
        *,
        rl_module: Any,
        batch: dict[str, Any],
        episodes: Sequence[Any],
        explore: bool | None = None,
        shared_data: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run our piece."""
        return self.piece(
            rl_module=rl_module,
            batch=batch,
            episodes=episodes,
            explore=explore,
            shared_data=shared_data,
        )

    def get_state(
        self, components: Names = None, *, not_components: Names = None, **kwargs: Any
    ) -> Any:
        """Give our piece's state."""
        return self.piece.get_state(components, not_components=not_components)

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Let our piece go on from a state; an empty one changes nothing."""
        if state:
            self.piece.set_state(state)

    def reset_state(self) -> None:
        """Let our piece begin anew."""
        self.piece.reset_state()

    def merge_states(self, states: Sequence[Mapping[str, Any]]) -> Any:
        """Merge the states of pieces like ours."""
        return self.piece.merge_states(states)

    def get_ctor_args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of our piece, and the spaces as they are now."""
        args, kwargs = self.piece.get_ctor_args_and_kwargs()
        spaces = {
            "input_observation_space": self.input_observation_space,
            "input_action_space": self.input_action_space,
            "module_action_space": self.module_action_space,
        }
        return args, {**kwargs, **spaces}


class ModuleFace(TorchRLModule, ValueFunctionAPI):  # type: ignore[misc]  # as above
    """A module of Ray's whose network is one of our modules.

    Its settings are ours; weights have our names.

    Attributes:
        module: Ours.
    """

    our_class: ClassVar[Any]
    observation_space: Any
    action_space: Any
    model_config: Any

    def setup(self) -> None:
        """Build our module."""
        self.module = self.our_class(
            observation_space=self.observation_space,
            action_space=self.action_space,
            inference_only=bool(self.inference_only),
            learner_only=bool(self.learner_only),
            model_config=self.model_config,
        )
        self.observation_space = self.module.observation_space
        self.action_space = self.module.action_space
        self.model_config = self.module.model_config
        self.action_dist_cls = self.module.action_dist_cls

    def _forward_inference(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        outputs: dict[str, Any] = self.module.forward_inference(batch, **kwargs)
        return outputs

    def _forward_exploration(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        outputs: dict[str, Any] = self.module.forward_exploration(batch, **kwargs)
        return outputs

    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        outputs: dict[str, Any] = self.module.forward_train(batch, **kwargs)
        return outputs

    def compute_values(self, batch: dict[str, Any], embeddings: Any | None = None) -> Any:
        """Estimate values, as ours does."""
        return self.module.compute_values(batch, embeddings)

    def get_initial_state(self) -> Any:
        """Give our module's state before the first step."""
        return self.module.get_initial_state()

    def get_state(
        self,
        components: Names = None,
        *,
        not_components: Names = None,
        inference_only: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Give our module's weights."""
        return self.module.get_state(inference_only=inference_only)

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take weights over."""
        self.module.set_state(state)

    def get_ctor_args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Give our module's arguments."""
        args, kwargs = self.module.get_ctor_args_and_kwargs()
        return args, {**kwargs, "inference_only": self.inference_only}


@cache
def face_of(name: str) -> Any:
    """The class for Ray of one of our pieces or modules, always the same one."""
    ours = own_class(name)
    names = {"__module__": RAY_PIECES, "__qualname__": name, "__doc__": ours.__doc__}
    face = PieceFace if name in PIECE_HOMES else ModuleFace
    return type(name, (face,), {"our_class": ours, **names})
