"""Objects that save themselves to a folder and come back from it, in RLlib's layout."""

from __future__ import annotations

import abc
import functools
import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

from typing_extensions import Self

from ...core.data.budget import one_load
from ...core.data.checked import mapping
from ...core.data.damage import at, calling
from ...core.data.file_names import names_trouble
from ...core.errors import CheckpointError, ConfigError
from ...core.limits.asking import loading_from
from ...core.trust import Names as FileNames
from ...core.trust import Trust, Words, resolve
from ...core.trust.arguments import live_arguments
from ...core.vault.decode.standins import class_path
from ...core.vault.file_names import (
    CLASS_FILE,
    CLASS_KEY,
    COMPONENT_JSON,
    COMPONENT_STATE,
    STATE_KEY,
)
from ...core.vault.files.reading import part_of
from ...core.vault.save_manifest import of_one_save
from ...core.vault.saved_tree import replaced_tree
from .checkpoint_files import (
    locate_component,
    plain_state,
    read_constructor,
    read_state,
    write_component,
)
from .class_names import saved_name
from .class_slots import COMPONENT

Components = str | Collection[str] | None

_OURS: Final = __name__.partition(".")[0] + "."


class Checkpointable(abc.ABC):
    """Saves its class, constructor arguments and state; sub-components in sub-folders.

    A subclass gives `get_state`, `set_state` and `get_ctor_args_and_kwargs`, and names its
    sub-components in `get_checkpointable_components`.
    """

    STATE_FILE_NAME: ClassVar[str] = COMPONENT_STATE
    CLASS_AND_CTOR_ARGS_FILE_NAME: ClassVar[str] = CLASS_FILE
    METADATA_FILE_NAME: ClassVar[str] = COMPONENT_JSON

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "set_state" in vars(cls) and cls.__module__.startswith(_OURS):
            cls.set_state = _checked(cls.set_state)  # type: ignore[method-assign]

    SAVES_WITHOUT_STATE: ClassVar[bool] = True
    """Whether each of its sub-components gets a folder, although its state may be empty."""

    @abc.abstractmethod
    def get_state(
        self, components: Components = None, *, not_components: Components = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Return the state as plain data, that of sub-components under their names.

        Args:
            components: Only these sub-components; "a/b" for one inside another.
            not_components: All but these.
            **kwargs: For subclasses.
        """

    @abc.abstractmethod
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `get_state` gave."""

    @abc.abstractmethod
    def get_ctor_args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments that recreate the object."""

    def get_metadata(self) -> dict[str, Any]:
        """Give what goes into the JSON file beside the version of the layout."""
        return {
            CLASS_KEY: self.CLASS_AND_CTOR_ARGS_FILE_NAME,
            STATE_KEY: self.STATE_FILE_NAME,
        }

    def get_checkpointable_components(self) -> list[tuple[str, Checkpointable]]:
        """Return sub-components that are saved in folders of their own, by name."""
        return []

    def save_to_path(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        state: Mapping[str, Any] | None = None,
        filesystem: Any = None,
        use_msgpack: bool = False,
    ) -> str:
        """Save everything, all or nothing, in one step; other files in the folder stay.

        Args:
            path: The folder to write; None makes a temporary one.
            state: What to save in place of `get_state()`; sub-components it leaves out are not
                saved.
            filesystem: Only None: local files.
            use_msgpack: Whether states are msgpack instead of pickles. Either is read without
                running it; the constructor's file is always a pickle, as RLlib wants it.

        Returns:
            The path.
        """
        _check_local(filesystem)
        state = self._state_to_save() if state is None else state
        target = Path(os.path.abspath(path or tempfile.mkdtemp(prefix="checkpoint_")))
        with replaced_tree(target) as folder:
            self._write_tree(folder, state, use_msgpack)
        return str(path or target)

    def _state_to_save(self) -> Mapping[str, Any] | None:
        """The whole state, where its sub-components would give another one; else None."""
        return None

    def _write_tree(self, folder: Path, state: Mapping[str, Any] | None, use_msgpack: bool) -> None:
        components = self.get_checkpointable_components()
        names = [name for name, _ in components]
        if state is None:
            own_state: Any = self.get_state(not_components=names)
        else:
            own_state = {key: part for key, part in state.items() if key not in names}
        args, kwargs = self.get_ctor_args_and_kwargs()
        write_component(
            folder,
            cls=type(self),
            args=args,
            kwargs=kwargs,
            state=plain_state(own_state),
            state_name=self.STATE_FILE_NAME,
            class_name=self.CLASS_AND_CTOR_ARGS_FILE_NAME,
            metadata_name=self.METADATA_FILE_NAME,
            metadata=self.get_metadata(),
            use_msgpack=use_msgpack,
        )
        _check_names(map(str, names))
        for name, component in components:
            if state is not None and name not in state:
                continue
            part_state = component.get_state() if state is None else state[name]
            if part_state or self.SAVES_WITHOUT_STATE:
                component._write_tree(folder / _folder_name(name), part_state, use_msgpack)

    @of_one_save
    def restore_from_path(
        self,
        path: str | os.PathLike[str],
        *,
        component: str | None = None,
        filesystem: Any = None,
        **kwargs: Any,
    ) -> None:
        """Take over the state that a folder holds.

        Args:
            path: The folder; with `component`, that of the sub-component itself will do, too.
            component: Only this sub-component, "a/b" for one inside another.
            filesystem: Only None: local files.
            **kwargs: Handed to sub-components.

        Raises:
            CheckpointNotFoundError: Nothing lies there.
            CheckpointError: It cannot be read.
        """
        _check_local(filesystem)
        with one_load():
            node = locate_component(path)
            components = dict(self.get_checkpointable_components())
            if component is not None:
                first, _, rest = component.partition("/")
                if first not in components:
                    raise ConfigError(
                        f"{type(self).__name__} has no component {first!r}",
                        expected=", ".join(components) or "none at all",
                    )
                below = part_of(path, _folder_name(first))
                place = below if os.path.isdir(below) else path
                with at(first):
                    components[first].restore_from_path(place, component=rest or None, **kwargs)
                self._restored(component)
                return
            state = read_state(node)
            if state is not None:
                with at(node.state_file.name if node.state_file else self.STATE_FILE_NAME):
                    self.set_state(state)
            for name, part in components.items():
                place = part_of(path, _folder_name(name))
                if os.path.isdir(place):
                    with at(name):
                        part.restore_from_path(place, **kwargs)
            self._restored(None)

    def _restored(self, component: str | None) -> None:
        """Called when all, or one sub-component, has been taken over from a folder."""
        return

    @classmethod
    @of_one_save
    def from_checkpoint(
        cls,
        path: str | os.PathLike[str],
        filesystem: Any = None,
        *,
        trust: Words = None,
        module_classes: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Build the object that a folder holds; no code of the folder runs.

        Args:
            path: The folder.
            filesystem: Only None: local files.
            trust: Your own classes and functions that the folder names: a list of them, or a
                mapping of the dotted names in the file.
            module_classes: Another spelling of `trust`.
            **kwargs: Handed to `restore_from_path`.

        Raises:
            UnknownClassError: It names classes or functions that neither rlconnect nor you have.
            ConfigError: It holds something else than `cls`.
        """
        _check_local(filesystem)
        words = Trust.of(trust) | Trust.of(module_classes)
        with one_load():
            try:
                saved, args, ctor_kwargs = read_constructor(locate_component(path))
            except CheckpointError:
                if cls.__abstractmethods__:
                    raise
                named, args, ctor_kwargs = cls, (), {}
            else:
                named = _class_of(cls, class_path(saved), words)
            names = FileNames(words)
            with at(named.CLASS_AND_CTOR_ARGS_FILE_NAME), calling(named), loading_from(path):
                args, ctor_kwargs = named._live_arguments(args, ctor_kwargs, names)
                names.check(f"{cls.__name__}.from_checkpoint")
                built = named(*args, **ctor_kwargs)
            built.restore_from_path(path, **kwargs)
            return built

    @classmethod
    def _live_arguments(
        cls, args: tuple[Any, ...], kwargs: Mapping[str, Any], names: FileNames
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The constructor's arguments, made live again from what a file holds."""
        return tuple(live_arguments(args, names)), dict(live_arguments(dict(kwargs), names))

    @staticmethod
    def _check_component(name: str, components: Components, not_components: Components) -> bool:
        """Whether a sub-component is among those asked for."""
        asked = _as_list(components)
        unwanted = _as_list(not_components) or []
        if name in unwanted:
            return False
        return asked is None or any(w == name or w.startswith(f"{name}/") for w in asked)

    @staticmethod
    def _get_subcomponents(name: str, components: Components) -> list[str] | None:
        """What is asked for inside a sub-component; None where nothing in particular is."""
        inside = [
            asked[len(name) + 1 :]
            for asked in _as_list(components) or []
            if asked.startswith(f"{name}/")
        ]
        return inside or None


def _checked(set_state: Callable[..., None]) -> Callable[..., None]:
    """A `set_state` of ours that takes dicts alone and tells what it stumbles over as damage."""

    @functools.wraps(set_state)
    @at()
    def take(self: Any, state: Mapping[str, Any], *args: Any, **kwargs: Any) -> None:
        set_state(self, mapping(state), *args, **kwargs)

    return take


def _class_of(cls: type[Any], path: str, trust: Trust) -> type[Any]:
    is_called = path == f"{cls.__module__}.{cls.__qualname__}" or (
        not cls.__abstractmethods__ and path.endswith(f".{cls.__name__}")
    )
    if is_called and trust.find(path) is None:
        return cls
    named: type[Any] = resolve(path, COMPONENT, trust, f"{cls.__name__}.from_checkpoint")
    if not issubclass(named, cls):
        raise ConfigError(
            "the checkpoint is of another class",
            expected=cls.__name__,
            found=".".join(saved_name(named)),
            hint=f"use {named.__name__}.from_checkpoint().",
        )
    return named


def _as_list(names: Components) -> list[str] | None:
    if names is None:
        return None
    return [names] if isinstance(names, str) else [str(name) for name in names]


def _folder_name(name: str) -> str:
    """A sub-component's folder; a name that would lead elsewhere is refused."""
    text = str(name)
    _check_names([text])
    return text


def _check_names(names: Iterable[str]) -> None:
    trouble = names_trouble(names)
    if trouble:
        raise ConfigError(
            "these names cannot be those of folders",
            found=trouble,
            hint="give the modules or pieces other names.",
        )


def _check_local(filesystem: Any) -> None:
    if filesystem is not None:
        raise ConfigError(
            "filesystem", expected="None: local files", found=type(filesystem).__name__
        )
