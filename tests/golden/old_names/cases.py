"""What old sources do with RLlib's names, on Ray and on rlconnect alike.

`run(L)` takes any object that has RLlib's names and returns {group: {case: plain data}}.
`record.py` runs it on Ray; the tests run it on rlconnect and compare with `recorded.json`.
"""

from types import SimpleNamespace

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple

A = np.array
OBS = Box(-1, 1, (2,), np.float32)
MIXED = Dict({"b": Discrete(3), "a": Box(0, 1, (2,)), "c": MultiDiscrete([2, 2])})


def plain(value):
    """A nest as plain data: arrays by dtype, shape and values; spaces and names as text."""
    if hasattr(value, "policy_batches"):
        return {"policies": plain(value.policy_batches), "env_steps": value.env_steps()}
    if isinstance(value, dict):
        columns = {str(key): plain(dict.__getitem__(value, key)) for key in value}
        if type(value).__name__ == "SampleBatch":
            flags = {"padded": bool(value.zero_padded), "time_major": bool(value.time_major)}
            return {"columns": columns, "count": value.count, **flags}
        return columns
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "detach"):
        return {"tensor": plain(value.detach().numpy())}
    if isinstance(value, np.ndarray) and value.dtype == object:
        return {"dtype": "object", "values": [plain(item) for item in value.tolist()]}
    if isinstance(value, np.ndarray):
        values = value.tolist()
        return {"dtype": str(value.dtype), "shape": list(value.shape), "values": values}
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def refused(call):
    """Whether a call raises."""
    try:
        call()
    except Exception as error:  # which one differs between the two libraries
        return next(base.__name__ for base in type(error).__mro__ if base.__module__ == "builtins")
    return "nothing raised"


def batch(L, **columns):
    """Six steps of three episodes."""
    return L.SampleBatch(
        {
            "obs": np.arange(12.0).reshape(6, 2),
            "actions": {"x": np.arange(6), "y": np.arange(6) % 2},
            "rewards": np.arange(6.0),
            "eps_id": A([1, 1, 2, 2, 2, 3]),
            "terminateds": A([0, 1, 0, 0, 1, 0], bool),
            "truncateds": np.zeros(6, bool),
            **columns,
        }
    )


