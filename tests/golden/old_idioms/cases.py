"""What old sources and their tests do with the old stack, on Ray and on rlconnect alike.

`run(L)` takes any object that has RLlib's names and returns {group: {case: plain data}}, as the
cases in `../old_names` do, which this goes on from.
"""

import runpy
from collections import OrderedDict
from pathlib import Path

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple

shared = runpy.run_path(str(Path(__file__).parents[1] / "old_names" / "cases.py"))
plain, refused = shared["plain"], shared["refused"]
A = np.array
F = np.float32
OBS = Box(-1, 1, (2,), F)
NESTED = Dict({"b": Discrete(3), "a": Tuple([Box(0, 1, (2,), F), MultiDiscrete([2, 2])])})


def tried(*calls):
    """The results of several calls, refusals among them."""
    made = []
    for call in calls:
        try:
            made.append(call())
        except Exception as error:
            made.append("refused" if error else "")
    return made


def raises(kind, call):
    """Whether a call raises an error of a kind."""
    try:
        call()
    except kind:
        return True
    return False


def context(L, obs=OBS, act=None, views=None, config=None, **more):
    """A context without a policy."""
    return L.ConnectorContext(
        {"model": {"max_seq_len": 20}, **(config or {})},
        more.pop("initial_states", []),
        obs,
        act if act is not None else Discrete(3),
        views or {},
        more.pop("is_policy_recurrent", False),
        **more,
    )


def agent_cases(L):
    """Name -> agent connectors by hand."""
    N = L.AgentConnectorDataType
    V = L.ViewRequirement

    def passed(connector, *datas):
        found = connector([N(0, 1, data) for data in datas])
        return [record.data for record in found]

    def clipped(*values, **options):
        one = L.ClipRewardAgentConnector(context(L), **options)
        return [passed(one, {"rewards": value})[0]["rewards"] for value in values]

    def preprocessed(space, *values, key="obs", **config):
        one = L.ObsPreprocessorConnector(context(L, space, config=config))
        return [passed(one, {key: value})[0][key] for value in values]

    def flattened():
        one = L.FlattenDataAgentConnector(context(L))
        batch = L.SampleBatch(
            {
                "new_obs": {"sensor1": A([[1, 1], [2, 2]]), "sensor2": A([[3, 3], [4, 4]])},
                "rewards": 5.8,
                "actions": A([1, 2]),
                "infos": {"random": "info"},
            }
        )
        made = one([N(0, 1, L.AgentConnectorsOutput({}, batch))])[0].data.sample_batch
        return {"keys": sorted(made), "obs": made["new_obs"], "rewards": made["rewards"]}

    def buffered():
        one = L.StateBufferConnector(context(L, act=Discrete(2)))
        one.in_eval()
        M = L.ActionConnectorDataType
        one.on_policy_output(M(0, 1, {}, (A([0, 0]), [[2], [3]], {"logits": A([0.5])})))
        one.on_policy_output(M(0, 2, {}, (A([1, 1]), [[4], [5]], {})))
        found = [passed(one, {"new_obs": A([0])})]
        one.reset(env_id=0)
        return [*found, passed(one, {"new_obs": A([0])})]

    def viewed(views, feed, count=4, *, config=None, obs=None, train=False, **more):
        one = L.ViewRequirementAgentConnector(
            context(
                L, Box(-9, 9, (1,), F) if obs is None else obs, views=views, config=config, **more
            )
        )
        if train:
            one.in_training()
        else:
            one.in_eval()
        made = []
        for t in range(count):
            out = one([N(0, 1, feed(t))])[0].data
            made.append([out.raw_dict, out.sample_batch])
        return made

    def step(t):
        data = {"new_obs": A([t * 1.0], F), "rewards": t * 2.0, "terminateds": False}
        return {**data, "truncateds": False, "infos": {"t": t}, "actions": A(t, np.int64)}

    small = Box(-9, 9, (1,), F)

    def subclassed():
        class Halve(L.AgentConnector):
            def __init__(self, ctx, by=2.0):
                super().__init__(ctx)
                self.by = by

            def transform(self, ac_data):
                ac_data.data["rewards"] /= self.by
                return ac_data

            def to_state(self):
                return Halve.__name__, {"by": self.by}

            @staticmethod
            def from_state(ctx, params):
                return Halve(ctx, **params)

        L.register_connector(Halve.__name__, Halve)
        one = Halve(context(L), 4.0)
        again = L.get_connector("Halve", context(L), one.to_state()[1])
        pipe = L.AgentConnectorPipeline(context(L), [one, again])
        back = L.AgentConnectorPipeline.from_state(context(L), pipe.to_state()[1])
        return [
            again.by,
            passed(pipe, {"rewards": 32.0}),
            passed(back, {"rewards": 32.0}, {"rewards": 16.0}),
            plain(pipe.to_state()),
            str(back).splitlines(),
        ]

    def dropping():
        class OnlyFirst(L.AgentConnector):
            def __call__(self, acd_list):
                return acd_list[:1]

        pipe = L.AgentConnectorPipeline(context(L), [OnlyFirst(context(L))])
        return passed(pipe, {"a": 1}, {"a": 2})

    def called():
        log = []

        class Spy(L.AgentConnector):
            def reset(self, env_id):
                log.append(("reset", env_id))

            def on_policy_output(self, output):
                log.append(("out", output.env_id, output.agent_id))

            def in_training(self):
                super().in_training()
                log.append("train")

            def in_eval(self):
                super().in_eval()
                log.append("eval")

            def transform(self, ac_data):
                log.append(self._is_training)
                return ac_data

        pipe = L.AgentConnectorPipeline(context(L), [Spy(context(L)), Spy(context(L))])
        pipe.in_eval()
        pipe([N(0, 1, {})])
        pipe.in_training()
        pipe([N(0, 1, {})])
        pipe.reset("e")
        pipe.on_policy_output(L.ActionConnectorDataType("e", 3, {}, (0, [], {})))
        return log

    def lambda_made():
        cls = L.register_lambda_agent_connector(
            "PlusOne", lambda d: {k: v + 1 for k, v in d.items()}
        )
        one = cls(context(L))
        name, params = one.to_state()
        again = L.get_connector(name, context(L), params)
        return [name, params, passed(one, {"a": 1}), passed(again, {"a": 1}), str(one)]

    def kept_env_ids():
        one = L.ClipRewardAgentConnector(context(L), sign=True)
        found = one([N("e", "x", {"rewards": 3}), N("f", "y", {"rewards": -3})])
        return [[r.env_id, r.agent_id, r.data] for r in found]

    def filtered(training, **options):
        ctx = context(L, Box(-9, 9, (2,), F))
        one = L.MeanStdObservationFilterAgentConnector(ctx, clip=None, **options)
        one.in_training() if training else one.in_eval()
        values = [passed(one, {"obs": A([v, -v], F)})[0]["obs"] for v in (1.0, 2.0, 4.0)]
        name, params = one.to_state()
        again = L.get_connector(name, ctx, params)
        again.in_eval()
        return [values, name, passed(again, {"obs": A([3.0, 1.0], F)})]

    return {
        "clip limit": lambda: clipped(5.8, -5.8, 0.25, limit=2.0),
        "clip sign": lambda: clipped(5.8, -5.8, 0.0, sign=True),
        "clip nothing": lambda: clipped(5.8, -7.0),
        "clip arrays": lambda: clipped(A([3.0, -3.0]), A(2), limit=1.0),
        "clip sign int": lambda: clipped(5, -5, 0, sign=True),
        "clip missing": lambda: passed(L.ClipRewardAgentConnector(context(L), limit=1.0), {"a": 1}),
        "clip both": lambda: (
            refused(lambda: L.ClipRewardAgentConnector(context(L), sign=True, limit=1.0))
            != "nothing raised"
        ),
        "clip text": lambda: [
            str(L.ClipRewardAgentConnector(context(L), sign=True)),
            str(L.ClipRewardAgentConnector(context(L), limit=1.0)),
        ],
        "kept ids": kept_env_ids,
        "preprocess discrete": lambda: preprocessed(Discrete(5), 1, 4),
        "preprocess new_obs": lambda: preprocessed(Discrete(5), 1, key="new_obs"),
        "preprocess multi": lambda: preprocessed(MultiDiscrete([2, 3]), A([1, 2])),
        "preprocess box": lambda: preprocessed(OBS, A([0.5, -0.5], F)),
        "preprocess dict": lambda: preprocessed(
            Dict({"a": Box(0, 1, (1,), F), "b": Discrete(3)}), {"b": 2, "a": A([0.5], F)}
        ),
        "preprocess tuple": lambda: preprocessed(
            Tuple([Discrete(2), Box(0, 1, (2,), F)]), (1, A([0.5, 0.25], F))
        ),
        "preprocess identity": lambda: [
            L.ObsPreprocessorConnector(context(L, s)).is_identity()
            for s in (OBS, Discrete(2), MultiBinary(2))
        ],
        "preprocess absent": lambda: passed(
            L.ObsPreprocessorConnector(context(L, Discrete(2))), {"rewards": 1.0}
        ),
        "flattened": flattened,
        "buffered": buffered,
        "lambda": lambda_made,
        "subclassed": subclassed,
        "dropping": dropping,
        "called": called,
        "filtered": lambda: filtered(True),
        "filtered not training": lambda: filtered(False),
        "filtered mean only": lambda: filtered(True, destd=False),
        "filtered std only": lambda: filtered(True, demean=False),
        "not a list": lambda: (
            refused(lambda: L.ClipRewardAgentConnector(context(L), sign=True)(N(0, 1, {})))
            != "nothing raised"
        ),
        "view plain": lambda: viewed({"obs": V("obs", space=small)}, step),
        "view previous obs": lambda: viewed(
            {"obs": V("obs", space=small), "prev_obs": V("obs", shift=-1, space=small)}, step
        ),
        "view two back": lambda: viewed({"x": V("obs", shift=-2, space=small)}, step),
        "view range": lambda: viewed({"x": V("obs", shift="-3:-1", space=small)}, step, 5),
        "view range now": lambda: viewed({"x": V("obs", shift="-2:0", space=small)}, step, 5),
        "view list": lambda: viewed({"x": V("obs", shift=[-3, 0], space=small)}, step, 5),
        "view previous reward": lambda: viewed(
            {
                "obs": V("obs", space=small),
                "prev_rewards": V("rewards", shift=-1),
                "prev_actions": V("actions", shift=-1, space=Discrete(9)),
                "actions": V("actions", space=Discrete(9), used_for_compute_actions=False),
                "rewards": V("rewards", used_for_compute_actions=False),
            },
            step,
        ),
        "view previous of all": lambda: viewed(
            {
                "obs": V("obs", space=small),
                "prev_obs": V("obs", shift="-2:-1", space=small),
                "prev_actions": V("actions", shift=-1, space=Discrete(9)),
                "actions": V("actions", space=Discrete(9), used_for_compute_actions=False),
            },
            step,
        ),
        "view previous rewards": lambda: viewed(
            {"obs": V("obs", space=small), "r": V("rewards", shift="-2:-1")}, step
        ),
        "view not for acting": lambda: viewed(
            {
                "obs": V("obs", space=small),
                "next": V("obs", shift=1, space=small, used_for_compute_actions=False),
                "rewards": V("rewards", used_for_compute_actions=False),
            },
            step,
        ),
        "view training": lambda: viewed(
            {"obs": V("obs", space=small), "rewards": V("rewards")}, step, train=True
        ),
        "view infos": lambda: viewed({"obs": V("obs", space=small), "infos": V("infos")}, step, 2),
        "view states": lambda: viewed(
            {
                "obs": V("obs", space=small),
                "state_in_0": V("state_out_0", shift=-1, space=small),
                "state_out_0": V(space=small, used_for_compute_actions=False),
            },
            lambda t: {**step(t), "state_out_0": A([t * 10.0], F)},
            initial_states=[A([7.0], F)],
            is_policy_recurrent=True,
        ),
        "view memory": lambda: viewed(
            {
                "obs": V("obs", space=small),
                "state_in_0": V("state_out_0", shift="-3:-1", space=small),
                "state_out_0": V(space=small, used_for_compute_actions=False),
            },
            lambda t: {**step(t), "state_out_0": A([t * 10.0], F)},
            5,
            initial_states=[A([7.0], F)],
            is_policy_recurrent=True,
        ),
        "view nested actions": lambda: viewed(
            {
                "obs": V("obs", space=small),
                "prev_actions": V("actions", shift=-1, space=Tuple([Discrete(2), OBS])),
                "actions": V(space=Tuple([Discrete(2), OBS]), used_for_compute_actions=False),
            },
            lambda t: {**step(t), "actions": (A(t % 2), A([t, -t], F))},
            act=Tuple([Discrete(2), OBS]),
        ),
        "view agents": lambda: (
            lambda one: [
                [r.data.sample_batch for r in one([N(0, a, step(t)) for a in (1, "x")])]
                for t in range(3)
            ]
        )(
            L.ViewRequirementAgentConnector(
                context(L, small, views={"x": V("obs", shift="-1:0", space=small)})
            )
        ),
        "view reset": lambda: (
            lambda one: [
                one([N(0, 1, step(3))])[0].data.sample_batch,
                one([N(0, 1, step(4))])[0].data.sample_batch,
                one.reset(0),
                one([N(0, 1, step(5))])[0].data.sample_batch,
            ]
        )(
            L.ViewRequirementAgentConnector(
                context(L, small, views={"x": V("obs", shift="-1:0", space=small)})
            )
        ),
        "view without obs": lambda: refused(
            lambda: viewed({"obs": V("obs", space=small)}, lambda t: {"rewards": 1.0}, 1)
        ),
        "context": lambda: (
            lambda c: [c.config, c.initial_states, c.is_policy_recurrent, c.view_requirements]
        )(L.ConnectorContext()),
    }


