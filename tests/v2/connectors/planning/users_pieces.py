"""Pieces in the styles users write them; each works wherever in a pipeline it stands."""

import numpy as np
from rlconnect.v2 import BatchIndividualItems, ConnectorV2, GetActions, TensorToNumpy


def is_listed(column):
    """Whether a column is lists by ids, as it is before it is batched."""
    return isinstance(column, dict) and all(isinstance(key, tuple) for key in column)


class AppendItems(ConnectorV2):
    """Adds its own observations, item by item: the default piece then adds none."""

    def __call__(self, *, batch, episodes, **kwargs):
        if "obs" not in batch and not kwargs["shared_data"].get("memorized_map_structure"):
            for episode in self.single_agent_episode_iterator(episodes):
                self.add_batch_item(batch, "obs", episode.get_observations(-1), episode)
        return batch


class ChangeInPlace(ConnectorV2):
    """Adds 1 to each item of each column of numbers, in place."""

    def __call__(self, *, batch, **kwargs):
        for column in [*batch]:
            if is_listed(batch[column]) and column in ("obs", "actions"):
                self.foreach_batch_item_change_in_place(
                    batch, column, lambda item, eps_id, agent_id, module_id: item + 1
                )
        return batch


class RebuildDict(ConnectorV2):
    """Returns a new dict of new dicts and lists."""

    def __call__(self, *, batch, **kwargs):
        return {
            column: {key: list(items) for key, items in own.items()} if is_listed(own) else own
            for column, own in batch.items()
        }


class ReadHistory(ConnectorV2):
    """Adds a column of what was seen and earned before, by negative indices."""

    def __call__(self, *, batch, episodes, **kwargs):
        if not kwargs["shared_data"].get("memorized_map_structure") and "before" not in batch:
            for episode in self.single_agent_episode_iterator(episodes):
                rewards = episode.get_rewards([-2, -1], fill=0.0)
                seen = episode.get_observations(slice(-2, None), fill=0)
                item = np.float32([*rewards, float(np.sum(seen[-1]))])
                self.add_batch_item(batch, "before", item, episode)
        return batch


class WriteBack(ConnectorV2):
    """Changes the last observation of each episode."""

    def __call__(self, *, batch, episodes, **kwargs):
        for episode in self.single_agent_episode_iterator(episodes):
            seen = episode.get_observations(-1)
            episode.set_observations(at_indices=-1, new_data=seen + type(seen[0])(3))
        return batch


class NewColumn(ConnectorV2):
    """Adds a column: nested items of several types."""

    def __call__(self, *, batch, episodes, **kwargs):
        if not kwargs["shared_data"].get("memorized_map_structure"):
            for episode in self.single_agent_episode_iterator(episodes):
                item = {"t": episode.t, "x": (np.ones(2), np.int8(3)), "is_long": len(episode) > 1}
                self.add_batch_item(batch, "extra", item, episode)
        return batch


class DropSome(ConnectorV2):
    """Takes the first of the keys out of all columns that have others."""

    def __call__(self, *, batch, **kwargs):
        for own in batch.values():
            if is_listed(own) and len(own) > 1:
                del own[next(iter(own))]
        return batch


class AsksModule(ConnectorV2):
    """Does one thing for modules with a state, another for those without, and leaves a note."""

    def __call__(self, *, batch, rl_module, episodes, shared_data, **kwargs):
        shared_data["asked"] = rl_module is not None and rl_module.is_stateful()
        if shared_data["asked"] and is_listed(batch.get("obs")):
            batch["obs"] = {key: [own[-1] * 2] for key, own in batch["obs"].items()}
        return batch


class PlainList(ConnectorV2):
    """Adds a column that is one list, of nobody's items."""

    def __call__(self, *, batch, **kwargs):
        if not kwargs["shared_data"].get("memorized_map_structure"):
            self.add_batch_item(batch, "plain", np.arange(2))
        return batch


class ForSomeOnly(ConnectorV2):
    """Adds a column that only the first episode has."""

    def __call__(self, *, batch, episodes, **kwargs):
        if not kwargs["shared_data"].get("memorized_map_structure"):
            for episode in [*self.single_agent_episode_iterator(episodes)][:1]:
                self.add_batch_item(batch, "rare", 1.5, episode)
        return batch


class OwnBatching(BatchIndividualItems):
    """A subclass of a built-in piece: it notes what it was given."""

    def __call__(self, *, batch, shared_data, **kwargs):
        shared_data["columns"] = [*batch]
        return super().__call__(batch=batch, shared_data=shared_data, **kwargs)


class OwnToNumpy(TensorToNumpy):
    """A subclass of a built-in piece."""

    def __call__(self, *, batch, **kwargs):
        return {**super().__call__(batch=batch, **kwargs)}


class OwnActions(GetActions):
    """Draws twice as often as the built-in piece."""

    def __call__(self, *, batch, **kwargs):
        super().__call__(batch={**batch}, **kwargs)
        return super().__call__(batch=batch, **kwargs)


BEFORE_A_MODULE = (
    AppendItems,
    ChangeInPlace,
    RebuildDict,
    ReadHistory,
    WriteBack,
    NewColumn,
    DropSome,
    AsksModule,
    PlainList,
    ForSomeOnly,
    OwnBatching,
)
AFTER_A_MODULE = (ChangeInPlace, RebuildDict, DropSome, AsksModule, OwnToNumpy, OwnActions)
