"""From the records of a checkpoint to live modules."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import torch
from torch import nn

from ...core.errors import (
    ConfigError,
    MissingPartError,
    NotACheckpointError,
    RlconnectError,
    UnknownClassError,
    WeightsError,
)
from ...core.limits.asking import check_count, check_space
from ...core.limits.misfits import Shapes, asked_shapes
from ...core.limits.weight_room import BeyondWeightsError, WeightRoom
from ...core.nets.setting import NETWORK
from ...core.trust import Names, Slot, Trust, find, together
from ...core.trust.arguments import live_arguments
from ...core.trust.names import unknown
from ...core.vault import Checkpoint, ModuleRecord, open_checkpoint
from ...core.vault.file_names import MODULE_STATE
from ...core.vault.records.records import warn_of_unsafe
from ...core.vault.shape_hints import space_hint
from ..saving.class_names import saved_name
from ..saving.class_slots import CATALOG, MODULE, NETWORK_CLASS
from .apis import InferenceOnlyAPI, TargetNetworkAPI
from .misfits import deciding, module_misfit, warn_of_encoders
from .model_config import as_settings
from .multi_rl_module import MultiRLModule
from .old_settings import modern_settings, renamed_weights
from .rl_module import RLModule
from .torch_rl_module import adopt, built_bare

if TYPE_CHECKING:
    from ...core.nets import Network

_M = TypeVar("_M", bound=RLModule)
_OURS: Final = f"{__name__.partition('.')[0]}."
_HERE: Final = f"{__name__.rpartition('.')[0]}."
# Names of the parts of RLlib's default modules, and the module that has them.
_PARTS_OF: Final = (
    ({"pi_encoder", "qf_encoder", "vf_encoder", "pi", "qf"}, "DefaultIQLTorchRLModule"),
    ({"pi_encoder", "qf_encoder", "pi", "qf"}, "DefaultSACTorchRLModule"),
    ({"encoder", "af"}, "DefaultDQNTorchRLModule"),
    ({"encoder", "pi", "vf"}, "DefaultPPOTorchRLModule"),
    ({"encoder", "pi"}, "DefaultPPOTorchRLModule"),
)
_GIVE: Final = "if you want it so, give its settings: from_checkpoint(path, model_config={...})."


def load_module(
    cls: type[_M],
    path: str | os.PathLike[str],
    trust: Trust,
    *,
    strict: bool = True,
    described: Any = None,
    overrides: Mapping[str, Any] | None = None,
) -> _M:
    """Build the module of `cls.from_checkpoint(path)`."""
    checkpoint = open_checkpoint(path)
    warn_of_unsafe(checkpoint.unsafe)
    if not checkpoint.modules:
        raise NotACheckpointError(
            f"{checkpoint.path} holds no RLModule",
            expected="a checkpoint of the new stack",
            found=f"kind {checkpoint.kind!r} of the {checkpoint.stack} stack",
            hint="its old-stack policies open with rlconnect.legacy."
            if checkpoint.policies
            else "",
        )
    given: Any = path
    is_mine = checkpoint is not given
    loader = _Loader(checkpoint, trust, strict, overrides or {}, described, is_mine=is_mine)
    module: RLModule
    if checkpoint.kind == "module":
        (record,) = checkpoint.modules.values()
        module = loader.module(record, cls)
    else:
        module = loader.multi_module(cls)
    if not isinstance(module, cls):
        raise ConfigError(
            f"{checkpoint.path} is of another class",
            expected=cls.__name__,
            found=".".join(saved_name(type(module))),
            hint=f"use {type(module).__name__}.from_checkpoint().",
        )
    return module


def misfit_with(path: str | os.PathLike[str], model_config: Any) -> WeightsError | None:
    """The error for settings that ask for other networks than the weights in a folder are of."""
    try:
        checkpoint = open_checkpoint(path)
        loader = _Loader(checkpoint, Trust.of(None), True, {"model_config": model_config})
        for record in checkpoint.modules.values():
            misfit = loader.misfit(record)
            if misfit is not None:
                return misfit
    except RlconnectError:
        pass  # The error that led here is raised instead.
    return None


class _Loader:
    """Builds the modules of one checkpoint.

    `overrides` are constructor arguments that replace saved ones. `described` are networks as data,
    for modules whose class is missing. With `is_mine`, nothing else uses the checkpoint's arrays,
    so that they become the weights without a copy.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        trust: Trust,
        strict: bool,
        overrides: Mapping[str, Any],
        described: Any = None,
        *,
        is_mine: bool = False,
    ) -> None:
        self.is_mine = is_mine
        self.checkpoint = checkpoint
        self.trust = trust
        self.strict = strict
        self.overrides = overrides
        self.networks = {} if described is None else self._networks(described)

    def _networks(self, described: Any) -> Mapping[str, Network]:
        """The described networks by module id: one for all is for those of an unknown class."""
        from ...core.nets.files import networks_of

        records = self.checkpoint.modules
        networks = networks_of(described, records)
        unknown = [
            key for key, one in records.items() if self._class_named(one.module_class) is None
        ]
        is_for_all = len(networks) > 1 and len({id(network) for network in networks.values()}) == 1
        return {name: networks[name] for name in unknown} if is_for_all and unknown else networks

    def _class_named(self, path: str) -> Any:
        return find(path, MODULE, self.trust) if path else None

    def multi_module(self, cls: type[RLModule]) -> MultiRLModule:
        """All modules in one."""
        kind = cls if issubclass(cls, MultiRLModule) else MultiRLModule
        multi = kind()
        records = self.checkpoint.modules
        modules = together(*(partial(self.module, record, RLModule) for record in records.values()))
        for module_id, module in zip(records, modules, strict=True):
            multi.add_module(module_id, module)
        parts = list(multi.values())
        multi.inference_only = bool(parts) and all(part.inference_only for part in parts)
        return multi

    def module(self, record: ModuleRecord, cls: type[RLModule]) -> RLModule:
        """One module with its weights."""
        if not record.weights:
            raise self._without_weights(record)
        kind, arguments = together(
            partial(self._class_of, record, cls), partial(self._arguments, record)
        )
        build = partial(self._made, kind, arguments, record)
        if self._may_adopt(kind):
            module = built_bare(build)
            if self._fill(module, record, arguments, adopt):
                return module
        module = build()
        self._fill(module, record, arguments, _take)
        return module

    def _may_adopt(self, kind: type[RLModule]) -> bool:
        """True if modules of a class need nothing from being built but shapes."""
        return (
            self.is_mine
            and self.strict
            and kind.__module__.startswith(_HERE)
            and issubclass(kind, nn.Module)
            and torch.get_default_device().type == "cpu"
        )

    def _made(
        self, kind: type[RLModule], arguments: Mapping[str, Any], record: ModuleRecord
    ) -> RLModule:
        """A module with the networks that its weights are for."""
        module = self._built(kind, arguments, record)
        weight_names = _names_of_weights(module, set(record.weights))
        spare = _spare(module, weight_names) if weight_names is not None else set()
        if weight_names is not None and spare and spare == weight_names - set(record.weights):
            # A runner saved it: what only learning needs is not there.
            module = self._built(kind, {**arguments, "inference_only": True}, record)
        return module

    def _class_of(self, record: ModuleRecord, cls: type[RLModule]) -> type[RLModule]:
        if record.id in self.networks:
            from .described import DescribedTorchRLModule

            return DescribedTorchRLModule
        path = record.module_class
        named = find(path, MODULE, self.trust)
        if named is None and path == f"{cls.__module__}.{cls.__qualname__}":
            named = cls
        if named is None and not _is_base(cls):
            name = path.rpartition(".")[2]
            named = cls if name in ("", cls.__name__) else None
        if named is not None and not _is_base(named):
            kind: type[RLModule] = named
            return kind
        if path:
            raise self._unknown(record, path, MODULE)
        parts = {name.partition(".")[0] for name in record.weights}
        likely = next((hint for needed, hint in _PARTS_OF if needed <= parts), "")
        raise UnknownClassError(
            f"the checkpoint does not say of which class module {record.id!r} is",
            found=f"weights as {likely} has them" if likely else "",
            hint=f"call from_checkpoint() of that class{f' (perhaps {likely})' if likely else ''}, "
            "with the module's own folder; its weights are in this error's `weights`.",
            class_name="",
            kinds={"": "a module"},
            **self._facts(record),
        )

    def _unknown(self, record: ModuleRecord, name: str, slot: Slot) -> UnknownClassError:
        what = f"module {record.id!r} needs"
        error = unknown({name: slot}, what=what, **self._facts(record))
        if slot is MODULE and record.weights:
            from ...core.vault.next_steps import describe_hint

            error.hint = f"{error.hint} Or {describe_hint(self.checkpoint.path)}"
        return error

    def _facts(self, record: ModuleRecord) -> dict[str, Any]:
        weights: Any = record.weights
        if self.checkpoint.kind != "module":
            weights = {key: module.weights for key, module in self.checkpoint.modules.items()}
        return {"module_id": record.id, "record": record, "weights": weights}

    def _settings(self, record: ModuleRecord) -> dict[str, Any]:
        """The settings of its networks; unknown names in them stay stand-ins."""
        names = Names(self.trust)
        return live_arguments(dict(record.model_config), names, NETWORK_CLASS)  # type: ignore[no-any-return]

    def _arguments(self, record: ModuleRecord) -> dict[str, Any]:
        catalog = record.catalog_class
        network = self.networks.get(record.id)
        if network is not None:
            return self._described(record, network)
        arguments = {
            "observation_space": record.observation_space,
            "action_space": record.action_space,
            "inference_only": bool(record.inference_only),
            "learner_only": bool(record.extra.get("learner_only", False)),
            "model_config": modern_settings(self._settings(record), _shapes(record)),
            "catalog_class": find(catalog, CATALOG, self.trust) if catalog else None,
            **_overrides_of(record.id, self.overrides),
        }
        warn_of_encoders(record, as_settings(arguments["model_config"]))
        if catalog and arguments["catalog_class"] is None:
            raise self._unknown(record, catalog, CATALOG)
        return arguments

    def _described(self, record: ModuleRecord, network: Network) -> dict[str, Any]:
        """The arguments of a module whose network is data."""
        with_shapes = replace(network, shapes=_shapes(record))
        return {
            "observation_space": record.observation_space,
            "action_space": record.action_space,
            "inference_only": bool(record.inference_only),
            "model_config": {**dict(record.model_config), NETWORK: with_shapes.as_data()},
            **self.overrides,
        }

    def _built(
        self, kind: type[RLModule], arguments: Mapping[str, Any], record: ModuleRecord
    ) -> RLModule:
        for name in ("observation_space", "action_space"):
            if arguments[name] is None:
                problems = "; ".join(map(str, self.checkpoint.problems))
                hint = space_hint(record)
                raise MissingPartError(
                    f"the {name.replace('_', ' ')} of module {record.id!r} is not known",
                    found=problems or "no trace of it",
                    hint=f"{hint}{hint and '; '}give it: from_checkpoint(path, {name}=...).",
                    record=record,
                    weights=record.weights,
                )
        if "model_config" in self.overrides:
            return kind(**arguments)
        for name in ("observation_space", "action_space"):
            if name not in self.overrides:
                check_space(arguments[name], f"the {name} of module {record.id!r}", f"{name}=...")
        for name, value in as_settings(arguments["model_config"]).items():
            if isinstance(value, (list, tuple)):
                check_count(f"the length of {name}", len(value), "layers", "model_config={...}")
        shapes = _shapes(record)
        size = sum(4 * math.prod(shape) for shape in shapes.values())
        try:
            with WeightRoom(size, len(shapes), f"module {record.id!r}", _GIVE):
                return kind(**arguments)
        except BeyondWeightsError as error:
            misfit = self.misfit(record)
            if misfit is None:
                raise
            raise misfit from error

    def misfit(self, record: ModuleRecord) -> WeightsError | None:
        """The error for a weight that has another shape than the settings ask for, if one has."""
        kind, arguments = self._class_of(record, RLModule), self._arguments(record)
        if not kind.__module__.startswith(_OURS):  # It may not do without real tensors.
            return None
        expected_shapes = asked_shapes(lambda: kind(**arguments))
        return self._misfit(expected_shapes, _shapes(record), record, arguments)

    def _misfit(
        self,
        expected_shapes: Shapes,
        saved_shapes: Shapes,
        record: ModuleRecord,
        arguments: Mapping[str, Any],
    ) -> WeightsError | None:
        error = module_misfit(expected_shapes, saved_shapes, record.id, arguments)
        if error is not None and {"observation_space", "action_space"} & self.overrides.keys():
            error.hint = space_hint(record) or error.hint
        return error

    def _fill(
        self,
        module: Any,
        record: ModuleRecord,
        arguments: Mapping[str, Any],
        take: Callable[[Any, Mapping[str, Any]], bool],
    ) -> bool:
        """Let a module take its weights, which have to fit; what `take` says of it."""
        if not hasattr(module, "state_dict"):
            return take(module, dict(record.weights))
        weight_names = set(module.state_dict())
        if (
            set(record.weights) - weight_names
            and not module.inference_only
            and _lacks_targets(module)
        ):
            module.make_target_networks()
            weight_names = set(module.state_dict())
        names = renamed_weights(record.weights, weight_names)
        weights = {names.get(name, name): array for name, array in record.weights.items()}
        missing = sorted(
            name for name in weight_names - set(weights) if not name.endswith("_const")
        )
        unexpected = sorted(set(weights) - weight_names - _spare(module, set(weights)))
        if self.strict and (missing or unexpected):
            decided = deciding((*missing, *unexpected), arguments)
            raise WeightsError(
                f"the weights of module {record.id!r} do not fit {type(module).__name__} with its "
                f"settings{decided and f' ({decided})'}",
                expected=_listed(missing, "nothing more"),
                found=_listed(unexpected, "nothing else"),
                hint="strict=False takes what fits.",
                missing=missing,
                unexpected=unexpected,
                weights=record.weights,
            )
        saved_shapes = {name: np.shape(array) for name, array in weights.items()}
        expected_shapes = {name: tuple(part.shape) for name, part in module.state_dict().items()}
        misfit = self._misfit(expected_shapes, saved_shapes, record, arguments)
        if misfit is not None:
            raise misfit
        return take(module, weights)

    def _without_weights(self, record: ModuleRecord) -> MissingPartError:
        problems = self.checkpoint.problems
        advice = next((each.hint for each in problems if each.kind == "damaged"), "")
        return MissingPartError(
            f"the weights of module {record.id!r} are not in {self.checkpoint.path}",
            found="; ".join(str(each).rstrip(".") for each in problems)
            or f"no {MODULE_STATE} file",
            hint=advice
            or f"copy its {MODULE_STATE} file (.pkl, .msgpack or .pt) from where it was made.",
            missing=[f"{record.where}/{MODULE_STATE}"],
        )