def action_cases(L):
    """Name -> action connectors by hand."""
    M = L.ActionConnectorDataType
    torch, _ = L.try_import_torch()

    def passed(connector, actions, states=(), fetches=None):
        return list(connector(M(0, 1, {}, (actions, list(states), fetches or {}))).output)

    box = Box(A([-2, 0], F), A([3, 1], F))

    def of(kind, space):
        return kind(context(L, act=space))

    def immutable(actions):
        made = passed(of(L.ImmutableActionsConnector, Discrete(2)), actions)[0]
        flags = getattr(made, "flags", None)
        return [type(made).__name__ if flags is None else None, flags and flags.writeable]

    def subclassed():
        class Double(L.ActionConnector):
            def transform(self, ac_data):
                actions, states, fetches = ac_data.output
                return L.ActionConnectorDataType(
                    ac_data.env_id,
                    ac_data.agent_id,
                    ac_data.input_dict,
                    (actions * 2, states, fetches),
                )

            def to_state(self):
                return "Double", None

            @staticmethod
            def from_state(ctx, params):
                return Double(ctx)

        L.register_connector("Double", Double)
        pipe = L.ActionConnectorPipeline(context(L), [Double(context(L))])
        pipe.append(Double(context(L)))
        name, state = pipe.to_state()
        again = L.get_connector(name, context(L), list(state))
        pipe.in_eval()
        return [name, plain(state), passed(pipe, 3), passed(again, 3), str(again).splitlines()]

    def lambda_made():
        cls = L.register_lambda_action_connector(
            "CarryOn", lambda a, s, f: (a + 1, s, {**f, "x": 1})
        )
        one = cls(context(L))
        name, params = one.to_state()
        return [name, params, passed(one, 1), passed(L.get_connector(name, context(L), params), 2)]

    clip, stretch = L.ClipActionsConnector, L.NormalizeActionsConnector
    return {
        "to numpy": lambda: passed(
            of(L.ConvertToNumpyConnector, Discrete(2)),
            torch.tensor([8, 9]),
            [torch.tensor([[1.0, 2.0]])],
            {"f": torch.tensor([3.0])},
        ),
        "to numpy nested": lambda: passed(
            of(L.ConvertToNumpyConnector, Discrete(2)),
            {"a": torch.tensor([1.0]), "b": (torch.tensor(2), A([3.0], F))},
        ),
        "clip": lambda: passed(of(clip, box), A([8.8, -4.0], F)),
        "clip batch": lambda: passed(of(clip, box), A([[8.8, -4.0], [0.0, 0.5]], F)),
        "clip discrete": lambda: passed(of(clip, Discrete(3)), A(7)),
        "clip nested": lambda: passed(
            of(clip, Dict({"a": box, "d": Discrete(2)})), {"a": A([-9.0, 9.0], F), "d": 1}
        ),
        "clip tuple": lambda: passed(of(clip, Tuple([box, Discrete(2)])), (A([-9.0, 9.0], F), 1)),
        "unsquash": lambda: passed(of(stretch, box), A([1.0, -0.5], F)),
        "unsquash beyond": lambda: passed(of(stretch, box), A([3.0, -3.0], F)),
        "unsquash unbounded": lambda: passed(of(stretch, Box(-np.inf, 1, (1,))), A([0.5], F)),
        "unsquash integers": lambda: passed(of(stretch, Box(2, 6, (2,), np.int32)), A([0, 3])),
        "unsquash nested": lambda: passed(
            of(stretch, Dict({"a": box, "d": Discrete(2)})), {"a": A([0.5, 0.0], F), "d": 1}
        ),
        "immutable": lambda: [
            immutable(A([1, 2])),
            immutable({"a": A([1])})[1],
            immutable((A([1]), A([2])))[1],
        ],
        "immutable leaves": lambda: [
            leaf.flags.writeable
            for leaf in passed(of(L.ImmutableActionsConnector, Discrete(2)), (A([1]), A([2])))[0]
        ],
        "immutable one": lambda: [
            L.make_action_immutable(A([1.0])).flags.writeable,
            type(L.make_action_immutable({"a": 1})).__name__,
            L.make_action_immutable(3),
        ],
        "subclassed": subclassed,
        "lambda": lambda_made,
        "states": lambda: [
            of(k, box).to_state() for k in (clip, stretch, L.ConvertToNumpyConnector)
        ],
    }


def pipeline_cases(L):
    """Name -> edits of pipelines."""

    def kind(name, base):
        return type(name, (base,), {"to_state": lambda self: (name, None)})

    names = ("One", "Two", "Three", "Four")
    kinds = {n: kind(n, L.AgentConnector) for n in names}

    def made(*chosen):
        ctx = context(L)
        return L.AgentConnectorPipeline(ctx, [kinds[n](ctx) for n in chosen])

    def listed(pipe):
        return [type(c).__name__ for c in pipe.connectors]

    def edited(edit, *chosen):
        pipe = made(*(chosen or ("One", "Two", "Three")))
        edit(pipe)
        return listed(pipe)

    new = lambda: kinds["Four"](context(L))  # noqa: E731
    return {
        "remove": lambda: edited(lambda p: p.remove("Two")),
        "remove first of two": lambda: edited(lambda p: p.remove("Two"), "Two", "One", "Two"),
        "insert before": lambda: edited(lambda p: p.insert_before("Two", new())),
        "insert after": lambda: edited(lambda p: p.insert_after("Two", new())),
        "insert after last": lambda: edited(lambda p: p.insert_after("Three", new())),
        "insert before first": lambda: edited(lambda p: p.insert_before("One", new())),
        "insert into empty": lambda: refused(
            lambda: L.AgentConnectorPipeline(context(L), []).insert_before("X", new())
        ),
        "append": lambda: edited(lambda p: p.append(new())),
        "prepend": lambda: edited(lambda p: p.prepend(new())),
        "by number": lambda: [type(c).__name__ for c in made("One", "Two")[1]],
        "by name": lambda: [type(c).__name__ for c in made("One", "Two", "One")["One"]],
        "by class": lambda: [type(c).__name__ for c in made("One", "Two")[kinds["Two"]]],
        "by missing name": lambda: made("One")["Nope"],
        "by base": lambda: [type(c).__name__ for c in made("One", "Two")[L.AgentConnector]],
        "by slice": lambda: raises(NotImplementedError, lambda: made("One", "Two")[0:1]),
        "text": lambda: str(made("One", "Two")),
        "nested text": lambda: str(
            L.AgentConnectorPipeline(context(L), [made("One"), kinds["Two"](context(L))])
        ),
        "state": lambda: plain(made("One", "Two").to_state()),
        "nested state": lambda: plain(
            L.AgentConnectorPipeline(context(L), [made("One"), made("Two")]).to_state()
        ),
        "list itself": lambda: (lambda p: [p.connectors.pop(0) and 1, listed(p)])(
            made("One", "Two")
        ),
        "register wrong": lambda: raises(
            TypeError, lambda: L.register_connector("NoConnector", dict)
        ),
        "unknown": lambda: raises(
            NameError, lambda: L.get_connector("SurelyNot", context(L), None)
        ),
    }


