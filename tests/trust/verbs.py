"""Every public function that is given a path or a checkpoint, found by its signature."""

import inspect
from importlib import import_module

PACKAGES = (
    "rlconnect",
    "rlconnect.bridge",
    "rlconnect.legacy",
    "rlconnect.offline",
    "rlconnect.serve",
    "rlconnect.v2",
)
_NAMES = ("path", "checkpoint", "source", "path_or_policy", "a")  # where any type is taken
_TYPES = ("PathLike", "Source", "Paths", "Student")


def verbs():
    """Functions and class methods by name: all whose first argument may be a path."""
    found = {}
    for package in PACKAGES:
        module = import_module(package)
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isfunction(thing):
                candidates = {name: thing}
            elif inspect.isclass(thing):
                candidates = {
                    f"{name}.{method}": getattr(thing, method)
                    for method in dir(thing)
                    if not method.startswith("_")
                    and isinstance(inspect.getattr_static(thing, method), classmethod)
                }
            else:
                continue
            for label, verb in candidates.items():
                if _takes_a_path(verb):
                    code = getattr(verb, "__func__", verb)
                    found.setdefault(code, (f"{package}.{label}", verb))
    return dict(found.values())


def _takes_a_path(verb):
    first = next(iter(inspect.signature(verb).parameters.values()), None)
    if first is None:
        return False
    is_any = first.name in _NAMES and first.annotation == "Any"
    return is_any or any(word in str(first.annotation) for word in _TYPES)


def arguments(verb, garbage, out):
    """Positional arguments: garbage, and something for everything else that is required."""
    others = {"out": out, "path": out, "env": "CartPole-v1", "repo": "a/b", "episodes": ()}
    filled = [garbage]
    for parameter in list(inspect.signature(verb).parameters.values())[1:]:
        is_positional = parameter.kind in (
            parameter.POSITIONAL_ONLY,
            parameter.POSITIONAL_OR_KEYWORD,
        )
        if is_positional and parameter.default is parameter.empty:
            filled.append(others.get(parameter.name, garbage))
    return filled
