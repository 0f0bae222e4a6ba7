"""What is done to connectors, views and batches, on Ray and on rlconnect alike.

`run(L)` takes any object that has RLlib's names and returns {scenario: plain data}. `record.py`
runs it on Ray; the tests run it on rlconnect and compare with `recorded.json`.
"""

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Tuple

B = Box(-1, 1, (2,), np.float32)
PAIR = Tuple((Discrete(30), Box(-2, 2, (1,))))
NESTED = Dict({"x": B, "k": Discrete(9)})


def plain(value):
    """A nest as plain data: arrays by dtype, shape and values."""
    if hasattr(value, "policy_batches"):
        return {"policies": plain(value.policy_batches), "env_steps": value.env_steps()}
    if isinstance(value, dict):
        columns = {str(key): plain(dict.__getitem__(value, key)) for key in value}
        if type(value).__name__ == "SampleBatch":
            return {"columns": columns, "count": value.count, "padded": bool(value.zero_padded)}
        return columns
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray) and value.dtype == object:
        return {"dtype": "object", "values": [plain(item) for item in value.tolist()]}
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        return {"dtype": str(array.dtype), "shape": list(array.shape), "values": array.tolist()}
    return value


def steps(count, obs=None, actions=np.int32, **columns):
    """Records of one agent, as they reach ViewRequirementAgentConnector."""
    made = []
    for i in range(count):
        data = {
            "new_obs": np.array([i + 1, 10 * i], np.float64) if obs is None else obs(i),
            "actions": actions(i),
            "infos": {"i": i},
        }
        if i:
            data.update(rewards=float(i), terminateds=False, truncateds=False)
        data.update({name: column(i) for name, column in columns.items()})
        made.append(data)
    return made


def views(L, needs, records, states=(), recurrent=False, flatten=True, batch=None):
    """Each record through a ViewRequirementAgentConnector."""
    ctx = L.ConnectorContext(
        config={"model": {"max_seq_len": 20}, "_disable_action_flattening": not flatten},
        initial_states=list(states),
        observation_space=B,
        action_space=Discrete(3),
        view_requirements=needs,
        is_policy_recurrent=recurrent,
    )
    connector = L.ViewRequirementAgentConnector(ctx)
    connector.in_eval()
    found = []
    for data in records:
        if batch is None:
            made = connector([L.AgentConnectorDataType("e", "3", data)])[0]
        else:
            made = connector(
                [L.AgentConnectorDataType("e", agent, dict(data)) for agent in ("1", "2", "3")]
            )[batch]
        found.append(dict(made.data.sample_batch))
    return found


def view_cases(L):
    """Name -> the arguments of `views` after the first."""
    V = L.ViewRequirement
    state = Box(-1, 1, (2,))
    out = {"state_out_0": V(space=state, used_for_compute_actions=False)}
    first = [np.array([5, 6], np.float32)]
    pair = lambda i: (np.int32(i), np.full(1, i * 0.5, np.float32))  # noqa: E731
    given = {"actions": V(space=PAIR, used_for_compute_actions=False)}
    return {
        "obs": ({"obs": V(space=B)}, steps(3)),
        "custom now": ({"obs": V(space=B), "foo": V(space=Box(-9, 9, (3,)))},
                       steps(3, foo=lambda i: np.full(3, i + 1.0))),
        "custom before": ({"obs": V(space=B), "f": V("foo", space=Box(-9, 9, (3,)), shift=-1)},
                          steps(3, foo=lambda i: np.full(3, i + 1.0))),
        "unknown yet": ({"obs": V(space=B), "rewards": V(), "terminateds": V(),
                         "actions": V(space=Discrete(3))}, steps(4)),
        "infos": ({"obs": V(space=B), "infos": V(), "last": V("infos", shift=-1)}, steps(3)),
        "stack": ({"obs": V(space=B), "o3": V("obs", shift="-2:0", space=B),
                   "a3": V("actions", shift="-3:-1", space=Discrete(3)),
                   "r3": V("rewards", shift="-3:-1"), "o1": V("obs", shift=-1, space=B),
                   "two": V("obs", shift=[-3, -1], space=B)}, steps(5)),
        "stride": ({"obs": V(space=B), "o": V("obs", shift="-4:0:2", space=B)}, steps(5)),
        "lstm": ({"obs": V(space=B), **out,
                  "state_in_0": V("state_out_0", shift=-1, space=state, batch_repeat_value=4)},
                 steps(3, state_out_0=lambda i: np.full(2, i * 1.0)), first, True),
        "attention": ({"obs": V(space=B), **out,
                       "state_in_0": V("state_out_0", shift="-3:-1", space=state)},
                      steps(5, state_out_0=lambda i: np.full(2, i * 1.0)), first, True),
        "pair flat": ({"obs": V(space=B), **given, "p": V("actions", shift=-1, space=PAIR),
                       "p3": V("actions", shift="-3:-1", space=PAIR)},
                      steps(5, actions=pair)),
        "pair nested": ({"obs": V(space=B), **given, "p": V("actions", shift=-1, space=PAIR),
                         "now": V("actions", shift=0, space=PAIR)},
                        steps(4, actions=pair), (), False, False),
        "nested obs": ({"obs": V(space=NESTED), "p": V("actions", shift=-1, space=Discrete(3)),
                        "o2": V("obs", shift="-1:0", space=NESTED)},
                       steps(4, obs=lambda i: {"x": np.full(2, i * 1.0), "k": i})),
        "multi discrete": ({"obs": V(space=B),
                            "p": V("actions", shift="-2:-1", space=MultiDiscrete([9, 9]))},
                           steps(4, actions=lambda i: np.array([i, i + 1]))),
    }