def collector_cases(L):
    """Name -> agent collectors as their own tests use them."""
    V = L.ViewRequirement
    S = Box(-99, 99, (1,), F)

    def fed(views, steps, init=0.0, extra=lambda t: {}, **options):
        one = L.AgentCollector(view_reqs=views, **options)
        one.add_init_obs(episode_id=0, agent_index=1, env_id=0, init_obs=A([init], F), t=-1)
        for t in range(steps):
            one.add_action_reward_next_obs(
                {
                    "t": t,
                    "env_id": 0,
                    "agent_index": 1,
                    "actions": A(t),
                    "rewards": float(t),
                    "terminateds": False,
                    "truncateds": False,
                    "new_obs": A([t + 1.0], F),
                    **extra(t),
                }
            )
        return one

    def trained(views, steps=4, **options):
        return fed(views, steps, **options).build_for_training(views)

    def each_step(views, steps=4, **options):
        return [
            fed(views, n, is_training=False, **options).build_for_inference() for n in range(steps)
        ]

    both = lambda: {"obs": V("obs", space=S), "prev_obs": V("obs", shift=-1, space=S)}  # noqa: E731
    state = lambda: {  # noqa: E731
        "obs": V("obs", space=S),
        "state_in_0": V("state_out_0", shift=-1, space=S),
        "state_out_0": V(space=S, used_for_compute_actions=False),
    }
    memory = lambda repeat: {  # noqa: E731
        "obs": V("obs", space=S),
        "state_in_0": V("state_out_0", shift="-3:-1", space=S, batch_repeat_value=repeat),
        "state_out_0": V(space=S, used_for_compute_actions=False),
    }
    outs = lambda t: {"state_out_0": A([t + 0.5], F)}  # noqa: E731
    recurrent = {"intial_states": [A([9.0], F)], "is_policy_recurrent": True, "extra": outs}
    again = lambda views: (lambda one: [one.build_for_training(views), one.agent_steps])(  # noqa: E731
        fed(views, 3)
    )

    def continued():
        views = both()
        one = fed(views, 3)
        first = one.build_for_training(views)
        for t in range(3, 5):
            one.add_action_reward_next_obs(
                {
                    "t": t,
                    "env_id": 0,
                    "agent_index": 1,
                    "actions": A(t),
                    "rewards": float(t),
                    "terminateds": False,
                    "truncateds": False,
                    "new_obs": A([t + 1.0], F),
                }
            )
        return [first, one.agent_steps, one.build_for_training(views), one.agent_steps]

    return {
        "obs": lambda: trained({"obs": V("obs", space=S), "new_obs": V("obs", shift=1, space=S)}),
        "previous obs": lambda: trained(both()),
        "previous obs acted": lambda: each_step(both()),
        "range": lambda: trained({"x": V("obs", shift="-2:0", space=S)}),
        "range acted": lambda: each_step({"x": V("obs", shift="-2:0", space=S)}),
        "range with steps": lambda: trained({"x": V("obs", shift="-4:0:2", space=S)}, 6),
        "two shifts": lambda: trained({"x": V("obs", shift=[-1, 1], space=S)}),
        "shift far": lambda: trained({"x": V("obs", shift=-3, space=S)}),
        "future": lambda: trained(
            {"x": V("obs", shift=2, space=S, used_for_compute_actions=False)}
        ),
        "future rewards": lambda: trained(
            {"x": V("rewards", shift=[0, 1, 2], used_for_compute_actions=False)}
        ),
        "repeat 1": lambda: trained(memory(1), 6, max_seq_len=3, **recurrent),
        "repeat 3": lambda: trained(memory(3), 6, max_seq_len=3, **recurrent),
        "repeat 3 uneven": lambda: trained(memory(3), 7, max_seq_len=3, **recurrent),
        "state": lambda: trained(state(), 5, max_seq_len=2, **recurrent),
        "state acted": lambda: each_step(state(), 3, max_seq_len=2, **recurrent),
        "memory acted": lambda: each_step(memory(1), 4, max_seq_len=3, **recurrent),
        "steps counted": lambda: again(both()),
        "continued": continued,
        "unused": lambda: [
            sorted(
                fed(
                    {
                        "obs": V("obs", space=S, used_for_compute_actions=False),
                        "rewards": V("rewards", used_for_training=False),
                        "actions": V("actions", space=Discrete(9)),
                    },
                    2,
                    is_training=False,
                ).build_for_inference()
            )
        ],
        "unused trained": lambda: sorted(
            trained(
                {
                    "obs": V("obs", space=S, used_for_compute_actions=False),
                    "rewards": V("rewards", used_for_training=False),
                    "actions": V("actions", space=Discrete(9)),
                }
            )
        ),
        "unknown column": lambda: sorted(trained({"obs": V("obs", space=S), "zz": V("zz")})),
        "unknown column acted": lambda: each_step(
            {"obs": V("obs", space=S), "zz": V("zz", space=S)}, 2
        ),
        "empty": lambda: [
            L.AgentCollector(view_reqs=both()).is_empty(),
            fed(both(), 0).is_empty(),
            fed(both(), 0).agent_steps,
            fed(both(), 2, is_training=False).agent_steps,
        ],
        "training flag": lambda: (lambda one: [one.training, one.is_training(False), one.training])(
            L.AgentCollector(view_reqs=both())
        ),
        "episode": lambda: [fed(both(), 1).episode_id],
        "dtypes": lambda: [
            {
                k: str(A(v).dtype)
                for k, v in trained(
                    {
                        "obs": V("obs", space=S),
                        "actions": V("actions", space=Discrete(9)),
                        "rewards": V("rewards"),
                        "terminateds": V("terminateds"),
                        "t": V("t"),
                        "eps_id": V("eps_id"),
                        "agent_index": V("agent_index"),
                    }
                ).items()
            }
        ],
        "nested obs": lambda: (
            lambda one: [
                one.add_init_obs(0, 0, 0, {"a": A([1.0], F), "b": A(2)}),
                one.build_for_inference(),
            ]
        )(
            L.AgentCollector(
                view_reqs={"obs": V("obs", shift="-1:0", space=Dict({"a": S, "b": Discrete(3)}))},
                is_training=False,
            )
        )[1],
    }


