"""An ordered, editable list of pieces that is a piece itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gymnasium.spaces import Space
from typing_extensions import override

from ...core.data.damage import at
from ...core.errors import CorruptCheckpointError, PieceError
from ...core.runtime.sharing import Turn
from ...core.trust import Names
from ...core.vault.decode.standins import class_path, shown
from ..saving.checkpointable import Checkpointable, Components
from ..saving.class_slots import PIECE
from .connector import ConnectorV2
from .piece_list import PieceList, piece_of
from .piece_plan import Call, Plan, Room, Run, Step, explained

if TYPE_CHECKING:
    from ...core.pages.figure import Figure


class ConnectorPipelineV2(PieceList, ConnectorV2):
    """Runs its pieces one after the other; pipelines may hold pipelines, and threads share them.

    Some kinds of pipelines run consecutive built-in pieces as one step, with the same result.

    Args:
        input_observation_space: Of what comes into the first piece.
        input_action_space: Of what comes into the first piece.
        connectors: The pieces, or `(class, args, kwargs)` to build them from.
        **kwargs: For subclasses.

    Attributes:
        connectors: The pieces as a plain list; it may be edited directly, too.

    Example:
        >>> class Count(ConnectorV2):
        ...     def __call__(self, *, batch, **kwargs):
        ...         return {"count": batch.get("count", 0) + 1}
        >>> ConnectorPipelineV2(connectors=[Count(), Count()])(
        ...     rl_module=None, batch={}, episodes=[]
        ... )
        {'count': 2}
    """

    def __init__(
        self,
        input_observation_space: Space[Any] | None = None,
        input_action_space: Space[Any] | None = None,
        *,
        connectors: Iterable[Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self.connectors = [piece_of(piece) for piece in connectors or ()]
        self._connected: list[ConnectorV2] | None = None
        self._seen_told = ConnectorV2.times_told
        self._plan: Plan | None = None
        self._is_nested = False
        self._turn = Turn()
        super().__init__(input_observation_space, input_action_space, **kwargs)

    @override
    def __call__(
        self,
        *,
        rl_module: Any,
        batch: dict[str, Any] | None = None,
        episodes: list[Any],
        explore: bool | None = None,
        shared_data: dict[str, Any] | None = None,
        metrics: Any = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Run all pieces, from an empty batch if none is given.

        Each gets what the one before returned, as `batch` and as `data`.

        Raises:
            PieceError: A piece returned no dict.
        """
        if batch is None:
            batch = {}
        call = Call(rl_module, episodes, explore, {} if shared_data is None else shared_data)
        with self._turn:
            if kwargs:
                kwargs.pop("data", None)  # An outer pipeline's alias of `batch`.
            plan = self._current_plan()
            if metrics is None:
                for step in plan.steps:
                    run = step.run
                    transformed = None if run is None else run(batch, call)
                    if transformed is None:
                        transformed = self._one_by_one(step, batch, call, None, kwargs)
                    batch = transformed
                return batch
            self._log_lengths(metrics, episodes, "in")
            with self._timed(metrics, kwargs, "connector_pipeline_timer"):
                for step in plan.steps:
                    transformed = None
                    if step.run is not None:
                        with self._timed(metrics, kwargs, "timers", "connectors", step.name):
                            transformed = step.run(batch, call)
                    if transformed is None:
                        transformed = self._one_by_one(step, batch, call, metrics, kwargs)
                    batch = transformed
            self._log_lengths(metrics, episodes, "out")
            return batch

    def _log_lengths(self, metrics: Any, episodes: Sequence[Any], end: str) -> None:
        """Tell how long the episodes are that come in and go out; nothing here."""

    def _one_by_one(
        self, step: Step, batch: dict[str, Any], about: Call, metrics: Any, kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        def call(piece: ConnectorV2) -> Any:
            return piece(
                rl_module=about.rl_module,
                batch=batch,
                data=batch,
                episodes=about.episodes,
                explore=about.explore,
                shared_data=about.shared_data,
                metrics=metrics,
                **kwargs,
            )

        for piece, name in step.pieces:
            if metrics is None:
                batch = call(piece)
            else:
                with self._timed(metrics, kwargs, "timers", "connectors", name):
                    batch = call(piece)
            if not isinstance(batch, dict):
                raise PieceError(
                    f"{type(piece).__name__} returned no batch",
                    expected="a dict",
                    found=type(batch).__name__,
                    hint="end its __call__ with `return batch`." if batch is None else "",
                )
        return batch

    def explain(self) -> str:
        """Tell which pieces run together, as one step on rows, which alone, and why.

        Example:
            >>> print(ConnectorPipelineV2(connectors=[ConnectorPipelineV2()]).explain())
            ConnectorPipelineV2
              ConnectorPipelineV2: alone: this kind of pipeline calls each piece
        """
        lines = explained(self._current_plan(), self._room())
        return "\n".join([type(self).__name__, *(f"  {line}" for line in lines)])

    def draw(self) -> Figure:
        """The pieces as boxes, with what leaves each on the arrow behind it where it is known."""
        from ...core.pages.figure import Figure

        steps = self._current_plan().steps
        boxes = [
            (type(piece).__name__, "alone" if step.run is None else "together")
            for step in steps
            for piece, _ in step.pieces
        ]
        return Figure(type(self).__name__, boxes, [*map(self._left_by, self.connectors)])

    def _repr_html_(self) -> str:
        return self.draw()._repr_html_()

    def _left_by(self, piece: Any) -> str:
        """What leaves a piece of a pipeline of this kind, in a few words; here nobody knows."""
        return ""

    def only_run(self) -> Run | None:
        """The run that all pieces are in, if there is one."""
        steps = self._current_plan().steps
        return steps[0].run if len(steps) == 1 else None

    def _current_plan(self) -> Plan:
        """The plan of the pieces as they are now; they have got their spaces."""
        if self._is_nested:  # Somebody may have edited a pipeline inside of this one.
            self._connect_if_edited()
        plan = self._plan
        if plan is None or self._seen_told != ConnectorV2.times_told:
            return self._planned()
        return plan if plan.fits(self.connectors, self._connected) else self._planned()

    def _planned(self) -> Plan:
        self._connect_if_edited()
        plan = self._plan = Plan(self.connectors, self._room(), self._connected)
        self._is_nested = any(isinstance(piece, ConnectorPipelineV2) for piece in plan.pieces)
        return plan

    def _room(self) -> Room | None:
        """Which pieces can run together in a pipeline of this kind; here none."""
        return None

    def _metrics_prefix(self) -> tuple[str, ...]:
        """Where the timers of a kind of pipeline belong, if no `metrics_prefix_key` is passed."""
        return ()

    def _timed(self, metrics: Any, kwargs: Mapping[str, Any], *key: str) -> Any:
        prefix = kwargs.get("metrics_prefix_key") or self._metrics_prefix()
        return metrics.log_time((*prefix, *key))

    # Spaces

    def _connect(self) -> None:
        """Set the input spaces of each piece to the output spaces of the previous one."""
        observation_space = self._input_observation_space
        action_space = self._input_action_space
        self._connected = self._all_pieces()
        self._seen_told = ConnectorV2.times_told
        for piece in self.connectors:
            if action_space is not None:
                piece.input_action_space = action_space
            if observation_space is not None:
                piece.input_observation_space = observation_space
            observation_space, action_space = piece.observation_space, piece.action_space

    def _connect_if_edited(self) -> None:
        is_told = self._seen_told != ConnectorV2.times_told
        if is_told or self._connected != self._all_pieces():
            self._connect()

    def _all_pieces(self) -> list[ConnectorV2]:
        """The pieces as they are now, those of nested pipelines too."""
        pieces: list[ConnectorV2] = []
        for piece in self.connectors:
            pieces.append(piece)
            if isinstance(piece, ConnectorPipelineV2):
                pieces.extend(piece._all_pieces())
        return pieces

    @override
    def _refresh_observation_space(self) -> None:
        if self._is_observation_stale:
            self._is_observation_stale = False
            self._connected = None
        self._connect_if_edited()
        pieces = self.connectors
        self._observation_space = (
            pieces[-1].observation_space if pieces else self._input_observation_space
        )

    @override
    def _refresh_action_space(self) -> None:
        if self._is_action_stale:
            self._is_action_stale = False
            self._connected = None
        self._connect_if_edited()
        pieces = self.connectors
        self._action_space = pieces[-1].action_space if pieces else self._input_action_space

    # State

    def _named(self) -> list[tuple[str, ConnectorV2]]:
        """The pieces with names of their own: a second `X` is `X_1`."""
        counts: dict[str, int] = {}
        names = {type(piece).__name__ for piece in self.connectors}
        named = []
        for piece in self.connectors:
            class_name = name = type(piece).__name__
            count = counts.get(class_name, 0)
            while count and (name := f"{class_name}_{count}") in names:
                count += 1
            counts[class_name] = count + 1
            names.add(name)
            named.append((name, piece))
        return named

    @override
    def get_state(
        self, components: Components = None, *, not_components: Components = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Return the states of the pieces that have one, by name.

        Args:
            components: Only these names; "A/b" for one inside a nested pipeline.
            not_components: All but these.
            **kwargs: Handed to the pieces.
        """
        states = {}
        for name, piece in self._named():
            if not self._check_component(name, components, not_components):
                continue
            state = piece.get_state(
                components=self._get_subcomponents(name, components),
                not_components=self._get_subcomponents(name, not_components),
                **kwargs,
            )
            if state:
                states[name] = state
        return states

    @override
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Give the pieces their states; those that are not in it keep theirs."""
        for name, piece in self._named():
            if name in state:
                with at(name):
                    piece.set_state(state[name])

    @override
    def get_checkpointable_components(self) -> list[tuple[str, Checkpointable]]:
        """Return the pieces by name."""
        return [*self._named()]

    @override
    def get_ctor_args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the spaces, and how to build each piece as the list is now."""
        pieces = [(type(piece), *piece.get_ctor_args_and_kwargs()) for piece in self.connectors]
        return (), {
            "input_observation_space": self.input_observation_space,
            "input_action_space": self.input_action_space,
            "connectors": pieces,
        }

    @classmethod
    @override
    def _live_arguments(
        cls, args: tuple[Any, ...], kwargs: Mapping[str, Any], names: Names
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        rest = {name: value for name, value in kwargs.items() if name != "connectors"}
        live, by_name = super()._live_arguments(args, rest, names)
        if "connectors" in kwargs:
            pieces = kwargs["connectors"]
            if not isinstance(pieces, (list, tuple)):
                raise CorruptCheckpointError(
                    f"the pieces of a {cls.__name__}",
                    expected="a list of (class, args, kwargs)",
                    found=type(pieces).__name__,
                )
            by_name["connectors"] = [live_piece(each, names) for each in pieces]
        return live, by_name

    @override
    def reset_state(self) -> None:
        """Let every piece begin anew."""
        for piece in self.connectors:
            piece.reset_state()

    @override
    def merge_states(self, states: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Merge the states of pipelines like this one, piece by piece and by name."""
        merged = {}
        for name, piece in self._named():
            states_of_piece = [state[name] for state in states if name in state]
            if states_of_piece:
                merged[name] = piece.merge_states(states_of_piece)
        return merged


def live_piece(
    saved: Any, names: Names
) -> tuple[type[ConnectorV2], tuple[Any, ...], dict[str, Any]]:
    """What a file holds of a piece, ready to be built: only pieces are.

    Args:
        saved: The class, args and kwargs.
        names: Looks up what they name.

    Raises:
        CorruptCheckpointError: It is something else.
    """
    if isinstance(saved, (list, tuple)) and len(saved) == 3:
        kind, args, kwargs = saved
        if isinstance(args, (list, tuple)) and isinstance(kwargs, Mapping):
            cls = names.find(class_path(kind), PIECE)
            # What nobody knows has arguments, too, which may name more that nobody knows.
            piece_class: type[ConnectorV2] = cls if isinstance(cls, type) else ConnectorV2
            return piece_class, *piece_class._live_arguments(tuple(args), kwargs, names)
    raise CorruptCheckpointError(
        "a piece of a saved pipeline", expected="(class, args, kwargs)", found=shown(saved)
    )
