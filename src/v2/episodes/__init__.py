"""Episodes: what agents saw, did and earned, step by step, stored by column.

Read in this order: `lookback_buffer` (one column), `single_agent` (one agent), `agent_columns` and
`multi_agent` (many agents; `agent_stepping` is how they grow).

**A column has two forms.** While an episode runs, a column is a plain list of the items as they
came: what getters return are those very items, and `buffer.data` is that list, live. `to_numpy()`
makes it one array with a row per step, or a nest of arrays. Writing each step into a growing array
was measured and left: six columns cost 0.83 us a step, appending to lists 0.11 us, and stacking
200 steps at the end 0.5 us a step (`bytes.join` over the small arrays, not `numpy.stack`). Lists
are also what a stranger's code edits (`.data[i] = x`, `.append`, `.pop`, `reversed`).

**Arrays have spare rows** at their end, twice as many when they are full, so adding a step to a
numpy episode copies nothing. Slices of a numpy episode are views; both sides know that they share
rows and copy them before one changes a row, also through `.data`. Adding rows changes none. `cut()`
copies no more than the look-back. Values whose dtype a column cannot hold widen it: a reward of 0.5
written among integers stays 0.5.

**Many agents, one row.** As long as all agents of an episode act and observe in each step, a step
is one row of a `journal`: a few dict copies for any number of agents. The rows are handed out to
the agents' own episodes in one go, column by column, when somebody looks: at a getter other than
the last observations, at `agent_episodes`, at a cut, a slice or a state. From the first look at
`agent_episodes` on, each step goes straight into them, as somebody may hold one. What does not fit
the journal (agents that come, leave, wait or are done) is sorted out agent by agent, at a cost that
depends on the agents concerned and not on all there are (`env_step`).

**When an agent observed** is kept as a sorted list of environment steps, one for each of its
observations (`env_ts`); reading by environment steps is a binary search. RLlib's map from
environment to agent steps, with "S" for none, is made from it when asked for (`env_t_to_agent_t`,
states). Agents are ordered by their first appearance, always (`agent_ids`).

**Columns of many episodes** are read by `gather`: the last items of N episodes in one array, or all
items of N episodes one after the other.

**Pickles** put all small columns of an episode (of all agents) into one block of bytes, and spaces
as short texts (`packing`, `space_state`): a pickled array costs 100 bytes and some microseconds
besides its numbers, a space ten times that.

A store shared by the running episodes of a vector environment was left out: it would save about
1.3 us for each environment step of a sampling loop, of 10 us and more, and every reader of a
running episode would pay for it.
"""