def batch_cases(L):
    """Name -> what is done to a SampleBatch."""
    SB = L.SampleBatch
    small = lambda: SB({"a": A([1, 2, 3]), "b": A([4, 5, 6])})  # noqa: E731
    def seqs():
        return SB(
            {
                "a": np.arange(5),
                "state_in_0": A([[0.1], [0.2], [0.3]]),
                "seq_lens": A([1, 2, 2]),
            }
        )

    def bookkeeping():
        one = small()
        one["c"] = one["a"] * 2
        del one["b"]
        return [one.accessed_keys, one.added_keys, one.deleted_keys, list(one.keys())]

    def intercepted():
        one = small()
        calls = []
        one.set_get_interceptor(lambda x: (calls.append(1), x + 10)[1])
        found = [one["a"], one["a"], one.get("b"), one.get("zz", 7)]
        kept = list(one.intercepted_values)
        one["a"] = A([0, 0, 0])
        again = one["a"]
        one.set_get_interceptor(None)
        return [found, kept, again, one["a"], len(calls)]

    def copied():
        one = small()
        deep, flat = one.copy(), one.copy(shallow=True)
        one["a"][0] = 99
        return [deep["a"], flat["a"], type(deep).__name__]

    def trained():
        one = small()
        before = one.is_training
        one.set_training(True)
        return [bool(before), bool(one.is_training), bool(one[1:].is_training)]

    def updated():
        one = small()
        one.update({"a": A([7, 8, 9]), "d": A([1, 1, 1])})
        return [one, one.pop("d"), list(one), "a" in one, "zz" in one]

    def shuffled():
        one = SB({"a": np.arange(8), "b": np.arange(8) * 10})
        same = one.shuffle()
        return [bool((one["b"] == one["a"] * 10).all()), sorted(one["a"].tolist()), same is one]

    def by_id():
        one = seqs()
        one.enable_slicing_by_batch_id()
        some = one[1:3]
        one.disable_slicing_by_batch_id()
        return [some, one[1:3]]

    def built_by_hand():
        from_pairs = SB([("a", [1, 2]), ("b", [0.5, 1.5])])
        from_words = SB(a=[1, 2], infos=[{"x": 1}, {}])
        empty = SB()
        return [from_pairs, from_words, len(empty), empty.count, list(empty.rows())]

    def single_steps():
        V = L.ViewRequirement
        one = batch(L, new_obs=np.arange(12.0).reshape(6, 2) + 2, state_out_0=np.ones((6, 1)))
        views = {
            "obs": V(),
            "prev_rewards": V("rewards", shift=-1),
            "stack": V("obs", shift="-2:0", space=OBS),
            "state_in_0": V("state_out_0", shift=-1),
            "unused": V("rewards", used_for_compute_actions=False),
        }
        return one.get_single_step_input_dict(views, index="last")

    return {
        "slice": lambda: batch(L)[1:3],
        "slice ends": lambda: [batch(L)[:2], batch(L)[4:], batch(L)[-2:], batch(L)[2:2].count],
        "slice stepped": lambda: small()[0:3:2],
        "column": lambda: [batch(L)["obs"], batch(L)["actions"]["x"], batch(L)[SB.REWARDS]],
        "dones": lambda: batch(L)["dones"],
        "missing": lambda: [
            refused(lambda: small()["zz"]),
            small().get("zz"),
            small().get("zz", 3),
        ],
        "lengths": lambda: [
            len(batch(L)),
            batch(L).count,
            batch(L).agent_steps(),
            batch(L).env_steps(),
            len(seqs()),
            bool(SB()),
        ],
        "rows": lambda: list(batch(L).rows())[1:3],
        "timeslices num": lambda: batch(L).timeslices(num_slices=4),
        "split": lambda: batch(L).split_by_episode(),
        "split dones": lambda: batch(L).split_by_episode(key="dones"),
        "concat": lambda: [
            small().concat(small()),
            L.concat_samples([small(), small()[1:]]),
            SB.concat_samples([small(), small()]),
        ],
        "concat nested": lambda: L.concat_samples([batch(L), batch(L)[:1]]),
        "concat unlike": lambda: refused(lambda: L.concat_samples([small(), SB({"a": A([1])})])),
        "concat steps": lambda: [L.concat_samples([seqs(), seqs()]).max_seq_len],
        "right_zero_pad": lambda: seqs().right_zero_pad(max_seq_len=4),
        "right_zero_pad states": lambda: SB(
            {"a": np.arange(5), "state_in_0": np.arange(5.0), "seq_lens": A([1, 2, 2])}
        ).right_zero_pad(3, exclude_states=False),
        "right_zero_pad refused": lambda: [
            refused(lambda: small().right_zero_pad(3)),
            refused(lambda: seqs().right_zero_pad(1)),
        ],
        "time major": lambda: SB({"a": np.arange(12).reshape(3, 4)}, _time_major=True)[0:2],
        "padded flags": lambda: [
            SB(
                {"a": np.zeros(4), "seq_lens": [2, 1]}, _zero_padded=True, _max_seq_len=2
            ).max_seq_len,
            seqs().max_seq_len,
            small().max_seq_len,
        ],
        "as multi": lambda: [small().as_multi_agent(), batch(L).as_multi_agent().agent_steps()],
        "as multi named": lambda: small().as_multi_agent("p"),
        "columns": lambda: small().columns(["b", "a"]),
        "bookkeeping": bookkeeping,
        "intercepted": intercepted,
        "copied": copied,
        "trained": trained,
        "updated": updated,
        "shuffled": shuffled,
        "by id": by_id,
        "built by hand": built_by_hand,
        "single steps": single_steps,
        "trajectory": lambda: [
            batch(L).is_single_trajectory(),
            batch(L)[:2].is_single_trajectory(),
            bool(batch(L)[:2].is_terminated_or_truncated()),
        ],
        "size": lambda: [batch(L).size_bytes(), seqs().size_bytes()],
        "text": lambda: [repr(batch(L)), str(seqs()), repr(SB())],
        "tensors": lambda: small().to_device("cpu", framework="torch"),
        "compressed": lambda: small().decompress_if_needed(),
    }


def multi_agent_cases(L):
    """Name -> what is done to a MultiAgentBatch."""
    one = lambda n=3: L.SampleBatch(  # noqa: E731
        {"a": np.arange(n), "t": np.arange(n), "eps_id": np.zeros(n, int)}
    )
    both = lambda: L.MultiAgentBatch({"p": one(), "q": one(2)}, 3)  # noqa: E731
    return {
        "counts": lambda: [both().agent_steps(), both().env_steps(), both().count, len(both())],
        "timeslices": lambda: both().timeslices(2),
        "copied": lambda: both().copy(),
        "as multi": lambda: both().as_multi_agent(),
        "wrapped": lambda: L.MultiAgentBatch.wrap_as_needed({"default_policy": one()}, 3),
        "joined": lambda: L.MultiAgentBatch.concat_samples([both(), both()]),
        "into": lambda: [
            L.concat_samples_into_ma_batch([one(), one()]),
            L.concat_samples_into_ma_batch([both(), one()]),
        ],
        "flat": lambda: L.convert_ma_batch_to_sample_batch(one().as_multi_agent()),
        "flat refused": lambda: refused(lambda: L.convert_ma_batch_to_sample_batch(both())),
        "size": lambda: both().size_bytes(),
        "text": lambda: str(both()),
    }