def collected(L, needs, count, infer=False, extra=None, **options):
    """A trajectory through an AgentCollector, as a batch to learn from."""
    V = L.ViewRequirement
    S = Box(-1, 1, (1,), np.float32)
    needs = {
        "obs": V(space=S),
        "new_obs": V("obs", shift=1, space=S, used_for_compute_actions=False),
        "actions": V(space=Discrete(9), used_for_compute_actions=False),
        "rewards": V(used_for_compute_actions=False),
        **needs,
    }
    collector = L.AgentCollector(needs, max_seq_len=3, **options)
    collector.add_init_obs(episode_id=7, agent_index=1, env_id=2, init_obs=np.array([10.0]),
                           init_infos={"i": -1}, t=-1)
    seen = [dict(collector.build_for_inference())] if infer else []
    for t in range(count):
        collector.add_action_reward_next_obs(
            {"new_obs": np.array([11.0 + t]), "actions": np.int64(t + 1), "rewards": 1.0 + t,
             "terminateds": t == count - 1, "truncateds": False, "infos": {"i": t}, "t": t,
             **(extra(t) if extra else {})})
        if infer:
            seen.append(dict(collector.build_for_inference()))
    return [seen, dict(collector.build_for_training(needs))]


def collector_cases(L):
    """Name -> a function that runs the case."""
    V = L.ViewRequirement
    A, S = Discrete(9), Box(-1, 1, (1,), np.float32)
    prev = {"prev_actions": V("actions", shift=-1, space=A),
            "prev_rewards": V("rewards", shift=-1)}
    states = {"state_out_0": V(space=S, used_for_compute_actions=False)}
    memory = {"extra": lambda t: {"state_out_0": np.array([t + 0.5])},
              "intial_states": [np.array([9.0])], "is_policy_recurrent": True}
    one = V("state_out_0", shift=-1, batch_repeat_value=3, space=S)
    two = V("state_out_0", shift="-2:-1", batch_repeat_value=3, space=S)
    return {
        "plain": lambda: collected(L, {}, 5),
        "previous": lambda: collected(L, prev, 5),
        "range": lambda: collected(L, {"a": V("actions", shift="-3:-1", space=A)}, 5),
        "range acted": lambda: collected(
            L, {"a": V("actions", shift="-3:-1", space=A)}, 5, infer=True),
        "stack": lambda: collected(L, {"o": V("obs", shift="-2:0", space=S)}, 5),
        "repeat": lambda: collected(
            L, {"p": V("obs", shift=-1, batch_repeat_value=2, space=S),
                "q": V("obs", shift="-2:0", batch_repeat_value=10, space=S)}, 5),
        "future": lambda: collected(
            L, {"f": V("obs", shift=[0, 1, 2], space=S, used_for_compute_actions=False),
                "g": V("actions", shift=1, space=A, used_for_compute_actions=False)}, 5),
        "lstm": lambda: collected(L, {**states, "state_in_0": one}, 5, **memory),
        "lstm acted": lambda: collected(L, {**states, "state_in_0": one}, 5, True, **memory),
        "attention acted": lambda: collected(L, {**states, "state_in_0": two}, 5, True, **memory),
    }


