"""Callbacks: who is called, in which order, and who is not."""

import inspect

from rlconnect.v2 import DefaultCallbacks, PPOConfig, RLlibCallback, make_callback
from rlconnect.v2.config.callbacks import HOOKS, overridden_hooks


class _Ends(RLlibCallback):
    def __init__(self):
        self.seen = []

    def on_episode_end(self, *, episode, **kwargs):
        self.seen.append(episode)


def test_every_hook_takes_keywords_and_does_nothing():
    """An untouched hook can be called with whatever there is, and gives nothing back."""
    given = {
        parameter: None
        for hook in HOOKS
        for parameter in inspect.signature(getattr(RLlibCallback(), hook)).parameters
    }

    assert {getattr(RLlibCallback(), hook)(**given) for hook in HOOKS} == {None}


def test_only_what_somebody_fills_is_found():
    """Hooks that nobody overrides do not appear; a config's functions come after objects."""
    ends, order = _Ends(), []
    config = PPOConfig().callbacks(
        on_episode_end=[lambda **kw: order.append("f"), lambda **kw: order.append("g")],
        on_sample_end=lambda **kw: order.append("h"),
    )

    found = overridden_hooks([ends, RLlibCallback()], config)

    assert sorted(found) == ["on_episode_end", "on_sample_end"]
    for hook in found["on_episode_end"]:
        hook(episode=1)
    assert (ends.seen, order) == ([1], ["f", "g"])


def test_make_callback_calls_objects_then_functions():
    """One or several of each; an object without the hook is passed over."""
    order = []

    class Named(DefaultCallbacks):
        def on_sample_end(self, *, samples, **kwargs):
            order.append(("object", samples))

    make_callback(
        "on_sample_end",
        [Named(), object()],
        lambda samples: order.append(("function", samples)),
        kwargs={"samples": 3},
    )
    make_callback("on_sample_end")

    assert order == [("object", 3), ("function", 3)]


def test_callbacks_of_a_config():
    """One class, several, or functions by hook are kept as RLlib keeps them."""
    config = PPOConfig()

    assert config.callbacks_class is RLlibCallback
    assert config.callbacks(_Ends).callbacks_class is _Ends
    assert config.callbacks([_Ends, _Ends]).callbacks_class == [_Ends, _Ends]
    assert config.callbacks(on_train_result=print).callbacks_on_train_result is print
