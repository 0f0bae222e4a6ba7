"""The front door: whatever lies at a path, as something that acts, policies by id."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, overload

from ...core.errors import UnknownNameError
from ...core.text.visible import visible
from ..actor.actor import Actor
from ..loading.mapping import PolicyMapping
from ..loading.natives import Natives, Source, natives_in, natives_of
from .loaded_policy import Acts, LoadedPolicy


class LoadedPolicies(Acts, Mapping[str, LoadedPolicy]):
    """Policies by id, as `rlconnect.load` gives them and every verb takes them.

    Args:
        natives: What acts, as its stack has it.

    Attributes:
        path: Where they came from, if from a file.
        policy_mapping_fn: Which policy plays an agent; None where a policy has the agent's name.
        parts: Pipelines of a checkpoint that holds no policy, by name.

    Example:
        >>> import rlconnect
        >>> policies = rlconnect.load("examples/checkpoints/ppo-cartpole-ray-2.60")
        >>> list(policies)
        ['default_policy']
        >>> policies.only.id
        'default_policy'
    """

    def __init__(self, natives: Natives) -> None:
        self._policies = {
            name: LoadedPolicy(name, native, natives.path)
            for name, native in natives.policies.items()
        }
        self.natives = natives
        self.path = natives.path
        self.policy_mapping_fn: PolicyMapping = natives.mapping
        self.parts: Mapping[str, Any] = natives.parts

    @property
    def only(self) -> LoadedPolicy:
        """The only policy.

        Raises:
            PieceError: There are several, or none.
        """
        _ = self.natives.only
        (only,) = self._policies.values()
        return only

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save all of them where `rlconnect.load` finds them again, all or nothing.

        Raises:
            CheckpointWriteError: The disk refuses; what was there before is untouched.
        """
        if len(self) == 1:
            self.only.save(path)
        else:
            Actor.from_policy(self).save(path)

    def __getitem__(self, name: str) -> LoadedPolicy:
        if name not in self._policies:
            raise UnknownNameError(
                f"there is no policy {name!r}",
                expected=", ".join(map(repr, self._policies)) or "none: there is no policy",
            )
        return self._policies[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._policies)

    def __len__(self) -> int:
        return len(self._policies)

    def __contains__(self, name: object) -> bool:
        return name in self._policies

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self._policies.values())) or ", ".join(self.parts)
        return visible(f"<LoadedPolicies {shown}>")

    def _repr_html_(self) -> str:
        """All policies for a notebook."""
        return "<br>".join(policy._repr_html_() for policy in self._policies.values())

    def __getstate__(self) -> dict[str, Any]:
        return {"natives": self.natives}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["natives"])  # type: ignore[misc]


@overload
def load(
    path: str | os.PathLike[str],
    policy: None = None,
    *,
    policy_mapping_fn: PolicyMapping = None,
    **options: Any,
) -> LoadedPolicies: ...
@overload
def load(
    path: str | os.PathLike[str],
    policy: str,
    *,
    policy_mapping_fn: PolicyMapping = None,
    **options: Any,
) -> LoadedPolicy: ...
def load(
    path: str | os.PathLike[str],
    policy: str | None = None,
    *,
    policy_mapping_fn: PolicyMapping = None,
    **options: Any,
) -> LoadedPolicies | LoadedPolicy:
    """Load what a checkpoint holds; nothing of it runs.

    Args:
        path: Whatever RLlib or rlconnect wrote: a checkpoint of either stack or of a part of one, a
            trial's folder, what `migrate`, `adapt`, `export` or an actor wrote, an archive of one
            (`.zip`, `.tgz`), or a URL (`s3://...`, `hf://...`; with the `remote` extra).
        policy: Only the policy or module of this id.
        policy_mapping_fn: Which policy plays an agent: a function or a dict, for checkpoints of
            several agents whose own mapping was code.
        **options: As for `Policy.from_checkpoint` or `RLModule.from_checkpoint`: `trust` for your
            own classes that it names. `allow_program=True` also loads an exported program (`.pt2`,
            `.onnx`), which is code: allow it only if you trust the source.

    Returns:
        The policies by id, `.only` for the only one; or that of the id asked for.

    Raises:
        CheckpointError: The checkpoint cannot be read.
        ProgramNotAllowedError: It is an exported program, and `allow_program` is not set.
        UnknownNameError: It holds nothing by that id.

    Example:
        >>> import rlconnect
        >>> policy = rlconnect.load("examples/checkpoints/ppo-cartpole-ray-2.60").only
        >>> policy.act([[0.1, 0.0, -0.1, 0.0]] * 3).shape
        (3,)
    """
    ids = None if policy is None else [policy]
    policies = LoadedPolicies(natives_in(path, ids, policy_mapping_fn=policy_mapping_fn, **options))
    return policies if policy is None else policies[policy]


def as_policies(source: Source, policy: str | None = None, **options: Any) -> LoadedPolicies:
    """Anything that acts, as a user holds it.

    That is a path or URL, what `load` gave, a `Policy`, a `V2Triple` or its three parts, a mapping
    of such by id, an `Actor`, or a migration's plan. Options are those of `load`, for a path.
    """
    if isinstance(source, LoadedPolicies) and policy is None and not options:
        return source
    return LoadedPolicies(natives_of(source, policy, **options))