def view_cases(L):
    """Name -> what a ViewRequirement tells of itself."""
    V = L.ViewRequirement
    shifts = (0, -1, 1, "-3:0", "-5:-2", "-10:0:5", [-3, -1], "0:4", A([-2, 0]))
    cases = {
        f"shift {shift}": lambda s=shift: [
            V("obs", shift=s).shift_arr,
            V("obs", shift=s).shift_from,
            V("obs", shift=s).shift_to,
        ]
        for shift in shifts
    }
    defaults = lambda: V()  # noqa: E731
    return {
        **cases,
        "defaults": lambda: [
            defaults().data_col,
            defaults().space,
            defaults().index,
            defaults().batch_repeat_value,
            defaults().used_for_compute_actions,
            defaults().used_for_training,
        ],
        "round trip": lambda: (
            V.from_dict(
                V("obs", shift="-3:0", space=OBS, used_for_training=False).to_dict()
            ).shift_arr
        ),
        "data": lambda: V("obs", shift=-1, space=Discrete(3)).to_dict(),
    }


def collector_cases(L):
    """Name -> what an AgentCollector builds."""
    V = L.ViewRequirement
    S = Box(-1, 1, (1,), np.float32)

    def fed(views, count=3, **options):
        one = L.AgentCollector(view_reqs=views, **options)
        empty = one.is_empty()
        one.add_init_obs(episode_id=7, agent_index=1, env_id=4, init_obs=A([0.0], np.float32))
        for t in range(count):
            one.add_action_reward_next_obs(
                {
                    "t": t,
                    "eps_id": 7,
                    "agent_index": 1,
                    "env_id": 4,
                    "actions": t + 1,
                    "rewards": t * 1.0,
                    "terminateds": t == count - 1,
                    "truncateds": False,
                    "new_obs": A([t + 1.0], np.float32),
                    "infos": {"n": t},
                    **(
                        {"state_out_0": A([t + 0.5], np.float32)}
                        if options.get("intial_states")
                        else {}
                    ),
                }
            )
        return one, empty

    def trained(views, count=3, **options):
        one, empty = fed(views, count, **options)
        steps = one.agent_steps
        made = one.build_for_training(views)
        return [empty, steps, one.agent_steps, made]

    def acted(views, count=3, **options):
        one, _ = fed(views, count, is_training=False, **options)
        return [one.training, one.build_for_inference()]

    def base():
        return {
            "obs": V("obs", space=S),
            "new_obs": V("new_obs", space=S),
            "actions": V("actions", space=Discrete(9)),
            "rewards": V("rewards"),
            "infos": V("infos"),
            "t": V("t", shift=-1),
        }
    def prev():
        return {
            "obs": V("obs", space=S),
            "prev_actions": V("actions", shift=-1, space=Discrete(9)),
            "prev_rewards": V("rewards", shift=-1),
        }
    def state():
        return {
            "obs": V("obs", space=S),
            "state_in_0": V("state_out_0", shift=-1, space=S),
            "state_out_0": V(space=S, used_for_compute_actions=False),
        }
    stack = lambda: {"obs": V("obs", shift="-3:0", space=S)}  # noqa: E731
    memory = {"intial_states": [A([9.0], np.float32)], "is_policy_recurrent": True}
    return {
        "base": lambda: trained(base()),
        "previous": lambda: trained(prev()),
        "previous acted": lambda: acted(prev()),
        "stack": lambda: trained(stack()),
        "stack acted": lambda: acted(stack()),
        "stack acted at once": lambda: acted(stack(), 0),
        "previous acted at once": lambda: acted(prev(), 0),
        "state": lambda: trained(state(), 5, max_seq_len=2, **memory),
        "state acted": lambda: acted(state(), 2, max_seq_len=2, **memory),
        "two builds": lambda: (
            lambda one: [one.build_for_training(prev()), one.build_for_training(prev())]
        )(fed(prev())[0]),
        "refused": lambda: refused(
            lambda: fed(prev())[0].add_action_reward_next_obs({"rewards": 1.0})
        ),
    }