def batch_cases(L):
    """Name -> SampleBatches, as their tests use them."""
    SB = L.SampleBatch

    def seqs(**more):
        return SB(
            {
                "a": np.arange(1, 7),
                "b": {"c": np.arange(6) * 10.0},
                "state_in_0": np.arange(3) * 1.0,
                "seq_lens": A([1, 2, 3]),
                **more,
            }
        )

    def sliced(*slices):
        return [seqs()[s] for s in slices]

    S = slice

    class Mine(SB):
        pass

    def in_place():
        one = SB({"a": A([1, 2, 3])})
        one["a"][1] = 9
        one["b"] = one["a"] + 1
        one.update({"a": A([0, 0, 0])})
        return [one, "b" in one, len(one), next(iter(one.items()))[0]]

    def terminal(terminated, truncated):
        return SB(
            {
                "obs": np.arange(4),
                "terminateds": A(terminated, bool),
                "truncateds": A(truncated, bool),
                "eps_id": A([1, 1, 2, 2]),
            }
        )

    def intercept():
        one = SB({"a": [A([1.0]), A([2.0])], "b": A([3.0])})
        one.set_get_interceptor(lambda v: v * 2 if isinstance(v, np.ndarray) else v)
        return [one["b"], one["b"], dict.__getitem__(one, "b")]

    return {
        "sequence slices": lambda: sliced(S(0, 1), S(1, 3), S(0, 3), S(1, None)),
        "sequence slice inside": lambda: sliced(S(0, 2), S(2, 5)),
        "sequence slice ends": lambda: sliced(S(None, -1), S(3, None)),
        "sequence length": lambda: [len(seqs()), seqs().count, seqs().max_seq_len],
        "right pad": lambda: seqs().copy().right_zero_pad(max_seq_len=4),
        "right pad nested": lambda: SB(
            {"a": {"x": np.arange(3), "y": (np.arange(3) * 2.0,)}, "seq_lens": A([1, 2])}
        ).right_zero_pad(2),
        "right pad not states": lambda: seqs().right_zero_pad(3, exclude_states=True),
        "right pad twice": lambda: (lambda one: [one.right_zero_pad(3), one.zero_padded])(seqs()),
        "padded slices": lambda: [
            seqs().right_zero_pad(3)[0:3],
            seqs().right_zero_pad(3)[3:9].count,
        ],
        "concat sequences": lambda: L.concat_samples([seqs(), seqs()]),
        "concat two": lambda: SB({"a": A([1])}).concat(SB({"a": A([2, 3])})),
        "concat one": lambda: L.concat_samples([SB({"a": A([1])})]),
        "concat none": lambda: len(L.concat_samples([])),
        "concat empty": lambda: L.concat_samples([SB({}), SB({"a": A([2, 3])})]),
        "concat infos": lambda: L.concat_samples(
            [SB({"a": A([1]), "infos": A([{"x": 1}])}), SB({"a": A([2]), "infos": A([{"y": 1}])})]
        ),
        "concat dtypes": lambda: L.concat_samples(
            [SB({"a": A([1], np.int32)}), SB({"a": A([1.5], F)})]
        ),
        "concat multi": lambda: L.concat_samples(
            [SB({"a": A([1])}).as_multi_agent(), SB({"a": A([2])}).as_multi_agent()]
        ),
        "subclass": lambda: [
            type(Mine({"a": A([1])})).__name__,
            type(Mine({"a": A([1])}).copy()).__name__ in ("Mine", "SampleBatch"),
            Mine({"a": A([1, 2])})[0:1],
        ],
        "in place": in_place,
        "ended": lambda: [
            terminal([0, 0, 0, 1], [0] * 4).is_terminated_or_truncated(),
            terminal([0] * 4, [0, 0, 0, 1]).is_terminated_or_truncated(),
            terminal([0] * 4, [0] * 4).is_terminated_or_truncated(),
        ],
        "single": lambda: [
            terminal([0, 1, 0, 1], [0] * 4).is_single_trajectory(),
            terminal([0, 1, 0, 1], [0] * 4)[0:2].is_single_trajectory(),
            terminal([0, 1, 0, 1], [0] * 4)[1:3].is_single_trajectory(),
        ],
        "split": lambda: terminal([0, 1, 0, 1], [0] * 4).split_by_episode(),
        "split no ids": lambda: SB(
            {
                "a": np.arange(4),
                "terminateds": A([0, 1, 0, 0], bool),
                "truncateds": np.zeros(4, bool),
            }
        ).split_by_episode(),
        "timeslices": lambda: [
            [len(s) for s in SB({"a": np.arange(10)}).timeslices(num_slices=n)] for n in (1, 3, 5)
        ],
        "intercept": intercept,
        "rows": lambda: (
            [row["a"] for row in seqs().rows()]
            if 0
            else list(SB({"a": A([[1, 2], [3, 4]]), "b": A([5, 6])}).rows())
        ),
        "columns": lambda: SB({"a": A([1]), "b": A([2])}).columns(["a"]),
        "get": lambda: [SB({"a": A([1])}).get("a"), SB({"a": A([1])}).get("b", 2)],
        "names": lambda: [
            SB.OBS,
            SB.NEXT_OBS,
            SB.ACTIONS,
            SB.REWARDS,
            SB.TERMINATEDS,
            SB.TRUNCATEDS,
            SB.INFOS,
            SB.EPS_ID,
            SB.AGENT_INDEX,
            SB.UNROLL_ID,
            SB.T,
            SB.VF_PREDS,
            SB.ACTION_LOGP,
            SB.ACTION_PROB,
            SB.ACTION_DIST_INPUTS,
            SB.PREV_ACTIONS,
            SB.PREV_REWARDS,
            SB.SEQ_LENS,
            SB.CUR_OBS,
            SB.ENV_ID,
            SB.OBS_EMBEDS,
            SB.ATTENTION_MASKS,
            SB.VALUES_BOOTSTRAPPED,
            SB.RETURNS_TO_GO,
        ],
        "lists": lambda: SB({"a": [1, 2, 3], "b": [[1.0], [2.0], [3.0]]}),
        "scalars": lambda: SB({"a": 3, "b": 0.5}),
        "strings": lambda: plain(dict(SB({"a": A(["x", "y"]), "b": A([1, 2])}))),
        "bad lengths": lambda: len(SB({"a": A([1, 2]), "b": A([1, 2])})),
        "as tensors": lambda: (lambda b: [type(b).__name__, b["a"], b["n"]["x"]])(
            SB({"a": A([1.0], F), "n": {"x": A([2])}}).to_device("cpu", framework="torch")
        ),
        "env steps": lambda: [seqs().env_steps(), seqs().agent_steps()],
        "size": lambda: [SB({"a": np.zeros((3, 2), F), "b": {"c": np.zeros(3)}}).size_bytes()],
        "ma names": lambda: sorted(
            L.MultiAgentBatch({"p": SB({"a": A([1])}), "q": SB({"a": A([1, 2])})}, 2).policy_batches
        ),
        "ma subset": lambda: L.MultiAgentBatch(
            {"p": SB({"a": A([1])}), "q": SB({"a": A([1, 2])})}, 2
        )["q"],
        "ma concat": lambda: L.concat_samples(
            [
                L.MultiAgentBatch({"p": SB({"a": A([1])})}, 1),
                L.MultiAgentBatch({"q": SB({"a": A([1, 2])})}, 2),
            ]
        ),
        "ma env steps": lambda: L.MultiAgentBatch({"p": SB({"a": A([1])})}, 7).env_steps(),
    }


def sequence_cases(L):
    """Name -> chopping, padding, folding."""
    chop, SB = L.chop_into_sequences, L.SampleBatch

    def chopped(**more):
        options = {
            "feature_columns": [[[1], [2], [3], [4], [5], [6], [7]]],
            "state_columns": [[[10], [20], [30], [40], [50], [60], [70]]],
            "max_seq_len": 3,
            "episode_ids": [1, 1, 1, 1, 2, 2, 2],
            "agent_indices": [0, 0, 0, 0, 0, 0, 1],
            "unroll_ids": [0] * 7,
            **more,
        }
        return [
            np.asarray(p).tolist() if not isinstance(p, list) else plain(p) for p in chop(**options)
        ]

    def padded(**options):
        one = SB(
            {
                "obs": np.arange(7) * 1.0,
                "state_in_0": np.arange(7) * 10.0,
                "eps_id": A([0, 0, 0, 0, 1, 1, 1]),
                "unroll_id": A([0, 0, 0, 0, 1, 1, 1]),
                "agent_index": np.zeros(7, int),
            }
        )
        L.pad_batch_to_sequences_of_same_size(one, max_seq_len=3, **options)
        return one

    def unpadded():
        one = SB({"obs": np.arange(4), "eps_id": np.zeros(4, int)})
        L.pad_batch_to_sequences_of_same_size(one, max_seq_len=3)
        return one

    def folded():
        torch, _ = L.try_import_torch()
        fold, unfold = L.get_fold_unfold_fns(2, 3, "torch")
        x = {"a": torch.arange(12.0).reshape(2, 3, 2), "b": (torch.zeros(2, 3),)}
        return [list(fold(x)["a"].shape), list(fold(x)["b"][0].shape), unfold(fold(x))["a"]]

    return {
        "chop": chopped,
        "chop no states": lambda: chopped(state_columns=[]),
        "chop 1": lambda: chopped(max_seq_len=1),
        "chop long": lambda: chopped(max_seq_len=20),
        "chop long fixed": lambda: chopped(max_seq_len=5, dynamic_max=False),
        "chop lens": lambda: chopped(
            episode_ids=None,
            agent_indices=None,
            seq_lens=A([3, 3, 1]),
        ),
        "chop unroll": lambda: chopped(unroll_ids=[1, 1, 2, 2, 2, 2, 2]),
        "chop multi": lambda: chopped(
            feature_columns=[np.arange(7), {"x": np.arange(14).reshape(7, 2)}][:1]
        ),
        "chop nested states": lambda: chopped(handle_nested_data=True),
        "chop last": lambda: chopped(padding="last"),
        "pad": padded,
        "pad keys": lambda: padded(feature_keys=["obs"]),
        "pad stateless": unpadded,
        "pad last": lambda: padded(padding="last"),
        "fold": folded,
        "slices with overlap": lambda: [
            s["a"]
            for s in L.timeslice_along_seq_lens_with_overlap(
                SB({"a": np.arange(10), "eps_id": A([1] * 4 + [2] * 6), "seq_lens": A([4, 6])}),
                zero_pad_max_seq_len=3,
            )
        ],
        "slices overlapping": lambda: [
            s["a"]
            for s in L.timeslice_along_seq_lens_with_overlap(
                SB({"a": np.arange(1, 11), "eps_id": A([1] * 4 + [2] * 6), "seq_lens": A([4, 6])}),
                zero_pad_max_seq_len=4,
                pre_overlap=2,
                zero_init_states=True,
            )
        ],
    }


def filter_cases(L):
    """Name -> running statistics and filters."""

    def stat(values, shape=()):
        one = L.RunningStat(shape)
        for value in values:
            one.push(value)
        return one

    def summary(one):
        numbers = (one.mean, one.var, one.std)
        return [one.n, *(np.asarray(n, np.float64) for n in numbers), list(one.shape)]

    rng = np.random.default_rng(3)
    data = rng.normal(size=(9, 2))

    def merged(a, b):
        one, other = stat(data[:a], (2,)), stat(data[a : a + b], (2,))
        one.update(other)
        return summary(one)

    def filled(**options):
        one = L.MeanStdFilter((2,), **options)
        return one, [one(row) for row in data]

    def buffered():
        one, _ = filled()
        before = [one.running_stats.n, one.buffer.n]
        one.reset_buffer() if hasattr(one, "reset_buffer") else one.clear_buffer()
        twin = L.MeanStdFilter((2,))
        twin.apply_changes(one, with_buffer=False)
        return [before, [one.running_stats.n, one.buffer.n], [twin.running_stats.n, twin.buffer.n]]

    def synced():
        one, _ = filled()
        twin = L.MeanStdFilter((2,))
        twin.sync(one)
        copy = one.copy()
        one(data[0])
        flat = one.as_serializable()
        return [
            twin.running_stats.n,
            copy.running_stats.n,
            flat.running_stats.n,
            type(flat).__name__,
        ]

    def applied():
        one, _ = filled()
        twin = L.MeanStdFilter((2,))
        twin.apply_changes(one, with_buffer=True)
        return [twin.running_stats.n, twin.buffer.n, twin.running_stats.mean]

    def to_and_from():
        one, _ = filled(clip=5.0)
        again = L.RunningStat.from_state(one.running_stats.to_state())
        return summary(again)

    def nested():
        one = L.MeanStdFilter({"a": A((2,)), "b": A((1,))})
        out = [one({"a": A([v, -v]), "b": A([v * 2])}) for v in (1.0, 2.0, 3.0)]
        return out

    return {
        "stat none": lambda: summary(stat([])),
        "stat one": lambda: summary(stat([3.0])),
        "stat two": lambda: summary(stat([3.0, 5.0])),
        "stat vector": lambda: summary(stat(data, (2,))),
        "stat text": lambda: str(stat([1.0, 2.0]))[:35],
        "stat copy": lambda: (lambda one: [summary(one.copy()), summary(one)])(stat([1.0, 4.0])),
        "merge": lambda: merged(4, 5),
        "merge into empty": lambda: merged(0, 5),
        "merge empty": lambda: merged(4, 0),
        "merge one": lambda: merged(1, 1),
        "filter": lambda: filled()[1],
        "filter clipped": lambda: filled(clip=0.5)[1],
        "filter mean": lambda: filled(destd=False)[1],
        "filter std": lambda: filled(demean=False)[1],
        "filter frozen": lambda: (lambda f: [f(data[0], update=False), f.running_stats.n])(
            filled()[0]
        ),
        "filter nested": nested,
        "no filter": lambda: [L.NoFilter()(A([1.0])), L.NoFilter().copy() is not None],
        "buffered": buffered,
        "synced": synced,
        "applied": applied,
        "to and from": to_and_from,
        "get": lambda: [
            type(L.get_filter(n, (2,))).__name__
            for n in ("NoFilter", "MeanStdFilter", "ConcurrentMeanStdFilter")
        ],
        "get callable": lambda: L.get_filter(lambda shape: ("mine", shape), (2,)),
        "get refused": lambda: refused(lambda: L.get_filter("Nope", (2,))) != "nothing raised",
        "concurrent": lambda: (lambda f: [f(A([1.0, 2.0])), f.copy()(A([3.0, 4.0]))])(
            L.ConcurrentMeanStdFilter((2,))
        ),
    }


