"""Modules that come and go while an algorithm trains."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...core.errors import ConfigError
from ..config.policies import PolicySpec
from .evaluation import Evaluation


class ModuleChanges:
    """The part of an algorithm that adds and removes modules."""

    config: Any
    learner_group: Any
    env_runner_group: Any
    _evaluation: Evaluation

    def add_module(
        self,
        module_id: str,
        module_spec: Any,
        *,
        config_overrides: Mapping[str, Any] | None = None,
        new_agent_to_module_mapping_fn: Callable[..., Any] | None = None,
        new_should_module_be_updated: Any = None,
        add_to_learners: bool = True,
        add_to_env_runners: bool = True,
        add_to_eval_env_runners: bool = True,
    ) -> Any:
        """Add a module.

        Args:
            module_id: Its id.
            module_spec: What it is built from, with its spaces.
            config_overrides: Settings that are its own.
            new_agent_to_module_mapping_fn: Which agent has which module from now on.
            new_should_module_be_updated: Which modules are trained from now on.
            add_to_learners: Whether it learns.
            add_to_env_runners: Whether it acts.
            add_to_eval_env_runners: Whether it acts in evaluations.

        Returns:
            The specs of all modules that learn.
        """
        self._check_is_multi_agent()
        spec = None
        if add_to_learners:
            spec = self.learner_group.add_module(
                module_id=module_id,
                module_spec=module_spec,
                config_overrides=config_overrides,
                new_should_module_be_updated=new_should_module_be_updated,
            )

        def add(runner: Any) -> None:
            runner.config.policies[module_id] = PolicySpec()
            if module_id not in runner.module:
                runner.module.add_module(module_id, _for_acting(module_spec))
            _map_agents(runner, new_agent_to_module_mapping_fn)

        for group in self._groups(add_to_env_runners, add_to_eval_env_runners):
            group.foreach_env_runner(add)
            if add_to_learners:
                group.sync_weights(
                    [module_id], self.learner_group, inference_only=True, is_forced=True
                )
        return spec

    def remove_module(
        self,
        module_id: str,
        *,
        new_agent_to_module_mapping_fn: Callable[..., Any] | None = None,
        new_should_module_be_updated: Any = None,
        remove_from_learners: bool = True,
        remove_from_env_runners: bool = True,
        remove_from_eval_env_runners: bool = True,
    ) -> Any:
        """Remove a module.

        Args:
            module_id: Its id.
            new_agent_to_module_mapping_fn: Which agent has which module from now on.
            new_should_module_be_updated: Which modules are trained from now on.
            remove_from_learners: Whether it learns no more.
            remove_from_env_runners: Whether it acts no more.
            remove_from_eval_env_runners: Whether it acts in evaluations no more.

        Returns:
            The specs of the modules that still learn.
        """
        self._check_is_multi_agent()
        spec = None
        if remove_from_learners:
            spec = self.learner_group.remove_module(
                module_id, new_should_module_be_updated=new_should_module_be_updated
            )

        def remove(runner: Any) -> None:
            runner.config.policies.pop(module_id, None)
            if module_id in runner.module:
                runner.module.remove_module(module_id)
            _map_agents(runner, new_agent_to_module_mapping_fn)

        for group in self._groups(remove_from_env_runners, remove_from_eval_env_runners):
            group.foreach_env_runner(remove)
        return spec

    def _groups(self, training: bool, evaluating: bool) -> list[Any]:
        asked = ((training, self.env_runner_group), (evaluating, self._evaluation.group))
        return [group for wanted, group in asked if wanted and group is not None]

    def _check_is_multi_agent(self) -> None:
        if not self.config.is_multi_agent:
            raise ConfigError(
                "modules come and go in multi-agent runs only",
                hint="config.multi_agent(policies={...}, policy_mapping_fn=...).",
            )


def _for_acting(spec: Any) -> Any:
    from dataclasses import replace

    return replace(spec, inference_only=True).build()


def _map_agents(runner: Any, mapping: Callable[..., Any] | None) -> None:
    """Let agents have other modules from the next reset on."""
    if mapping is not None:
        runner.config.policy_mapping_fn = mapping
        for piece in runner.env_to_module.connectors:
            if hasattr(piece, "agent_to_module_mapping_fn"):
                piece.agent_to_module_mapping_fn = mapping
        runner.needs_initial_reset = True
