"""Gradients cut to size, and weights drawn towards others; tensors in, tensors out, in place.

Nothing here imports torch: what is passed in brings its own methods.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from typing import Any

from ..errors import ConfigError
from ..importing.torch_needed import torch_needed


def compute_global_norm(gradients_list: Iterable[Any]) -> Any:
    """The Euclidean norm of all gradients taken as one long vector; Nones are left out.

    Example:
        >>> import torch
        >>> compute_global_norm([torch.tensor([3.0, 4.0]), None, torch.tensor([12.0])])
        tensor(13.)
    """
    with torch_needed("the norm of gradients"):
        import torch

    gradients = [gradient for gradient in gradients_list if gradient is not None]
    if not gradients:
        return torch.tensor(0.0)
    with torch.no_grad():
        is_plain = all(gradient.layout is torch.strided for gradient in gradients)
        norms = torch._foreach_norm(gradients) if is_plain else [g.norm() for g in gradients]
        if len({norm.device for norm in norms}) > 1:
            norms = [norm.to(norms[0].device) for norm in norms]
        return torch.linalg.vector_norm(torch.stack(tuple(norms)))


def global_norm(tensors: Iterable[Any]) -> Any:
    """The Euclidean norm of all tensors taken as one long vector."""
    return compute_global_norm(tensors)


def clip_gradients(
    gradients_dict: MutableMapping[Any, Any],
    *,
    grad_clip: float | None = None,
    grad_clip_by: str = "value",
) -> Any:
    """Cut gradients down to `grad_clip`, in place; Nones stay.

    "value" bounds each number, "norm" each gradient's norm, "global_norm" the norm of all together,
    which is given back as it was before.

    Raises:
        ConfigError: `grad_clip_by` says something else.

    Example:
        >>> import torch
        >>> gradients = {"w": torch.tensor([3.0, -4.0])}
        >>> clip_gradients(gradients, grad_clip=1.0)
        >>> gradients
        {'w': tensor([ 1., -1.])}
    """
    if grad_clip is None:
        return None
    if grad_clip_by not in ("value", "norm", "global_norm"):
        raise ConfigError(
            "gradients cannot be clipped by that",
            expected="grad_clip_by 'value', 'norm' or 'global_norm'",
            found=repr(grad_clip_by),
        )
    if grad_clip_by == "value":
        for name, gradient in gradients_dict.items():
            if gradient is not None:
                gradients_dict[name] = gradient.clamp(-grad_clip, grad_clip)
        return None
    if grad_clip_by == "norm":
        for gradient in gradients_dict.values():
            if gradient is not None:
                _scale_down([gradient], gradient.norm(), grad_clip)
        return None
    gradients = [gradient for gradient in gradients_dict.values() if gradient is not None]
    total = compute_global_norm(gradients)
    _scale_down(gradients, total, grad_clip)
    return total


def update_target_network(main_net: Any, target_net: Any, tau: float) -> None:
    """Draw the weights of a target network towards those of the main one: `tau` of the way.

    Parameters are paired by name; those that only the target has stay.
    """
    with torch_needed("a target network"):
        import torch

    weights = dict(main_net.named_parameters())
    with torch.no_grad():
        for name, parameter in target_net.named_parameters():
            if name in weights:
                parameter.lerp_(weights[name].detach(), tau)


def _scale_down(gradients: list[Any], norm: Any, bound: float) -> None:
    if norm.device.type == "cpu" and norm.item() < 0.999 * bound:
        return  # Where nothing has to wait for the answer.
    import torch

    # The small number is Ray's: a norm of zero must not divide.
    scale = (bound / (norm + 1e-6)).clamp(max=1.0)
    is_plain = all(gradient.layout is torch.strided for gradient in gradients)
    if is_plain and all(gradient.device == scale.device for gradient in gradients):
        torch._foreach_mul_([*gradients], scale)
        return
    for gradient in gradients:
        gradient.mul_(scale.to(gradient.device))