def preprocessor_cases(L):
    """Name -> preprocessors."""

    def made(space, *values, **options):
        one = L.get_preprocessor(space)(space, options)
        return [
            type(one).__name__,
            list(one.shape),
            int(one.size),
            [one.transform(v) for v in values],
            str(one.observation_space),
        ]

    def written(space, value):
        one = L.get_preprocessor(space)(space)
        array = np.zeros(one.size + 2, F)
        one.write(value, array, 1)
        return array

    def custom():
        class Negate(L.Preprocessor):
            def _init_shape(self, obs_space, options):
                return obs_space.shape

            def transform(self, observation):
                return -observation

            def write(self, observation, array, offset):
                array[offset : offset + self._size] = self.transform(observation).ravel()

        L.ModelCatalog.register_custom_preprocessor("negate", Negate)
        one = L.ModelCatalog.get_preprocessor_for_space(OBS, {"custom_preprocessor": "negate"})
        return [one.transform(A([0.5, 1.0])), list(one.shape), type(one).__name__]

    R = L.Repeated
    nested = Dict({"t": Tuple([Discrete(2), Box(0, 1, (2,), F)]), "m": MultiDiscrete([2, 3])})
    value = {"t": (1, A([0.5, 0.25], F)), "m": A([0, 2])}
    frame = np.random.default_rng(0).integers(0, 255, (210, 160, 3), dtype=np.uint8)
    return {
        "none": lambda: made(Box(-1, 1, (3,), F), A([0.5, 0, 1], F)),
        "discrete": lambda: made(Discrete(4), 2, np.int64(3)),
        "multi discrete": lambda: made(MultiDiscrete([3, 2]), A([2, 1])),
        "tuple": lambda: made(Tuple([Discrete(2), Box(0, 1, (2, 1), F)]), (1, A([[0.5], [1]], F))),
        "dict": lambda: made(nested, value),
        "ordered dict": lambda: made(nested, OrderedDict([("m", A([1, 0])), ("t", value["t"])])),
        "ram": lambda: made(Box(0, 255, (128,), np.uint8), np.arange(128, dtype=np.uint8)),
        "pixels": lambda: (lambda m: [m[0], m[1], m[2], m[4]])(
            made(Box(0, 255, (210, 160, 3), np.uint8), dim=42)
        ),
        "pixels grey": lambda: (lambda m: [m[0], m[1], m[2]])(
            made(Box(0, 255, (210, 160, 3), np.uint8), dim=42, grayscale=True, zero_mean=False)
        ),
        "repeated discrete": lambda: made(R(Discrete(2), 3), [1, 0]),
        "repeated discrete arrays": lambda: made(R(Discrete(2), 3), [A(1), A(0)]),
        "repeated empty": lambda: made(R(Discrete(2), 3), []),
        "repeated full": lambda: made(R(Discrete(2), 3), [1, 0, 1]),
        "repeated box": lambda: made(R(Box(0, 1, (2,), F), 2), [A([0.5, 1], F)]),
        "repeated dict": lambda: made(
            R(Dict({"a": Discrete(2), "b": Box(0, 1, (1,), F)}), 2), [{"a": 1, "b": A([0.5], F)}]
        ),
        "repeated in dict": lambda: made(
            Dict({"l": R(Discrete(2), 2), "x": Discrete(2)}), {"l": [1], "x": 1}
        ),
        "repeated too long": lambda: refused(lambda: made(R(Discrete(2), 1), [1, 1])),
        "written": lambda: [
            written(Discrete(3), 1),
            written(nested, value),
            written(R(Discrete(2), 2), [1]),
        ],
        "custom": custom,
        "kinds": lambda: [
            L.get_preprocessor(s).__name__
            for s in (
                OBS,
                Discrete(2),
                MultiDiscrete([2, 2]),
                MultiBinary(3),
                nested,
                Tuple([OBS]),
                R(OBS, 2),
                L.Simplex((3,)),
                Box(0, 255, (84, 84, 3), np.uint8),
                Box(0, 255, (210, 160, 3), np.uint8),
                Box(-9, 9, (128,), F),
            )
        ],
        "original": lambda: str(
            L.get_preprocessor(nested)(nested).observation_space.original_space
        ),
        "refused": lambda: [
            refused(lambda: L.get_preprocessor(Discrete(2))(Discrete(2)).transform(5)),
            refused(lambda: L.get_preprocessor(OBS)(OBS).transform(A([5.0, 0.0], F))),
            refused(lambda: L.get_preprocessor(OBS)(OBS).check_shape(A([5.0, 0.0, 1.0], F))),
        ],
        "frame": lambda: (
            lambda p: [list(p.transform(frame).shape), str(p.transform(frame).dtype)]
        )(
            L.get_preprocessor(Box(0, 255, (210, 160, 3), np.uint8))(
                Box(0, 255, (210, 160, 3), np.uint8), {"dim": 42}
            )
        ),
    }


def space_cases(L):
    """Name -> functions on spaces and values."""
    batched = {"a": (A([[0.5, 1.0], [0.0, 2.0]], F), A([[1, 0], [0, 1]])), "b": A([2, 0])}
    rows = lambda: L.unbatch(batched)  # noqa: E731
    deep = Dict({"x": Dict({"y": Tuple([Discrete(2), OBS])}), "w": L.Repeated(Discrete(2), 2)})
    simple = Box(A([-2, 0], F), A([3, 1], F))
    dtype = lambda v: [str(np.asarray(v).dtype), v]  # noqa: E731
    return {
        "flatten": lambda: [str(s) for s in L.flatten_space(deep)],
        "flatten leaf": lambda: [str(s) for s in L.flatten_space(OBS)],
        "composite": lambda: [
            L.is_composite_space(s)
            for s in (deep, Tuple([OBS]), OBS, L.Simplex((2,)), L.Repeated(OBS, 2), MultiBinary(2))
        ],
        "original": lambda: str(L.get_original_space(OBS)),
        "struct": lambda: plain(L.get_base_struct_from_space(deep)),
        "struct tuple": lambda: (
            type(L.get_base_struct_from_space(Tuple([Discrete(2), Tuple([OBS])]))).__name__
        ),
        "unbatch": rows,
        "batch": lambda: L.batch(rows()),
        "batch rows": lambda: L.batch(
            [{"a": A([1]), "b": A([[2]])}, {"a": A([3]), "b": A([[4]])}],
            individual_items_already_have_batch_dim=True,
        ),
        "batch auto": lambda: L.batch(
            [L.BatchedNdArray(A([[1, 2]])), L.BatchedNdArray(A([[3, 4]]))],
            individual_items_already_have_batch_dim="auto",
        ),
        "batch numbers": lambda: [dtype(L.batch([1, 2, 3])), dtype(L.batch([1.5, 2.0]))],
        "batch bools": lambda: dtype(L.batch([True, False])),
        "batch one": lambda: L.batch([{"a": 1}]),
        "batch refused": lambda: refused(lambda: L.batch([])) != "nothing raised",
        "unbatch array": lambda: L.unbatch(A([1, 2])),
        "unbatch tuple": lambda: L.unbatch((A([1, 2]), A([3.0, 4.0]))),
        "single array": lambda: [
            L.flatten_to_single_ndarray({"b": A([1, 2]), "a": 0.5}),
            L.flatten_to_single_ndarray((1, 2, (3, A([4])))),
            L.flatten_to_single_ndarray(A([1.0, 2.0])),
            L.flatten_to_single_ndarray([A([[1, 2], [3, 4]]), 5]),
        ],
        "clip": lambda: tried(
            lambda: L.clip_action(A([9.0, -9.0]), simple),
            lambda: L.clip_action({"a": A([9.0, -9.0]), "b": 1}, {"a": simple, "b": Discrete(2)}),
            lambda: L.clip_action((A([9.0, -9.0]), 5), (simple, Discrete(2))),
        ),
        "unsquash": lambda: tried(
            lambda: L.unsquash_action(A([0.5, -0.5], F), simple),
            lambda: L.unsquash_action(A([-1.0, 1.0], F), simple),
            lambda: L.unsquash_action(
                {"a": A([0.0, 0.0], F), "b": 1}, {"a": simple, "b": Discrete(2)}
            ),
            lambda: L.unsquash_action(A([1, 2]), Box(3, 9, (2,), np.int64)),
            lambda: L.unsquash_action(A([0.5]), Box(-np.inf, np.inf, (1,))),
        ),
        "normalize": lambda: tried(
            lambda: L.normalize_action(A([3.0, 0.0], F), simple),
            lambda: L.normalize_action(A([0.5, 0.5], F), simple),
            lambda: L.normalize_action({"a": A([-2.0, 1.0], F)}, {"a": simple}),
            lambda: L.normalize_action(A([4, 5]), Box(3, 9, (2,), np.int64)),
        ),
        "there and back": lambda: L.normalize_action(
            L.unsquash_action(A([0.25, -0.75], F), simple), simple
        ),
        "dummy": lambda: [
            plain(L.get_dummy_batch_for_space(s, batch_size=2))
            for s in (OBS, Discrete(3), MultiDiscrete([2, 3]), MultiBinary(2), NESTED)
        ],
        "dummy time": lambda: [
            plain(L.get_dummy_batch_for_space(NESTED, batch_size=2, time_size=3)),
            plain(L.get_dummy_batch_for_space(OBS, batch_size=2, time_size=3, time_major=True)),
        ],
        "dummy filled": lambda: [
            plain(L.get_dummy_batch_for_space(s, batch_size=1, fill_value=2))
            for s in (OBS, Discrete(3), NESTED)
        ],
        "dummy one hot": lambda: plain(
            L.get_dummy_batch_for_space(NESTED, batch_size=2, fill_value=1, one_hot_discrete=True)
        ),
        "dummy none": lambda: plain(L.get_dummy_batch_for_space(NESTED, batch_size=0)),
    }