def connector_cases(L):
    """Name -> connectors by hand: contexts, data, states, pipelines."""
    N = L.AgentConnectorDataType

    def context(**more):
        return L.ConnectorContext(
            {"clip_actions": True, "model": {}},
            [],
            OBS,
            Box(-1, 1, (2,), np.float32),
            {"obs": L.ViewRequirement()},
            False,
            **more,
        )

    def state_of(kind, **options):
        one = kind(context(), **options)
        name, params = one.to_state()
        again = L.get_connector(name, context(), params)
        return [name, plain(params), type(again).__name__, str(one).splitlines()]

    def pipeline():
        ctx = context()
        return L.AgentConnectorPipeline(
            ctx, [L.ClipRewardAgentConnector(ctx, False, 1.0), L.FlattenDataAgentConnector(ctx)]
        )

    def edited():
        ctx, one = context(), pipeline()
        one.prepend(L.StateBufferConnector(ctx))
        one.append(L.EnvSamplingAgentConnector(ctx))
        one.insert_after("ClipRewardAgentConnector", L.ObsPreprocessorConnector(ctx))
        one.insert_before("StateBufferConnector", L.ClipRewardAgentConnector(ctx, limit=2.0))
        one.remove("FlattenDataAgentConnector")
        return [type(c).__name__ for c in one.connectors]

    def indexed():
        one = pipeline()
        by = [one[0], one["ClipRewardAgentConnector"], one[L.ClipRewardAgentConnector]]
        return [
            [[type(c).__name__ for c in found] for found in by],
            one["Nothing"],
            refused(lambda: one[5]),
        ]

    def acted(kind, action, **more):
        one = kind(context(**more))
        record = L.ActionConnectorDataType(0, 1, {"in": 1}, (action, [], {}))
        found = one(record)
        return [found.env_id, found.agent_id, found.input_dict, found.output]

    def immutable():
        one = L.ImmutableActionsConnector(context())
        action = A([1.0, 2.0])
        got = one(L.ActionConnectorDataType(0, 1, {}, (action, [], {}))).output[0]
        return [bool(got.flags.writeable)]

    def data():
        one = N(0, 1, {"rewards": -2.5, "new_obs": 3})
        got = L.ClipRewardAgentConnector(context(), True)([one])[0]
        return [one.env_id, one.agent_id, got.data, got.env_id, got.agent_id]

    def viewed(training):
        ctx = L.ConnectorContext(
            {"model": {"max_seq_len": 5}},
            [],
            OBS,
            Discrete(2),
            {
                "obs": L.ViewRequirement(space=OBS),
                "prev_rewards": L.ViewRequirement("rewards", shift=-1),
            },
            False,
        )
        one = L.ViewRequirementAgentConnector(ctx)
        if training:
            one.in_training()
        else:
            one.in_eval()
        record = {
            "new_obs": np.ones(2, np.float32),
            "rewards": 0.0,
            "terminateds": False,
            "truncateds": False,
            "infos": {},
            "env_id": 0,
            "agent_id": 1,
            "t": 0,
            "agent_index": 1,
            "eps_id": 3,
        }
        got = one([N(0, 1, record)])[0].data
        return [type(got).__name__, got.sample_batch, sorted(map(str, got.raw_dict))]

    return {
        "data": data,
        "clip": lambda: state_of(L.ClipRewardAgentConnector, sign=False, limit=3.0),
        "clip sign": lambda: state_of(L.ClipRewardAgentConnector, sign=True),
        "flatten": lambda: state_of(L.FlattenDataAgentConnector),
        "preprocess": lambda: state_of(L.ObsPreprocessorConnector),
        "buffer": lambda: state_of(L.StateBufferConnector),
        "views": lambda: state_of(L.ViewRequirementAgentConnector),
        "sampling": lambda: state_of(L.EnvSamplingAgentConnector),
        "to numpy": lambda: state_of(L.ConvertToNumpyConnector),
        "normalize": lambda: state_of(L.NormalizeActionsConnector),
        "clip actions": lambda: state_of(L.ClipActionsConnector),
        "immutable": lambda: state_of(L.ImmutableActionsConnector),
        "immutable acts": immutable,
        "normalize acts": lambda: acted(L.NormalizeActionsConnector, A([0.5, -0.5], np.float32)),
        "clip acts": lambda: acted(L.ClipActionsConnector, A([5.0, -0.5], np.float32)),
        "to numpy acts": lambda: acted(L.ConvertToNumpyConnector, A([5.0])),
        "pipeline text": lambda: str(pipeline()).splitlines(),
        "pipeline state": lambda: [plain(pipeline().to_state())],
        "pipeline again": lambda: str(
            L.get_connector(pipeline().to_state()[0], context(), pipeline().to_state()[1])
        ).splitlines(),
        "edited": edited,
        "indexed": indexed,
        "viewed": lambda: [viewed(False), viewed(True)],
        "unknown": lambda: refused(lambda: L.get_connector("NoSuch", context(), None)),
    }


