"""A policy of the new stack: two pipelines with a module between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gymnasium.spaces import Space

from ..core.columns import DEFAULT_MODULE_ID
from ..core.spaces.text import short_space

if TYPE_CHECKING:
    from ..core.pages.figure import Figure


@dataclass(frozen=True, eq=False)
class V2Triple:
    """What acts in the new stack; it unpacks as its first three.

    Args:
        env_to_module: From episodes to the module; None for the default pieces.
        module: What computes.
        module_to_env: From its outputs to actions; None for the default pieces.
        name: The module's id.
        timestep: How many steps the module has sampled, which its exploration may depend on.
        explore: Whether it explores when nobody says, as its training config had it.
        migration: How it came about, as plain data, if it was migrated.
        certificate: What its source made of a few observations, likewise.
        learner: The pipeline of learners, where it was migrated with one.

    Example:
        >>> env_to_module, module, module_to_env = V2Triple(None, "a module", None)
        >>> module
        'a module'
    """

    env_to_module: Any
    module: Any
    module_to_env: Any
    name: str = DEFAULT_MODULE_ID
    timestep: int = 0
    explore: bool = True
    migration: Mapping[str, Any] = field(default_factory=dict)
    certificate: Mapping[str, Any] = field(default_factory=dict)
    learner: Any = None

    @classmethod
    def of(cls, source: V2Triple | Sequence[Any]) -> V2Triple:
        """The triple, be it one already or three things in a row."""
        return source if isinstance(source, V2Triple) else cls(*source)

    @property
    def triple(self) -> tuple[Any, Any, Any]:
        """The two pipelines with the module between them."""
        return self.env_to_module, self.module, self.module_to_env

    @property
    def observation_space(self) -> Space[Any]:
        """The environment's observations; by default the module's."""
        input_space = getattr(self.env_to_module, "input_observation_space", None)
        space: Space[Any] = self.module.observation_space if input_space is None else input_space
        return space

    @property
    def action_space(self) -> Space[Any]:
        """The environment's actions; by default the module's."""
        policy_space = getattr(self.module_to_env, "action_space", None)
        space: Space[Any] = self.module.action_space if policy_space is None else policy_space
        return space

    def with_pipelines(self) -> V2Triple:
        """The same with the default pieces where there is no pipeline."""
        if self.env_to_module is not None and self.module_to_env is not None:
            return self
        from ..v2.connectors.env_to_module.env_to_module_pipeline import env_to_module_pipeline
        from ..v2.connectors.module_to_env.module_to_env_pipeline import module_to_env_pipeline

        spaces = self.module.observation_space, self.module.action_space
        return replace(
            self,
            env_to_module=self.env_to_module or env_to_module_pipeline(*spaces),
            module_to_env=self.module_to_env or module_to_env_pipeline(*spaces),
        )

    def __repr__(self) -> str:
        return f"<V2Triple {self.name!r} of a {type(self.module).__name__}>"

    def draw(self) -> Figure:
        """The pieces with the module between them, as boxes and arrows, and what adapts it."""
        from ..core.adapters.drawing import drawn_of
        from ..core.pages.figure import Figure

        whole = self.with_pipelines()
        before, behind = whole.env_to_module.connectors, whole.module_to_env.connectors
        kind = type(self.module).__name__
        boxes = [
            ("environment", short_space(whole.observation_space)),
            *((type(piece).__name__, "") for piece in before),
            (kind, ""),
            *((type(piece).__name__, "") for piece in behind),
            ("environment", short_space(whole.action_space)),
        ]
        below = drawn_of([*before, *behind])
        return Figure(self.name, boxes, note=f"{kind} of the new stack", below=below)

    def _repr_html_(self) -> str:
        return self.draw()._repr_html_()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.triple)

    def __len__(self) -> int:
        return 3

    def __getitem__(self, place: Any) -> Any:
        return self.triple[place]


def is_triple(source: Any) -> bool:
    """Whether something is a policy of the new stack, or its three parts in a row."""
    if isinstance(source, V2Triple):
        return True
    return (
        isinstance(source, (tuple, list))
        and len(source) == 3
        and all(part is None or hasattr(part, "connectors") for part in (source[0], source[2]))
        and hasattr(source[1], "forward_inference")
    )