def batch_cases(L):
    """Name -> a function that does something to batches."""
    SB, A = L.SampleBatch, np.array
    base = lambda: SB({"a": A([1, 2, 3]), "b": {"c": A([4, 5, 6])}})  # noqa: E731
    seq = lambda: SB({"a": np.arange(10).reshape(5, 2), "b": {"c": np.arange(5)},  # noqa: E731
                      "state_in_0": A([[0.1], [0.2], [0.3]]), "seq_lens": A([1, 2, 2])})
    padded = lambda: SB({"a": np.arange(6), "state_in_0": A([[0.1], [0.2]]),  # noqa: E731
                         "seq_lens": A([2, 3])}, _zero_padded=True, _max_seq_len=3)
    ends = lambda: SB({"a": np.arange(6), "eps_id": A([0, 0, 1, 1, 1, 2]),  # noqa: E731
                       "terminateds": A([0, 1, 0, 0, 1, 0], bool),
                       "truncateds": np.zeros(6, bool)})
    steps_ = lambda: SB({"obs": np.arange(6.0), "actions": np.arange(6),  # noqa: E731
                         "eps_id": A([1, 1, 5, 5, 5, 5]), "unroll_id": A([4] * 6),
                         "agent_index": A([0] * 6)})
    many = lambda: L.MultiAgentBatch({"p": base(), "q": base()}, 3)  # noqa: E731

    def pad(batch, **options):
        L.pad_batch_to_sequences_of_same_size(batch, **options)
        return batch

    def with_states(batch, **columns):
        for name, column in columns.items():
            batch[name] = column
        return batch

    cases = {
        "size": lambda: [base().size_bytes(), len(seq()), int(seq().max_seq_len)],
        "lists": lambda: SB({"a": [1, 2, 3], "seq_lens": [1, 2]}),
        "columns": lambda: base().columns(["a", "b"]),
        "rows": lambda: [dict(row) for row in base().rows()],
        "concat": lambda: base().concat(base()),
        "concat lens": lambda: L.concat_samples(
            [SB({"a": A([1, 2, 3]), "seq_lens": A([1, 2])}),
             SB({"a": A([4, 5, 6]), "seq_lens": A([3])})]),
        "concat padded": lambda: L.concat_samples([padded(), padded()]),
        "concat empty": lambda: [L.concat_samples([]), L.concat_samples([SB(), base()])],
        "split": lambda: ends().split_by_episode(),
        "split dones": lambda: ends().split_by_episode("dones"),
        "ends": lambda: [ends().is_single_trajectory(), ends()[0:2].is_single_trajectory(),
                         bool(ends()[0:2].is_terminated_or_truncated())],
        "pieces": lambda: [base().timeslices(num_slices=2), seq().timeslices(num_slices=2)],
        "padded right": lambda: seq().right_zero_pad(3),
        "many": lambda: [many(), many().agent_steps(), len(many()), many().size_bytes()],
        "many joined": lambda: L.concat_samples([many(), many()]),
        "many mixed": lambda: L.concat_samples([many(), base()]),
        "wrapped": lambda: [L.MultiAgentBatch.wrap_as_needed({"default_policy": base()}, 3),
                            L.MultiAgentBatch.wrap_as_needed({"p": base()}, 3)],
        "pad divides": lambda: pad(steps_(), max_seq_len=3, batch_divisibility_req=4),
        "pad states": lambda: pad(
            with_states(steps_(), state_in_0=np.arange(6.0) * 10, seq_lens=A([2, 3, 1])),
            max_seq_len=3),
        "pad long": lambda: pad(
            with_states(steps_(), state_in_0=np.arange(6.0), state_out_0=np.arange(6.0)),
            max_seq_len=4),
        "pad features": lambda: pad(
            with_states(steps_(), state_in_0=A([1.0, 2.0, 3.0]), seq_lens=A([2, 3, 1])),
            max_seq_len=4, feature_keys=["obs"]),
        "time axis": lambda: L.add_time_dimension(
            np.arange(12).reshape(6, 2), seq_lens=A([2, 3]), framework="np"),
        "repr": lambda: [repr(base()), repr(seq()), repr(many())],
    }
    for start, end in ((0, 2), (0, 3), (1, 3), (2, 4), (1, 2), (3, 5), (0, 5), (0, 1)):
        cases[f"steps {start}:{end}"] = lambda a=start, b=end: seq().slice(a, b)
        cases[f"sequences {start}:{end}"] = lambda a=start, b=end: seq()[a:b]
    for start, end in ((0, 1), (0, 3), (0, 4), (3, 6)):
        cases[f"padded {start}:{end}"] = lambda a=start, b=end: padded()[a:b]
    return cases