def preprocessor_cases(L):
    """Name -> preprocessors of spaces, by hand and by the catalog."""
    spaces = {
        "discrete": (Discrete(5), 3),
        "multi": (MultiDiscrete([2, 3]), A([1, 2])),
        "box": (OBS, A([0.5, 0.25], np.float32)),
        "tuple": (Tuple([Discrete(2), OBS]), (1, A([0.5, 0.25], np.float32))),
        "dict": (Dict({"b": Discrete(2), "a": OBS}), {"b": 1, "a": A([0.5, 0.25], np.float32)}),
        "deep": (Tuple([Dict({"x": Discrete(2)}), Tuple([Discrete(3)])]), ({"x": 0}, (2,))),
        "repeated": (L.Repeated(Discrete(2), 3), [1, 0]),
        "binary": (MultiBinary(3), A([1, 0, 1], np.int8)),
        "simplex": (L.Simplex((3,)), A([0.2, 0.3, 0.5], np.float32)),
    }

    def told(space, value):
        one = L.ModelCatalog.get_preprocessor_for_space(space)
        out = one.observation_space
        return [
            type(one).__name__,
            list(one.shape),
            one.size,
            str(out),
            one.transform(value),
            L.get_preprocessor(space).__name__,
        ]

    return {
        **{name: lambda pair=pair: told(*pair) for name, pair in spaces.items()},
        "original": lambda: str(
            L.get_preprocessor(Discrete(3))(Discrete(3)).observation_space.original_space
        ),
        "floats": lambda: [L.get_preprocessor(MultiBinary(3), include_multi_binary=True).__name__],
        "outside": lambda: refused(
            lambda: L.get_preprocessor(OBS)(OBS).transform(A([7.0, 0.0, 1.0], np.float32))
        ),
    }


def filter_cases(L):
    """Name -> running statistics and filters."""
    rows = np.random.default_rng(3).normal(2.0, 3.0, (7, 2))

    def pushed():
        one = L.RunningStat((2,))
        for row in rows:
            one.push(row)
        return [one.n, one.mean, one.std, list(one.shape), np.float32(one.var)]

    def merged():
        one, two = L.RunningStat((2,)), L.RunningStat((2,))
        for row in rows[:3]:
            one.push(row)
        for row in rows[3:]:
            two.push(row)
        one.update(two)
        return [one.n, one.mean, np.float32(one.var)]

    def copied():
        one = L.RunningStat(())
        one.push(1.0)
        two = one.copy()
        one.push(3.0)
        return [one.n, two.n, float(one.mean), float(two.mean)]

    def restored():
        one = L.RunningStat((2,))
        for row in rows:
            one.push(row)
        again = type(one).from_state(one.to_state())
        return [again.n, again.mean, np.float32(again.var)]

    def synced():
        one, two = L.MeanStdFilter((2,)), L.MeanStdFilter((2,))
        for row in rows:
            one(row)
        two.sync(one)
        buffered = [one.running_stats.n, two.running_stats.n, two.buffer.n]
        two.reset_buffer()
        again = two.copy()
        plain_ = two.as_serializable()
        return [buffered, two.buffer.n, again.running_stats.n, type(plain_).__name__]

    def nothing():
        one = L.NoFilter()
        return [one(A([1.0, 2.0])), type(one.copy()).__name__]

    return {
        "pushed": pushed,
        "merged": merged,
        "copied": copied,
        "restored": restored,
        "synced": synced,
        "nothing": nothing,
        "shapes": lambda: refused(lambda: L.RunningStat((2,)).push(np.zeros(3))),
        "by name": lambda: [
            type(L.get_filter(n, (2,))).__name__
            for n in ("NoFilter", "MeanStdFilter", "ConcurrentMeanStdFilter")
        ],
        "by no name": lambda: refused(lambda: L.get_filter("NoSuch", (2,))),
    }


def space_cases(L):
    """Name -> spaces to data and back."""
    spaces = {
        "box": OBS,
        "box odd": Box(A([0, -np.inf]), A([1, np.inf]), dtype=np.float64),
        "pixels": Box(0, 255, (2, 2, 3), np.uint8),
        "discrete": Discrete(3),
        "discrete start": Discrete(3, start=-1),
        "multi": MultiDiscrete([2, 3]),
        "binary": MultiBinary(3),
        "tuple": Tuple([Discrete(2), OBS]),
        "dict": MIXED,
        "simplex": L.Simplex((3,)),
        "repeated": L.Repeated(Discrete(2), 4),
        "flex": L.FlexDict({"a": Discrete(2), "b": OBS}),
    }

    def there_and_back(space):
        data = L.space_to_dict(space)
        again = L.space_from_dict(data)
        return [type(again).__name__, again == space, sorted(map(str, data))]

    def original():
        space = Box(-1, 1, (3,), np.float32)
        space.original_space = Discrete(3)
        return str(L.space_from_dict(L.space_to_dict(space)).original_space)

    def gym_only(space):
        data = L.gym_space_to_dict(space)
        return [data.get("space"), L.gym_space_from_dict(data) == space]

    return {
        **{name: lambda s=space: there_and_back(s) for name, space in spaces.items()},
        **{f"gym {name}": lambda s=space: gym_only(s) for name, space in spaces.items()},
        "original": original,
        "none": lambda: [L.space_to_dict(None), L.space_from_dict(None)],
        "text": lambda: [str(spaces["simplex"]), str(spaces["repeated"]), str(spaces["flex"])],
        "samples": lambda: [
            spaces[n].contains(spaces[n].sample()) for n in ("simplex", "repeated", "flex")
        ],
    }