def _take(module: Any, weights: Mapping[str, Any]) -> bool:
    """Let a module copy weights, and keep its own where there are none."""
    is_whole = not hasattr(module, "state_dict") or module.state_dict().keys() <= weights.keys()
    module.set_state(weights if is_whole else {**module.get_state(), **weights})
    return True


def _overrides_of(module_id: str, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that a caller gives to one module; spaces may be dicts by module id."""
    arguments = {}
    for name, value in overrides.items():
        by_id = type(value) is dict and name in ("observation_space", "action_space")
        if not by_id:
            arguments[name] = value
        elif module_id in value:
            arguments[name] = value[module_id]
    return arguments


def _shapes(record: ModuleRecord) -> dict[str, tuple[int, ...]]:
    return {name: record.weights.describe(name)[0] for name in record.weights}


def _is_base(cls: type[RLModule]) -> bool:
    """True for the bases that are no network by themselves."""
    return cls.__name__ in ("RLModule", "TorchRLModule") and cls.__module__.startswith(_HERE)


def _names_of_weights(module: RLModule, weights: set[str]) -> set[str] | None:
    """Names of the module's weights, without constants that the checkpoint lacks."""
    if not hasattr(module, "state_dict"):
        return None
    return {name for name in module.state_dict() if not name.endswith("_const") or name in weights}


def _spare(module: RLModule, names: set[str]) -> set[str]:
    """Names of weights that acting does not need."""
    if not isinstance(module, InferenceOnlyAPI):
        return set()
    prefixes = tuple(f"{name}." for name in module.get_non_inference_attributes())
    return {name for name in names if name.startswith(prefixes)}


def _lacks_targets(module: RLModule) -> bool:
    if not isinstance(module, TargetNetworkAPI):
        return False
    try:
        return not module.get_target_network_pairs()
    except AttributeError:
        return True


def _listed(names: list[str], nothing: str) -> str:
    return ", ".join(names[:8]) + (" ..." if len(names) > 8 else "") if names else nothing