def formula_cases(L):
    """Name -> numpy and torch formulas."""
    torch, _ = L.try_import_torch()
    T = torch.tensor
    x = A([[-2.0, 0.0, 3.0]], F)
    rng = np.random.default_rng(1)
    w = rng.normal(size=(3, 4)).astype(F)
    cell = rng.normal(size=(5, 12)).astype(F)

    def clip_by(**options):
        gradients = {"a": T([3.0, -4.0]), "b": T([[12.0]]), "n": None}
        total = L.clip_gradients(gradients, **options)
        return [gradients["a"], gradients["b"], gradients["n"], total]

    def drawn_towards():
        a, b = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
        with torch.no_grad():
            for net, value in ((a, 4.0), (b, 0.0)):
                for p in net.parameters():
                    p.fill_(value)
        L.update_target_network(a, b, 0.25)
        return [b.weight, b.bias]

    flat = L.flatten_inputs_to_1d_tensor
    struct = {"a": Box(0, 1, (2,), F), "b": Discrete(2), "c": (MultiDiscrete([2, 3]),)}
    mixed = {"a": A([[1, 2], [3, 4]], F), "b": A([0, 1]), "c": (A([[1, 2], [0, 1]]),)}
    timed = {
        "a": np.ones((2, 3, 2), F),
        "b": A([[0, 1, 1], [1, 0, 0]]),
        "c": (np.zeros((2, 3, 2), int),),
    }

    class Plain(L.Schedule):
        def _value(self, t):
            return t * 2

    steps = (-5, 0, 30, 99, 100, 250)
    return {
        "fc": lambda: [L.fc(x, w), L.fc(x, w, np.ones(4, F)), L.fc(x, w.T, framework="torch")],
        "lstm": lambda: L.lstm(np.ones((2, 3, 2), F), cell, np.zeros(12, F)),
        "lstm states": lambda: L.lstm(
            np.ones((1, 1, 2), F),
            cell,
            np.ones(12, F),
            (np.ones((1, 3), F), np.zeros((1, 3), F)),
        ),
        "lstm time major": lambda: L.lstm(
            np.ones((3, 2, 2), F), cell, np.zeros(12, F), time_major=True
        ),
        "softmax": lambda: [L.softmax(x), L.softmax(x, axis=0), L.softmax(A([1.0, 2.0]))],
        "sigmoid": lambda: [L.sigmoid(x), L.sigmoid(x, derivative=True)],
        "relu": lambda: [L.relu(x.copy()), L.relu(x.copy(), alpha=0.5)],
        "huber": lambda: [L.huber_loss(x), L.huber_loss(x, delta=0.5)],
        "l2": lambda: float(L.l2_loss(x)),
        "one hot": lambda: [
            L.one_hot(A([0, 2, 1]), depth=3),
            L.one_hot(A([0, 2])),
            L.one_hot(A([[0], [1]]), 2, on_value=9.0, off_value=-1.0),
            L.one_hot(A([1]), 2, dtype=int),
        ],
        "one hot multi": lambda: [
            L.one_hot_multidiscrete(A([[0, 2], [1, 0]]), [2, 3]),
            L.one_hot_multidiscrete(A([1, 1]), [2, 3]),
        ],
        "flat": lambda: [flat(mixed, struct), flat(mixed["a"])],
        "flat time": lambda: flat(timed, struct, time_axis=True),
        "clip value": lambda: clip_by(grad_clip=5.0),
        "clip norm": lambda: clip_by(grad_clip=5.0, grad_clip_by="norm"),
        "clip global": lambda: clip_by(grad_clip=5.0, grad_clip_by="global_norm"),
        "clip wide": lambda: clip_by(grad_clip=50.0, grad_clip_by="global_norm"),
        "clip nothing": lambda: clip_by(),
        "clip refused": lambda: refused(lambda: clip_by(grad_clip=1.0, grad_clip_by="nope")),
        "norms": lambda: [
            L.global_norm([T([3.0, 4.0]), T([12.0])]),
            L.compute_global_norm([T([3.0]), None, T([4.0])]),
        ],
        "target": drawn_towards,
        "symlog": lambda: [L.symlog(T(x)), L.inverse_symlog(T(x))],
        "two hot": lambda: [
            L.two_hot(T([0.3, -9.0, 2.0, 7.0, -1.5]), 5, -2.0, 2.0),
            L.two_hot(T([0.0, -0.004])).nonzero(),
        ],
        "cross entropy": lambda: L.softmax_cross_entropy_with_logits(
            T([[1.0, 2.0], [0.0, 3.0]]), T([[0.0, 1.0], [0.25, 0.75]])
        ),
        "copies": lambda: L.copy_torch_tensors({"a": T([1.0]), "b": 3, "c": A([1.0])}),
        "seed": lambda: [L.set_torch_seed(3), torch.rand(2)][1],
        "force": lambda: [
            L.force_list(),
            L.force_list(3),
            L.force_list((1, 2)),
            L.force_list([1]),
            L.force_list("ab"),
            L.force_list({1: 2}),
        ],
        "dicts": lambda: [
            L.flatten_dict({"a": {"b": {"c": 1}}, "d": 2, "e": [3, {"f": 4}]}),
            L.flatten_dict({"a": {"b": 1}}, sep="."),
            L.unflatten_dict({"a/b": 1, "a/c": 2, "d": 3}),
        ],
        "filters of images": lambda: [
            L.get_filter_config(s)
            for s in ((84, 84, 3), (42, 42, 1), (64, 64), (96, 96, 3), [10, 10, 3])
        ],
        "no filters": lambda: refused(lambda: L.get_filter_config((33, 33, 3))),
        "initializers": lambda: [
            L.get_initializer_fn(None),
            L.get_initializer_fn("xavier_uniform_").__name__,
            refused(lambda: L.get_initializer_fn("xavier_uniform")),
        ],
        "linear": lambda: [
            L.LinearSchedule(schedule_timesteps=100, framework=None, initial_p=2.1, final_p=0.6)(t)
            for t in steps
        ],
        "polynomial": lambda: [
            L.PolynomialSchedule(100, 0.5, None, initial_p=2.0, power=3.0).value(t) for t in steps
        ],
        "exponential": lambda: [
            L.ExponentialSchedule(100, framework=None, initial_p=2.0, decay_rate=0.99)(t)
            for t in steps
        ],
        "constant": lambda: [L.ConstantSchedule(0.3, framework=None)(t) for t in steps],
        "piecewise": lambda: [
            L.PiecewiseSchedule(
                [(0, 50.0), (25, 100.0), (30, 200.0)], framework=None, outside_value=14.5
            )(t)
            for t in (0, 5, 10, 25, 27, 30, 31, 100)
        ],
        "piecewise bent": lambda: L.PiecewiseSchedule(
            [(0, 2.0), (10, 4.0)], framework=None, interpolation=lambda a, b, c: a * 10 + b * c
        )(5),
        "piecewise outside": lambda: (
            refused(lambda: L.PiecewiseSchedule([(0, 1.0), (2, 3.0)])(7)) != "nothing raised"
        ),
        "own schedule": lambda: [Plain(framework=None)(3), Plain(framework="torch").value(4)],
        "discounts": lambda: [
            L.discount_cumsum(A([1.0, 2.0, 4.0]), 0.5),
            L.discount_cumsum(A([1.0]), 0.9),
        ],
        "explained": lambda: [
            L.explained_variance(T([1.0, 2.0, 3.0]), T([1.5, 2.0, 2.0])),
            L.explained_variance(T([1.0, 2.0]), T([9.0, -9.0])),
        ],
        "numpy": lambda: L.convert_to_numpy({"a": T([1.0]), "b": [T(2), A([1.0])], "c": "x"}),
        "tensors": lambda: plain(L.convert_to_torch_tensor({"a": A([1.0]), "b": [A([2]), 3]})),
        "checks": lambda: [
            refused(lambda pair=pair, more=more: L.check(*pair, **more))
            for pair, more in (
                ((1.0, 1.000001), {}),
                ((1.0, 1.1), {}),
                ((A([1.0, 2.0]), A([1.0, 2.0])), {}),
                ((A([1.0]), A([1.5])), {"rtol": 0.6}),
                ((1, 2), {"false": True}),
                ((1, 1), {"false": True}),
                (({"a": 1}, {"a": 1}), {}),
                (({"a": 1}, {"b": 1}), {}),
                (((1, [2]), (1, [2])), {}),
                (([1, 2], [1]), {}),
                (("a", "a"), {}),
                (("a", "b"), {}),
                ((None, None), {}),
                ((True, True), {}),
                ((True, False), {}),
                ((T([1.0]), A([1.0])), {}),
                ((0.123456, 0.12345), {"decimals": 4}),
                ((0.1234, 0.1239), {"decimals": 4}),
                ((A(["a"]), A(["a"])), {}),
                ((1.0, np.nan), {}),
            )
        ],
    }