def space_function_cases(L):
    """Name -> functions on spaces and values of them."""
    dummy = L.get_dummy_batch_for_space
    values = {"b": A([0, 2]), "a": A([[0.5, 0.25], [1, 0]], np.float32), "c": A([[0, 1], [1, 1]])}
    flat = L.flatten_inputs_to_1d_tensor
    options = (
        {},
        {"fill_value": 1.0},
        {"one_hot_discrete": True},
        {"time_size": 3},
        {"time_size": 3, "time_major": True},
    )
    shape = lambda found: [list(found.shape), str(found.dtype)]  # noqa: E731
    cases = {
        f"dummy {i} {j}": lambda s=space, o=option: dummy(s, 2, **o)
        for i, space in enumerate((OBS, MIXED, Tuple([Discrete(2), MultiBinary(2)])))
        for j, option in enumerate(options)
    }
    return {
        **cases,
        "dummy random": lambda: [
            shape(dummy(OBS, 2, fill_value="random")),
            shape(dummy(Discrete(3), 4, fill_value="random")),
        ],
        "dummy one": lambda: dummy(Discrete(3), batch_size=0, fill_value=1),
        "dummy default": lambda: shape(dummy(OBS)),
        "flat": lambda: [flat(values, MIXED.spaces), flat(values, MIXED), flat(values)],
        "flat time": lambda: flat(
            {k: v[None] for k, v in values.items()}, MIXED.spaces, time_axis=True
        ),
        "flat one": lambda: flat(
            {k: v[0] for k, v in values.items()}, MIXED.spaces, batch_axis=False
        ),
        "flat array": lambda: flat(np.arange(4).reshape(2, 2)),
        "one hot": lambda: [
            L.one_hot(A([0, 2]), depth=3),
            L.one_hot(A([[1]]), 2, 5.0, 1.0),
            L.one_hot(A([0, 1, 3])),
        ],
        "actions": lambda: [
            L.clip_action({"a": A([3.0, -2.0])}, Dict({"a": OBS}).spaces),
            L.unsquash_action(A([0.5, -2.0], np.float32), Box(0, 4, (2,))),
            L.normalize_action(A([1.0, 4.0], np.float32), Box(0, 4, (2,))),
            L.flatten_to_single_ndarray((1, {"x": A([2, 3])})),
        ],
        "struct": lambda: plain(L.get_base_struct_from_space(MIXED)),
        "batched": lambda: [
            L.batch([{"a": 1, "b": A([1, 2])}, {"a": 2, "b": A([3, 4])}]),
            L.unbatch({"a": A([1, 2]), "b": A([[1, 2], [3, 4]])}),
        ],
    }


