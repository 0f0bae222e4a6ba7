"""Which of a user's hooks are called, and in which order."""

from types import SimpleNamespace

from rlconnect.v2 import RLlibCallback
from rlconnect.v2.env_runners.callback_hooks import CallbackHooks, callback_objects


def writing(text, told):
    """A callback class that writes down that it was called."""

    class Writing(RLlibCallback):
        def on_sample_end(self, *, samples, **kwargs):
            told.append((text, samples))

    return Writing


def test_objects_come_before_functions():
    """Several classes and several functions are called in the order they were given."""
    told = []
    config = SimpleNamespace(
        callbacks_class=[writing("a", told), writing("b", told)],
        callbacks_on_sample_end=[
            lambda samples, **kwargs: told.append(("c", samples)),
            lambda samples, **kwargs: told.append(("d", samples)),
        ],
    )
    hooks = CallbackHooks(callback_objects(config), config)
    hooks.call("on_sample_end", samples=1, env_runner=None)
    assert told == [("a", 1), ("b", 1), ("c", 1), ("d", 1)]


def test_hooks_nobody_filled_cost_nothing():
    """The empty hooks of the base class are not even called."""
    config = SimpleNamespace(callbacks_class=writing("a", []), callbacks_on_episode_end=None)
    hooks = CallbackHooks(callback_objects(config), config)
    assert hooks.of("on_episode_end") == []
    assert len(hooks.of("on_sample_end")) == 1


def test_one_function_needs_no_list():
    """A config may hold a function as it is."""
    told = []
    config = SimpleNamespace(callbacks_class=RLlibCallback, callbacks_on_episode_end=told.append)
    (listener,) = CallbackHooks(callback_objects(config), config).of("on_episode_end")
    listener("x")
    assert told == ["x"]