def filter_cases(L):
    """Name -> a function that filters."""
    rows = np.random.default_rng(0).normal(3.0, 2.0, (6, 2))

    def filtered(kind, **options):
        one = kind((2,), **options)
        one(rows[5])  # Ray 2.60 has another variance below two rows than the old stack
        return [[one(row) for row in rows], one(rows[0], update=False)]

    def connected(training, dtype):
        ctx = L.ConnectorContext(config={}, observation_space=B, action_space=Discrete(2))
        one = L.MeanStdObservationFilterAgentConnector(ctx, clip=None)
        made = []
        for i, row in enumerate(rows):
            if i == 3 and not training:
                one.in_eval()
            record = L.AgentConnectorDataType("e", "a", {"new_obs": row.astype(dtype)})
            made.append(one([record])[0].data)
        return made

    def merged():
        one, two = L.MeanStdFilter((2,)), L.MeanStdFilter((2,))
        for row in rows[:3]:
            one(row)
        for row in rows[3:]:
            two(row)
        one.apply_changes(two, with_buffer=False)
        return [one.running_stats.n, one.running_stats.mean, np.float32(one.running_stats.var)]

    return {
        "plain": lambda: filtered(L.MeanStdFilter),
        "no clip": lambda: filtered(L.MeanStdFilter, clip=None, demean=False),
        "clipped": lambda: filtered(L.MeanStdFilter, clip=0.5, destd=False),
        "merged": merged,
        "training": lambda: connected(True, np.float32),
        "evaluation": lambda: connected(False, np.float64),
    }


def piece_cases(L):
    """Name -> a function that runs one connector."""
    def answered():
        ctx = L.ConnectorContext(config={}, action_space=PAIR, initial_states=[np.ones(2)])
        one = L.StateBufferConnector(ctx)
        record = lambda: L.AgentConnectorDataType("e", "a", {"new_obs": 1})  # noqa: E731
        made = [one([record()])[0].data]
        output = ((np.int32(1), np.ones(1)), [np.zeros(2)], {"vf_preds": 2.0})
        one.on_policy_output(L.ActionConnectorDataType("e", "a", {}, output))
        made.append(one([record()])[0].data)
        one.reset("e")
        return [*made, one([record()])[0].data]

    def clipped(**options):
        one = L.ClipRewardAgentConnector(L.ConnectorContext(), **options)
        rewards = (5.8, -3.0, np.float32(0.5), np.array([2.0, -3.0]))
        made = [one([L.AgentConnectorDataType("e", "a", {"rewards": r})])[0] for r in rewards]
        return [list(one.to_state()), [each.data for each in made]]

    return {
        "state buffer": answered,
        "clip sign": lambda: clipped(sign=True),
        "clip limit": lambda: clipped(limit=1.0),
        "clip nothing": lambda: clipped(),
    }


def run(L):
    """Everything, as plain data."""
    found = {}
    for name, arguments in view_cases(L).items():
        found[f"views/{name}"] = plain(views(L, *arguments))
    for group, cases in (("collector", collector_cases(L)), ("batch", batch_cases(L)),
                         ("filter", filter_cases(L)), ("piece", piece_cases(L))):
        for name, case in cases.items():
            found[f"{group}/{name}"] = plain(case())
    return found