def formula_cases(L):
    """Name -> returns, layers and losses."""
    x = A([[1.0, -2.0, 0.5]], np.float32)
    weights = np.random.default_rng(0).normal(size=(5, 12))

    def advantages(ends, **settings):
        columns = {
            "obs": np.zeros((3, 1)),
            "new_obs": np.ones((3, 1)),
            "rewards": A([1.0, 2.0, 3.0]),
            "vf_preds": A([0.5, 0.5, 0.25], np.float32),
            "terminateds": A([False, False, ends]),
            "truncateds": np.zeros(3, bool),
        }
        view = {"obs": L.ViewRequirement()}
        policy = SimpleNamespace(
            config={"gamma": 0.9, "lambda": 0.95, "use_gae": True, "use_critic": True, **settings},
            view_requirements=view,
            model=SimpleNamespace(view_requirements=view),
            is_recurrent=lambda: False,
            _value=lambda **columns: 0.7,
        )
        return L.compute_gae_for_sample_batch(policy, L.SampleBatch(columns))

    def nstep(n):
        one = L.SampleBatch(
            {
                "obs": np.arange(5),
                "new_obs": np.arange(1, 6),
                "rewards": A([1.0, 2.0, 3.0, 4.0, 5.0]),
                "actions": np.zeros(5),
                "terminateds": A([0, 0, 0, 0, 1], bool),
                "truncateds": np.zeros(5, bool),
            }
        )
        L.adjust_nstep(n, 0.9, one)
        return one

    def chopped(**options):
        found = L.chop_into_sequences(
            feature_columns=[[4, 4, 8, 8, 8, 8], np.arange(12).reshape(6, 2)],
            state_columns=[[4, 5, 4, 5, 5, 5]],
            max_seq_len=3,
            episode_ids=[1, 1, 5, 5, 5, 5],
            agent_indices=[1, 1, 1, 1, 1, 1],
            **options,
        )
        return [
            [np.asarray(c).tolist() for c in part]
            if isinstance(part, list)
            else np.asarray(part).tolist()
            for part in found
        ]

    return {
        "gae": lambda: advantages(True),
        "gae goes on": lambda: advantages(False),
        "returns": lambda: advantages(False, use_gae=False),
        "no critic": lambda: advantages(True, use_gae=False, use_critic=False),
        "names": lambda: [
            L.Postprocessing.ADVANTAGES,
            L.Postprocessing.VALUE_TARGETS,
            L.DEFAULT_POLICY_ID,
            L.FLOAT_MIN,
            L.FLOAT_MAX,
        ],
        "nstep": lambda: [nstep(1), nstep(3), nstep(10)],
        "discount": lambda: L.discount_cumsum(A([0.0, 1.0, 2.0, 3.0]), 0.9),
        "bootstrapped": lambda: L.extract_bootstrapped_values(
            np.arange(8.0), episode_lengths=[4, 2], T=3
        ),
        "chop": lambda: chopped(),
        "chop ids": lambda: chopped(unroll_ids=[3, 3, 3, 4, 4, 4]),
        "chop fixed": lambda: chopped(dynamic_max=False),
        "activations": lambda: [L.relu(x.copy(), 0.1), L.sigmoid(x), L.sigmoid(x, derivative=True)],
        "softmax": lambda: [
            L.softmax(x),
            L.softmax([1.0, 2.0]),
            L.softmax(x, 0),
            L.softmax(x, epsilon=0.1),
            L.softmax(A([-50.0, 50.0])),
        ],
        "losses": lambda: [L.huber_loss(x), L.huber_loss(x, 0.3), float(L.l2_loss(x))],
        "fc": lambda: [
            L.fc(x, np.ones((3, 2)), np.ones(2)),
            L.fc(x, np.ones((3, 2))),
            L.fc(x[:, :2], A([[1.0, 2.0], [3.0, 4.0]]), framework="torch"),
        ],
        "lstm": lambda: [
            L.lstm(np.ones((2, 3, 2)), weights, np.arange(12) / 9),
            L.lstm(
                np.ones((3, 2, 2)), weights, np.arange(12) / 9, time_major=True, forget_bias=0.0
            ),
            L.lstm(np.ones((1, 1, 2)), weights, np.ones(12), (np.ones((1, 3)), np.ones((1, 3)))),
        ],
        "numpy": lambda: L.convert_to_numpy(
            {"a": np.ones(2), "c": np.ones(1, int), "d": 3, "e": 2.5, "h": None, "i": "s"}
        ),
        "numpy wide": lambda: L.convert_to_numpy({"a": np.ones(2)}, reduce_type=False),
    }