def distribution_cases(L):
    """Name -> torch distributions."""
    torch, _ = L.try_import_torch()
    T = torch.tensor
    logits = T([[0.1, 2.0, -1.0], [1.0, 0.5, 0.0]])
    pairs = T([[0.1, 0.2, -0.3, 0.4], [1.0, -1.0, 0.0, 0.5]])
    space = Tuple([Discrete(2), Box(-1, 1, (1,), F)])

    def judged(kind, inputs, action, *more, other=None):
        one = kind(inputs.clone(), None, *more)  # Ray divides by a temperature in place
        two = kind(inputs * 0.5 if other is None else other, None, *more)
        mode = one.deterministic_sample()
        return tried(
            lambda: one.logp(action),
            lambda: one.entropy(),
            lambda: one.kl(two),
            lambda: mode,
            lambda: one.sampled_action_logp(),
            lambda: one.multi_entropy(),
            lambda: one.multi_kl(two),
        )

    def sampled(kind, inputs, *more):
        torch.manual_seed(5)
        one = kind(inputs.clone(), None, *more)
        action = one.sample()
        return [action, one.sampled_action_logp(), one.logp(action)]

    def multi(nested):
        kind, size = L.ModelCatalog.get_action_dist(nested, L.MODEL_DEFAULTS, framework="torch")
        inputs = torch.linspace(-1, 1, 2 * int(size)).reshape(2, -1)
        one, two = kind(inputs, None), kind(inputs * 0.5, None)
        mode = one.deterministic_sample()
        return [int(size), mode, one.logp(mode), one.entropy(), one.kl(two)]

    def sizes(space):
        return int(L.ModelCatalog.get_action_dist(space, L.MODEL_DEFAULTS, framework="torch")[1])

    return {
        "categorical": lambda: judged(L.TorchCategorical, logits, T([1, 2])),
        "categorical arrays": lambda: judged(L.TorchCategorical, logits, A([1, 2])),
        "categorical sampled": lambda: sampled(L.TorchCategorical, logits),
        "categorical warm": lambda: judged(L.TorchCategorical, logits, T([1, 2]), 2.0),
        "warm class": lambda: (lambda k: [k.__name__, k(logits.clone(), None).logp(T([0, 0]))])(
            L.get_torch_categorical_class_with_temperature(2.0)
        ),
        "multi categorical": lambda: judged(
            L.TorchMultiCategorical, T([[0.1, 0.2, 1.0, 0.0, -1.0]]), T([[1, 2]]), [2, 3]
        ),
        "multi categorical sampled": lambda: sampled(
            L.TorchMultiCategorical, T([[0.1, 0.2, 1.0, 0.0, -1.0]]), [2, 3]
        ),
        "gaussian": lambda: judged(L.TorchDiagGaussian, pairs, T([[0.0, 1.0], [0.5, 0.5]])),
        "gaussian sampled": lambda: sampled(L.TorchDiagGaussian, pairs),
        "squashed": lambda: [
            L.TorchSquashedGaussian(pairs, None).deterministic_sample(),
            L.TorchSquashedGaussian(pairs, None).logp(T([[0.2, 0.3], [-0.9, 0.9]])),
            L.TorchSquashedGaussian(pairs, None, -2.0, 3.0).deterministic_sample(),
            L.TorchSquashedGaussian(pairs, None, low=-2.0, high=3.0).logp(
                T([[0.2, 0.3], [-0.9, 2.9]])
            ),
        ],
        "squashed sampled": lambda: sampled(L.TorchSquashedGaussian, pairs),
        "beta": lambda: [
            L.TorchBeta(pairs, None).deterministic_sample(),
            L.TorchBeta(pairs, None, low=-2.0, high=3.0).deterministic_sample(),
            L.TorchBeta(pairs, None).logp(T([[0.2, 0.3], [0.9, 0.1]])),
            L.TorchBeta(pairs, None, low=-2.0, high=3.0).logp(T([[0.2, 0.3], [-0.9, 2.9]])),
        ],
        "deterministic": lambda: [
            L.TorchDeterministic(pairs, None).deterministic_sample(),
            L.TorchDeterministic(pairs, None).sample(),
            L.TorchDeterministic(pairs, None).sampled_action_logp(),
        ],
        "dirichlet": lambda: [
            L.TorchDirichlet(logits, None).deterministic_sample(),
            L.TorchDirichlet(logits, None).logp(T([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])),
            L.TorchDirichlet(logits, None).entropy(),
        ],
        "nested": lambda: multi(space),
        "nested dict": lambda: multi(Dict({"z": Discrete(3), "a": MultiDiscrete([2, 2])})),
        "deep": lambda: multi(Dict({"z": space, "a": Dict({"q": Discrete(2)})})),
        "sizes": lambda: [
            sizes(s)
            for s in (
                Discrete(5),
                Box(-1, 1, (3,)),
                MultiDiscrete([2, 5]),
                Box(0, 3, (2,), np.int32),
                space,
                L.Simplex((4,)),
                Dict({"a": Discrete(2), "b": OBS}),
            )
        ],
        "required": lambda: [
            int(L.TorchCategorical.required_model_output_shape(Discrete(4), {})),
            int(L.TorchDiagGaussian.required_model_output_shape(OBS, {})),
            int(L.TorchSquashedGaussian.required_model_output_shape(OBS, {})),
            int(L.TorchBeta.required_model_output_shape(OBS, {})),
            int(L.TorchDeterministic.required_model_output_shape(OBS, {})),
            int(L.TorchDirichlet.required_model_output_shape(L.Simplex((3,)), {})),
            int(
                np.sum(
                    L.TorchMultiCategorical.required_model_output_shape(MultiDiscrete([2, 3]), {})
                )
            ),
        ],
        "custom": lambda: custom_distribution(L),
    }


def custom_distribution(L):
    """A user's own distribution, registered."""

    class Fixed(L.TorchDistributionWrapper):
        @staticmethod
        def required_model_output_shape(action_space, model_config=None):
            return 7

        def deterministic_sample(self):
            return self.inputs[:, 0]

    L.ModelCatalog.register_custom_action_dist("fixed", Fixed)
    kind, size = L.ModelCatalog.get_action_dist(
        Discrete(2), {**L.MODEL_DEFAULTS, "custom_action_dist": "fixed"}, framework="torch"
    )
    torch, _ = L.try_import_torch()
    return [kind.__name__, int(size), kind(torch.ones(2, 7), None).deterministic_sample()]


def model_cases(L):
    """Name -> users' own networks."""
    torch, nn = L.try_import_torch()

    class Net(L.TorchModelV2, nn.Module):
        def __init__(self, obs_space, action_space, num_outputs, model_config, name, **options):
            L.TorchModelV2.__init__(self, obs_space, action_space, num_outputs, model_config, name)
            nn.Module.__init__(self)
            self.options = {**model_config.get("custom_model_config", {}), **options}
            self.layer = nn.Linear(int(np.prod(obs_space.shape)), num_outputs)
            self.seen = None

        def forward(self, input_dict, state, seq_lens):
            self.seen = input_dict["obs_flat"].float()
            return self.layer(self.seen), state

        def value_function(self):
            return self.seen.sum(dim=1)

    class NetOtherOrder(Net):
        def __init__(self, *args, **kwargs):
            nn.Module.__init__(self)
            super().__init__(*args, **kwargs)

    class Recurrent(L.RecurrentNetwork if hasattr(L, "RecurrentNetwork") else object, nn.Module):
        def __init__(self, obs_space, action_space, num_outputs, model_config, name):
            nn.Module.__init__(self)
            super().__init__(obs_space, action_space, num_outputs, model_config, name)
            self.cell = nn.LSTM(int(np.prod(obs_space.shape)), 4, batch_first=True)
            self.head = nn.Linear(4, num_outputs)

        def get_initial_state(self):
            return [torch.zeros(4), torch.zeros(4)]

        def value_function(self):
            return self.values

        def forward_rnn(self, inputs, state, seq_lens):
            out, (h, c) = self.cell(inputs, [state[0].unsqueeze(0), state[1].unsqueeze(0)])
            self.values = out.sum(dim=-1).reshape(-1)
            return self.head(out), [h.squeeze(0), c.squeeze(0)]

    def config(name, **more):
        return {**L.MODEL_DEFAULTS, "custom_model": name, "custom_model_config": more}

    def built(kind, name, space=OBS, **more):
        L.ModelCatalog.register_custom_model(name, kind)
        one = L.ModelCatalog.get_model_v2(
            space, Discrete(3), 3, config(name, **more), framework="torch", name="mine"
        )
        rows = torch.arange(2.0 * int(np.prod(space.shape))).reshape(2, *space.shape)
        out, state = one({"obs": rows})
        return one, out, state

    def described(kind, name):
        one, out, state = built(kind, name, width=3)
        return [
            list(out.shape),
            plain(state),
            one.value_function(),
            one.options,
            one.num_outputs,
            sorted(one.state_dict()),
            one.name,
            isinstance(one, kind),
            isinstance(one, L.ModelV2),
            list(one.last_output().shape),
            one.is_time_major(),
            one.get_initial_state(),
        ]

    def recurrent():
        L.ModelCatalog.register_custom_model("rnn", Recurrent)
        one = L.ModelCatalog.get_model_v2(
            OBS, Discrete(3), 3, config("rnn"), framework="torch", name="mine"
        )
        state = [s.unsqueeze(0).repeat(2, 1) for s in one.get_initial_state()]
        out, states = one(
            {"obs": torch.ones(6, 2), "obs_flat": torch.ones(6, 2)}, state, torch.tensor([3, 3])
        )
        return [
            list(out.shape),
            [list(s.shape) for s in states],
            list(one.value_function().shape),
            len(one.get_initial_state()),
        ]

    def wrapped(**settings):
        one = L.ModelCatalog.get_model_v2(
            OBS,
            Discrete(3),
            3,
            {**L.MODEL_DEFAULTS, "fcnet_hiddens": [8], **settings},
            framework="torch",
            name="w",
        )
        return [
            type(one).__name__,
            len(one.get_initial_state()),
            sorted(one.view_requirements),
            sorted(one.state_dict())[:4],
            one.num_outputs,
        ]

    def nested():
        space = Box(-1, 1, (5,), F)
        space.original_space = Dict({"b": Discrete(3), "a": Box(-1, 1, (2,), F)})

        class Look(Net):
            def forward(self, input_dict, state, seq_lens):
                self.shapes = {k: list(v.shape) for k, v in input_dict["obs"].items()}
                return super().forward(input_dict, state, seq_lens)

        one, out, _ = built(Look, "look", space)
        return [one.shapes, list(out.shape)]

    def default_with_interface():
        class Interface:
            def answer(self):
                return 42

        one = L.ModelCatalog.get_model_v2(
            OBS,
            Discrete(3),
            3,
            {**L.MODEL_DEFAULTS, "fcnet_hiddens": [4]},
            framework="torch",
            name="w",
            model_interface=Interface,
        )
        return [one.answer(), isinstance(one, L.FullyConnectedNetwork)]

    def by_hand():
        one = L.FullyConnectedNetwork(
            OBS, Discrete(3), 3, {**L.MODEL_DEFAULTS, "fcnet_hiddens": [4, 5]}, "by_hand"
        )
        out, state = one({"obs": torch.zeros(2, 2), "obs_flat": torch.zeros(2, 2)}, [], None)
        return [list(out.shape), state, list(one.value_function().shape), sorted(one.state_dict())]

    def layers():
        torch.manual_seed(0)
        fc = L.SlimFC(3, 2, activation_fn="tanh", bias_init=0.5)
        conv = L.SlimConv2d(3, 2, [3, 3], 1, None, activation_fn=None)
        return [
            fc(torch.zeros(1, 3)),
            list(fc.state_dict()),
            list(conv(torch.zeros(1, 3, 5, 5)).shape),
            L.Reshape((2, 3))(torch.arange(6.0)),
            list(L.AppendBiasLayer(2)(torch.zeros(3, 1)).shape),
        ]

    values = lambda: L.RepeatedValues(  # noqa: E731
        {"a": torch.arange(12.0).reshape(2, 3, 2)}, torch.tensor([2.0, 1.0]), 3
    )
    return {
        "own": lambda: described(Net, "own"),
        "own other order": lambda: described(NetOtherOrder, "own_order"),
        "recurrent": recurrent,
        "nested": nested,
        "lstm": lambda: wrapped(use_lstm=True, lstm_cell_size=6),
        "lstm previous": lambda: wrapped(
            use_lstm=True, lstm_cell_size=6, lstm_use_prev_action=True, lstm_use_prev_reward=True
        ),
        "attention": lambda: wrapped(
            use_attention=True, attention_dim=8, attention_num_transformer_units=1
        ),
        "plain": lambda: wrapped(),
        "interface": default_with_interface,
        "by hand": by_hand,
        "layers": layers,
        "repeated": lambda: [
            values().unbatch_all(),
            values().unbatch_repeat_dim(),
            values().max_len,
        ],
        "defaults": lambda: sorted(
            set(L.MODEL_DEFAULTS)
            & {
                "fcnet_hiddens",
                "fcnet_activation",
                "conv_filters",
                "use_lstm",
                "max_seq_len",
                "lstm_cell_size",
                "use_attention",
                "custom_model",
                "custom_model_config",
                "vf_share_layers",
                "free_log_std",
                "no_final_linear",
                "custom_action_dist",
                "custom_preprocessor",
                "framestack",
                "dim",
                "grayscale",
                "zero_mean",
            }
        ),
        "default values": lambda: plain(
            {
                k: L.MODEL_DEFAULTS[k]
                for k in (
                    "fcnet_hiddens",
                    "fcnet_activation",
                    "max_seq_len",
                    "lstm_cell_size",
                    "dim",
                )
            }
        ),
        "flatten": lambda: list(L.flatten(torch.zeros(2, 3, 4), "torch").shape),
    }


