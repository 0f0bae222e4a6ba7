"""What files do with Ray's modules, configs, algorithms and results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import libcst as cst

from ...v2.config.acting_sections import ENV_RUNNERS
from ...v2.config.learning_sections import TRAINING
from ...v2.config.section import Section, Setting
from ...v2.config.setting_methods import SettingMethods
from ...v2.runs.stop_criteria import RESULT_KEYS
from ..aliases.table import modules
from .expressions import builds_algorithm, index_of, is_call_of, is_config, key_of, text_of
from .marks import MarkingTransformer
from .module_names import ModuleNames, dotted, name_today, path_today, place_today
from .renamings import (
    ALGORITHM_METHODS,
    CONFIG_METHODS,
    DEFAULT_CONFIG,
    EPISODE_ATTRIBUTES,
    HOOK_PARAMETERS,
    METRIC_KEYWORDS,
    METRIC_METHODS,
    MOVED_TO_LEARNERS,
)

_SECTIONS: Final[Mapping[str, Section]] = SettingMethods.SECTIONS
_OF_CONFIGS_ALONE: Final = frozenset({"api_stack", "env_runners", "rl_module", "rollouts"})


class OldUses(MarkingTransformer):
    """Brings uses of Ray to today's and to ours; marks those that it has to leave.

    Args:
        names: The names that the file has for modules of Ray.
        results: Names that the file gives to results of `train()`.
        algorithms: Names that it gives to algorithms.
    """

    def __init__(self, names: ModuleNames, results: frozenset[str], algorithms: frozenset[str]):
        super().__init__()
        self.names = names
        self.results = results
        self.algorithms = algorithms

    def visit_Import(self, node: cst.Import) -> bool:  # LibCST's name
        """Imports are another transformer's."""
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:  # LibCST's name
        """Imports are another transformer's."""
        return False

    # Modules

    def visit_Attribute(self, node: cst.Attribute) -> bool:  # LibCST's name
        """Mark what of a module of Ray rlconnect lacks, and what hooks kept in episodes."""
        full_path = dotted(node)
        if full_path.startswith("ray.") and self.names.paths.get("ray") == "ray":
            self.leave_alone(node, full_path, _instead_of(full_path))
            return False
        path = self.names.paths.get(dotted(node.value))
        if path is not None and place_today(path, node.attr.value) is None:
            self.leave_alone(node, full_path, f"lacks {path}.{node.attr.value}")
        if full_path in EPISODE_ATTRIBUTES:
            self.leave_alone(node, full_path, EPISODE_ATTRIBUTES[full_path])
        return True

    def leave_Attribute(  # LibCST's name
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        """`ppo.PPOTrainer` -> `ppo.PPO`, `ppo.DEFAULT_CONFIG` -> `ppo.PPOConfig().to_dict()`."""
        owner, name = dotted(original_node.value), original_node.attr.value
        path = self.names.paths.get(owner, "ray")
        place = None if path == "ray" else place_today(path, name)
        if place is None or place.name == name:
            return updated_node
        if self.names.front(owner) is None and name_today(path, name) == name:
            return updated_node  # The module stays Ray's, which has it under its old name.
        self.changes.append(f"{owner}.{name} -> {owner}.{place.name}")
        renamed = updated_node.with_changes(attr=cst.Name(place.name))
        return cst.parse_expression(_settings_of(renamed)) if name == DEFAULT_CONFIG else renamed

    # Configs and algorithms

    def visit_Call(self, node: cst.Call) -> None:  # LibCST's name
        """Mark methods and settings that have no like."""
        function = node.func
        if dotted(function).rpartition(".")[2] in ("Tuner", "run", "get_trainable_cls"):
            self._trains(node)
        if not isinstance(function, cst.Attribute):
            return
        name = function.attr.value
        section = _section(function)
        if section is not None:
            self._settings(node, name, section)
        elif name == "get" and node.args and text_of(node.args[0].value) in RESULT_KEYS:
            self._of_result(node, text_of(node.args[0].value))
        elif name in ALGORITHM_METHODS and dotted(function.value) in self.algorithms:
            self.leave_alone(node, dotted(function), ALGORITHM_METHODS[name])

    def _trains(self, call: cst.Call) -> None:
        name = text_of(call.args[0].value) if call.args else ""
        path = f"ray.rllib.algorithms.{name.lower()}"
        if name.isidentifier() and path in modules() and place_today(path, name) is None:
            self.leave_alone(call, f"{dotted(call.func)}({name!r})", f"{name} is not trained here")

    def _settings(self, call: cst.Call, method: str, section: Section) -> None:
        first = next(iter(section.settings))
        for arg in call.args:
            name = first if arg.keyword is None else arg.keyword.value
            setting = section.settings.get(section.renamed.get(name, name))
            if setting is None:
                if section is not TRAINING and name not in MOVED_TO_LEARNERS:
                    self.leave_alone(arg, f"{method}({name}=)", f"there is no setting {name}")
            elif setting.instead and not _is_default(arg.value, setting):
                self.leave_alone(arg, f"{method}({name}=)", f"{name}: {setting.instead}")

    def leave_Call(  # LibCST's name
        self, original_node: cst.Call, updated_node: cst.Call
    ) -> cst.BaseExpression:
        """`.rollouts(num_rollout_workers=1)` -> `.env_runners(num_env_runners=1)`, and the like."""
        function = original_node.func
        if not isinstance(function, cst.Attribute):
            return updated_node
        name, call = function.attr.value, updated_node
        section = _section(function)
        if section is not None:
            call = self._renamed_settings(call, name, section)
        if section is not None and name in CONFIG_METHODS:
            self.changes.append(f"{name}() -> {CONFIG_METHODS[name]}()")
            call = call.with_deep_changes(call.func, attr=cst.Name(CONFIG_METHODS[name]))
        if name == "build" and builds_algorithm(original_node):
            self.changes.append("build() -> build_algo()")
            call = call.with_deep_changes(call.func, attr=cst.Name("build_algo"))
        if name in METRIC_METHODS and call.args and call.args[0].keyword is None:
            first = call.args[0].with_changes(value=self._path_today(call.args[0].value))
            call = call.with_changes(args=[first, *call.args[1:]])
        return call

    def _renamed_settings(self, call: cst.Call, method: str, section: Section) -> cst.Call:
        args = []
        for arg in call.args:
            old = "" if arg.keyword is None else arg.keyword.value
            new = section.renamed.get(old)
            if new is not None:
                self.changes.append(f"{method}({old}=) -> {section.method}({new}=)")
                arg = arg.with_changes(keyword=cst.Name(new))
            args.append(arg)
        return call.with_changes(args=args)

    # Callbacks

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:  # LibCST's name
        """Mark hooks of callbacks that ask for what no hook is given today."""
        if node.name.value.startswith("on_"):
            every = (*node.params.params, *node.params.kwonly_params)
            old = [
                parameter.name.value
                for parameter in every
                if parameter.name.value in HOOK_PARAMETERS
            ]
            if old:
                why = "hooks are given " + ", ".join(HOOK_PARAMETERS[name] for name in old)
                self.leave_alone(node, f"{node.name.value}({', '.join(old)})", why)

    # Results

    def leave_Arg(  # LibCST's name
        self, original_node: cst.Arg, updated_node: cst.Arg
    ) -> cst.Arg:
        """`metric="episode_reward_mean"` and `stop={"episode_reward_mean": 1}`."""
        keyword = "" if original_node.keyword is None else original_node.keyword.value
        if keyword not in METRIC_KEYWORDS:
            return updated_node
        return updated_node.with_changes(value=self._with_key_today(updated_node.value))

    def leave_Assign(  # LibCST's name
        self, original_node: cst.Assign, updated_node: cst.Assign
    ) -> cst.Assign:
        """`stop = {"episode_reward_mean": 1}`."""
        if [dotted(target.target) for target in updated_node.targets] != ["stop"]:
            return updated_node
        return updated_node.with_changes(value=self._with_key_today(updated_node.value))

    def _with_key_today(self, value: cst.BaseExpression) -> cst.BaseExpression:
        if not isinstance(value, cst.Dict):
            return self._path_today(value)
        elements = [
            element.with_changes(key=self._path_today(element.key))
            if isinstance(element, cst.DictElement)
            else element
            for element in value.elements
        ]
        return value.with_changes(elements=elements)

    def _path_today(self, key: cst.BaseExpression) -> cst.BaseExpression:
        today = RESULT_KEYS.get(text_of(key))
        if today is None or not isinstance(key, cst.SimpleString):
            return key
        self.changes.append(f"{text_of(key)} -> {today}")
        return cst.SimpleString(f"{key.quote}{today}{key.quote}")

    def visit_Subscript(self, node: cst.Subscript) -> None:  # LibCST's name
        """Mark an old key of what may be a result."""
        key = key_of(node)
        if key in RESULT_KEYS and not self._is_result(node.value):
            self._of_result(node, key)

    def _of_result(self, node: cst.CSTNode, key: str) -> None:
        where = "".join(f"[{part!r}]" for part in RESULT_KEYS[key].split("/"))
        self.leave_alone(node, f"[{key!r}]", f"a result of train() has this as {where}")

    def leave_Subscript(  # LibCST's name
        self, original_node: cst.Subscript, updated_node: cst.Subscript
    ) -> cst.Subscript:
        """`result["episode_reward_mean"]` -> `result["env_runners"]["episode_return_mean"]`."""
        key = key_of(original_node)
        if key not in RESULT_KEYS or not self._is_result(original_node.value):
            return updated_node
        self.changes.append(f"[{key!r}] -> {RESULT_KEYS[key]}")
        owner: cst.BaseExpression = updated_node.value
        if key_of(original_node.value) in ("env_runners", "sampler_results"):
            owner = cst.ensure_type(owner, cst.Subscript).value
        quote = cst.ensure_type(index_of(original_node), cst.SimpleString).quote
        for part in RESULT_KEYS[key].split("/"):
            index = cst.Index(cst.SimpleString(f"{quote}{part}{quote}"))
            owner = cst.Subscript(value=owner, slice=[cst.SubscriptElement(index)])
        return cst.ensure_type(owner, cst.Subscript)

    def _is_result(self, node: cst.BaseExpression) -> bool:
        if isinstance(node, cst.Subscript) and key_of(node) in ("env_runners", "sampler_results"):
            return self._is_result(node.value)
        return dotted(node) in self.results or is_call_of(node, "train")


def _instead_of(full_path: str) -> str:
    """What to do instead of a dotted name of Ray's."""
    path, _, name = full_path.rpartition(".")
    while path_today(path) not in modules():
        path, _, name = path.rpartition(".")
    place = None if path == "ray" else place_today(path, name)
    if place is not None:
        return f"import it: from rlconnect.{place.home} import {place.name}"
    if path != "ray":
        return f"lacks {path}.{name}"
    if name in ("init", "shutdown"):
        return "nothing is started here: leave this out"
    return "there are no processes of Ray's here: call it directly"


def _section(function: cst.Attribute) -> Section | None:
    """The settings that a method of a config takes; None where it is no config's."""
    name = function.attr.value
    if name not in _OF_CONFIGS_ALONE and not is_config(function.value):
        return None
    return ENV_RUNNERS if name in CONFIG_METHODS else _SECTIONS.get(name)


def _is_default(value: cst.BaseExpression, setting: Setting) -> bool:
    default: Any = setting  # Is no value of any setting.
    if isinstance(value, (cst.SimpleString, cst.Integer, cst.Float)):
        default = value.evaluated_value
    elif isinstance(value, cst.Name):
        default = {"None": None, "False": False, "True": True}.get(value.value, setting)
    elif isinstance(value, cst.Dict) and not value.elements:
        default = {}
    return bool(default == setting.default)


def _settings_of(config: cst.BaseExpression) -> str:
    return f"{cst.Module([]).code_for_node(config)}().to_dict()"