def torch_cases(L):
    """Name -> models, distributions and functions on tensors."""
    torch, _ = L.try_import_torch()
    T = torch.tensor
    model_config = {**L.MODEL_DEFAULTS, "fcnet_hiddens": [4]}
    spaces = {
        "discrete": Discrete(3),
        "box": OBS,
        "multi": MultiDiscrete([2, 3]),
        "nested": Tuple([Discrete(2), OBS]),
        "dict": Dict({"a": Discrete(2)}),
        "integers": Box(0, 3, (2,), np.int32),
        "simplex": L.Simplex((3,)),
    }

    def dist_of(space, *more):
        kind, size = L.ModelCatalog.get_action_dist(
            space, L.MODEL_DEFAULTS, *more, framework="torch"
        )
        inputs = torch.arange(2.0 * int(size)).reshape(2, -1) / 7 - 0.4
        one = kind(inputs, None)
        action = one.deterministic_sample()
        return [getattr(kind, "func", kind).__name__, int(size), action]

    def judged(kind, inputs, action):
        one, other = kind(inputs, None), kind(inputs * 0.5, None)
        return [one.logp(action), one.entropy(), one.kl(other), one.deterministic_sample()]

    def model():
        one = L.ModelCatalog.get_model_v2(
            OBS, Discrete(2), 2, model_config, framework="torch", name="net"
        )
        out, state = one({"obs": torch.zeros(3, 2)})
        return [
            type(one).__name__,
            list(out.shape),
            state,
            list(one.value_function().shape),
            one.num_outputs,
            one.name,
            one.framework,
            one.is_time_major(),
            one.get_initial_state(),
            len(one.variables()),
            list(one.variables(as_dict=True)),
            len(one.trainable_variables()),
            one.metrics(),
            list(one.last_output().shape),
            list(one.view_requirements),
        ]

    def layers():
        slim = L.SlimFC(3, 2, initializer=L.normc_initializer(1.0), activation_fn="relu")
        conv = L.SlimConv2d(3, 2, 3, 1, L.same_padding((5, 5), 3, 1)[0])
        norms = slim._model[0].weight.detach().norm(dim=1).numpy().round(5)
        return [
            list(slim.state_dict()),
            list(conv.state_dict()),
            norms,
            list(conv(torch.zeros(1, 3, 5, 5)).shape),
            list(slim(torch.zeros(1, 3)).shape),
        ]

    return {
        **{f"dist {name}": lambda s=space: dist_of(s) for name, space in spaces.items()},
        **{
            f"fixed {name}": lambda s=space: dist_of(s, "deterministic")
            for name, space in spaces.items()
        },
        "dist none": lambda: (
            refused(lambda: L.ModelCatalog.get_action_dist(MultiBinary(3), {}, framework="torch"))
            != ""
        ),
        "categorical": lambda: judged(
            L.TorchCategorical, T([[0.1, 0.5, -0.2], [1.0, 0.0, 2.0]]), T([0, 2])
        ),
        "gaussian": lambda: judged(
            L.TorchDiagGaussian, T([[0.1, 0.5, -0.2, 0.3]]), T([[0.0, 1.0]])
        ),
        "beta": lambda: L.TorchBeta(T([[0.1, 0.5, 0.2, 0.3]]), None).deterministic_sample(),
        "squashed": lambda: [
            L.TorchSquashedGaussian(T([[0.1, 0.5, -0.2, 0.3]]), None).deterministic_sample(),
            L.TorchSquashedGaussian(T([[0.1, 0.5, -0.2, 0.3]]), None).logp(T([[0.2, 0.3]])),
        ],
        "model": model,
        "layers": layers,
        "activations": lambda: [
            getattr(L.get_activation_fn(n, "torch"), "__name__", None)
            for n in (None, "linear", "relu", "tanh", "swish", "silu", "Swish", "ELU", "Sigmoid")
        ],
        "activation refused": lambda: refused(lambda: L.get_activation_fn("nope", "torch")),
        "padding": lambda: [
            L.valid_padding((10, 10), 3, 2),
            L.valid_padding((10, 11), (3, 4), (2, 1)),
            L.same_padding((10, 10), 5, 2),
        ],
        "masks": lambda: [
            L.sequence_mask(T([1, 3])),
            L.sequence_mask(T([1, 3]), 4),
            L.sequence_mask(T([1, 3]), 4, time_major=True),
        ],
        "means": lambda: [
            L.reduce_mean_ignore_inf(T([1.0, -np.inf, 3.0])),
            L.reduce_mean_ignore_inf(T([[1.0, -np.inf], [3.0, 5.0]]), 0),
        ],
        "explained": lambda: [
            L.explained_variance(T([1.0, 2.0, 3.0]), T([1.0, 2.0, 4.0])),
            L.explained_variance(T([1.0, 1.0]), T([1.0, 2.0])),
        ],
        "tensors": lambda: L.convert_to_torch_tensor(
            {
                "a": np.ones(2),
                "d": 2.5,
                "c": np.ones(1, int),
                "b": (1.0, np.float64(2)),
                "e": A([True]),
            }
        ),
        "numpy": lambda: L.convert_to_numpy(
            {"a": torch.ones(2, dtype=torch.float64), "f": T(3), "g": [1, T(1.0)]}
        ),
        "time axis": lambda: L.add_time_dimension(
            torch.arange(6.0).reshape(6, 1), seq_lens=T([2, 3]), framework="torch"
        ),
        "time major": lambda: L.add_time_dimension(
            torch.arange(6.0).reshape(6, 1), seq_lens=T([2, 3]), framework="torch", time_major=True
        ),
        "restored": lambda: plain(
            L.restore_original_dimensions(torch.arange(8.0).reshape(2, 4), with_original(), "torch")
        ),
    }


def with_original():
    """A flat space that was made of a tuple."""
    space = Box(-1, 1, (4,))
    space.original_space = Tuple([Discrete(2), OBS])
    return space


GROUPS = {
    "batch": batch_cases,
    "multi agent": multi_agent_cases,
    "view": view_cases,
    "collector": collector_cases,
    "connector": connector_cases,
    "preprocessor": preprocessor_cases,
    "filter": filter_cases,
    "space": space_cases,
    "space function": space_function_cases,
    "formula": formula_cases,
    "torch": torch_cases,
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
                made[group][name] = f"raised {type(error).__name__}: {error}"
    return made