def exploration_cases(L):
    """Name -> explorations asked by hand."""
    torch, _ = L.try_import_torch()
    given = {
        "framework": "torch",
        "policy_config": {},
        "model": None,
        "num_workers": 0,
        "worker_index": 0,
    }
    box = Box(-1, 1, (2,), F)

    def logits():
        return L.TorchCategorical(torch.tensor([[0.0, 2.0, 1.0], [3.0, 0.0, 0.0]]), None)

    def reals():
        return L.TorchDeterministic(torch.tensor([[0.5, -0.9], [0.0, 1.0]]), None)

    def asked(one, dist=logits, timestep=20, explore=True):
        torch.manual_seed(0)
        return list(
            one.get_exploration_action(
                action_distribution=dist(), timestep=timestep, explore=explore
            )
        )

    def made(kind, space=None, **options):
        return getattr(L, kind)(Discrete(3) if space is None else space, **{**given, **options})

    def shapes(found):
        return [list(found[0].shape), str(found[0].dtype), found[1]]

    return {
        "sampling": lambda: asked(made("StochasticSampling")),
        "sampling greedy": lambda: asked(made("StochasticSampling"), explore=False),
        "sampling first": lambda: shapes(asked(made("StochasticSampling", random_timesteps=50))),
        "random": lambda: shapes(asked(made("Random"))),
        "random greedy": lambda: asked(made("Random"), explore=False),
        "random box": lambda: shapes(asked(made("Random", box), reals)),
        "greedy": lambda: asked(made("EpsilonGreedy", initial_epsilon=0.0, final_epsilon=0.0)),
        "epsilon": lambda: (lambda e: [shapes(asked(e, timestep=50)), e.get_state()])(
            made("EpsilonGreedy", epsilon_timesteps=100)
        ),
        "epsilon not exploring": lambda: asked(made("EpsilonGreedy"), explore=False),
        "epsilon warm": lambda: [
            made(
                "EpsilonGreedy", warmup_timesteps=10, epsilon_timesteps=10, final_epsilon=0.2
            ).epsilon_schedule(t)
            for t in (0, 9, 10, 15, 20, 30)
        ],
        "epsilon given": lambda: made(
            "EpsilonGreedy", epsilon_schedule=L.ConstantSchedule(0.25, framework=None)
        ).get_state()["cur_epsilon"],
        "epsilon later": lambda: (lambda e: [shapes(asked(e, timestep=75)), e.get_state()])(
            made("EpsilonGreedy", epsilon_timesteps=100)
        ),
        "soft q": lambda: asked(made("SoftQ", temperature=0.01))[0],
        "soft q temperature": lambda: made("SoftQ", temperature=2.0).temperature,
        "gaussian none": lambda: (lambda e: [asked(e, reals), e.get_state()])(
            made("GaussianNoise", box, random_timesteps=5, stddev=0.0)
        ),
        "gaussian greedy": lambda: asked(made("GaussianNoise", box), reals, explore=False),
        "gaussian first": lambda: shapes(asked(made("GaussianNoise", box), reals, timestep=3)),
        "gaussian scale": lambda: [
            made("GaussianNoise", box, random_timesteps=5, scale_timesteps=10).scale_schedule(t)
            for t in (4, 5, 10, 14, 15, 99)
        ],
        "wandering none": lambda: asked(
            made("OrnsteinUhlenbeckNoise", box, random_timesteps=5, ou_sigma=0.0), reals
        ),
        "wandering state": lambda: sorted(made("OrnsteinUhlenbeckNoise", box).get_state()),
        "per worker": lambda: [
            made("PerWorkerEpsilonGreedy", num_workers=n, worker_index=i).get_state()["cur_epsilon"]
            for n, i in ((3, 2), (3, 0), (0, 0), (1, 1), (3, 3))
        ],
        "per worker noise": lambda: [
            made(k, box, num_workers=3, worker_index=2).scale_schedule(0)
            for k in ("PerWorkerGaussianNoise", "PerWorkerOrnsteinUhlenbeckNoise")
        ],
        "family": lambda: [
            issubclass(L.SoftQ, L.StochasticSampling),
            issubclass(L.OrnsteinUhlenbeckNoise, L.GaussianNoise),
            issubclass(L.PerWorkerEpsilonGreedy, L.EpsilonGreedy),
            issubclass(L.Random, L.Exploration),
        ],
        "attributes": lambda: (
            lambda e: [
                str(e.action_space),
                e.framework,
                e.policy_config,
                e.model,
                e.num_workers,
                e.worker_index,
            ]
        )(made("EpsilonGreedy")),
    }


def name_cases(L):
    """Name -> names that only have to be there."""

    class Walls(L.EnvError):
        pass

    return {
        "types": lambda: [
            isinstance(getattr(L, name, None), type(None))
            for name in (
                "TensorType",
                "EpisodeType",
                "AgentID",
                "PolicyID",
                "EnvType",
                "ModuleID",
                "EnvID",
                "MultiAgentDict",
                "SpaceStruct",
                "TensorStructType",
                "ModelConfigDict",
                "ResultDict",
                "AlgorithmConfigDict",
                "PartialAlgorithmConfigDict",
                "EnvCreator",
                "SampleBatchType",
                "ModelWeights",
                "ModelGradients",
                "PolicyState",
                "StateBatches",
                "EnvObsType",
                "EnvActionType",
                "EnvInfoDict",
                "EnvConfigDict",
                "FromConfigSpec",
                "DeviceType",
            )
        ],
        "ids": lambda: [
            L.PolicyID is str,
            L.ModuleID is str,
            L.ModelConfigDict is dict,
            L.UnrollID is int,
        ],
        "errors": lambda: [
            refused(lambda: (_ for _ in ()).throw(L.StepFailedRecreateEnvError("x"))),
            issubclass(Walls, Exception),
            issubclass(L.UnsupportedSpaceException, Exception),
        ],
        "mixed in": lambda: [
            c.__name__ for c in L.add_mixins(type("A", (), {}), [type("B", (), {})]).__mro__
        ],
        "default dict": lambda: [
            L.LambdaDefaultDict(lambda k: k * 2)["ab"],
            len(L.LambdaDefaultDict(len)),
        ],
        "spec": lambda: [L.PolicySpec().policy_class, L.PolicySpec(config={"a": 1}).config],
        "spec equal": lambda: [
            L.PolicySpec(config={"a": 1}) == L.PolicySpec(config={"a": 1}),
            L.PolicySpec() == L.PolicySpec(None),
            L.PolicySpec(config={}) == L.PolicySpec(),
        ],
    }


GROUPS = {
    "agent": agent_cases,
    "action": action_cases,
    "pipeline": pipeline_cases,
    "collector": collector_cases,
    "batch": batch_cases,
    "sequence": sequence_cases,
    "filter": filter_cases,
    "preprocessor": preprocessor_cases,
    "space": space_cases,
    "formula": formula_cases,
    "distribution": distribution_cases,
    "model": model_cases,
    "exploration": exploration_cases,
    "name": name_cases,
}


def run(L):
    """Every case of every group as plain data."""
    made = {}
    for group, cases in GROUPS.items():
        made[group] = {}
        for name, case in cases(L).items():
            np.random.seed(0)  # noqa: NPY002  # what old sources seed
            try:
                made[group][name] = plain(case())
            except Exception as error:  # reported as the case's result
                made[group][name] = f"raised {type(error).__name__}: {error}"[:300]
    return made
