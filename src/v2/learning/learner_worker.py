"""One of several learners, in a process of its own: what it is asked to do there."""

from __future__ import annotations

import os
import pickle
import socket
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from .peers import PeerLostError, Peers
from .train_batch import TrainBatch, from_given


@dataclass(frozen=True)
class LearnerPlan:
    """What a learner begins with.

    Attributes:
        learner_class: Its class.
        config: The algorithm's settings.
        module_spec: What its modules are built from.
        state: What all learners begin with.
        order_seed: Chooses the orders of rows, for all learners the same.
        count: How many there are.
        address: Where they meet.
        has_own_device: Whether each has a GPU of its own.
        threads: How many threads of a processor it uses.
    """

    learner_class: Any
    config: Any
    module_spec: Any
    state: Mapping[str, Any]
    order_seed: Any
    count: int
    address: str
    has_own_device: bool
    threads: int


class LearnerWorker:
    """Holds a learner, and has it do what the process that began it asks for."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._learner: Any = None

    def answer(self, read: Callable[[], Any], packed: Callable[[Any], Any]) -> Any:
        """Do what a message asks for; gives a message with what came of it, or the error.

        Args:
            read: Gives the name of a method of this class, and arguments.
            packed: Makes the message.
        """
        doing: dict[str, Any] = {"start": self.start, "improve": self.improve, "call": self.call}
        try:
            method, arguments = read()
            return packed((True, doing[method](*arguments)))
        except Exception as error:
            return packed((False, described(error)))

    def start(self, plan: LearnerPlan) -> None:
        """Build the learner, and wait for the others."""
        loopback = {name for _, name in socket.if_nameindex()} & {"lo", "lo0"}
        if loopback and plan.address.startswith(("file:", "tcp://127.")):
            os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback.pop())
        torch.set_num_threads(plan.threads)
        # Ray shows each of its processes the devices that are its own, this machine shows all.
        devices = torch.cuda.device_count() if plan.has_own_device else 1
        plan.config.local_gpu_idx = self._index % max(devices, 1)
        learner = plan.learner_class(config=plan.config, module_spec=plan.module_spec)
        learner.build()
        learner.set_state(plan.state)
        learner.order_seed = plan.order_seed
        learner.join(
            Peers(self._index, plan.count, plan.address, learner.device, plan.has_own_device)
        )
        self._learner = learner

    def improve(
        self, batch: TrainBatch, epochs: Any, timesteps: Mapping[Any, Any], random_state: Any
    ) -> tuple[Any, Any, Any]:
        """Learn from this learner's rows of a batch.

        Args:
            batch: The rows of all learners.
            epochs: How often and in which portions.
            timesteps: How many steps have been sampled.
            random_state: Torch's generator, for all learners the same.

        Returns:
            The metrics; and of the first learner, the generator and the modules' state.
        """
        learner = self._learner
        torch.set_rng_state(random_state.clone())
        if learner.device.type != "cpu":
            batch = TrainBatch(from_given(batch.columns, learner.device).columns, batch.env_steps)
        learner.improve(batch, epochs, timesteps)
        results = learner.metrics.reduce()
        if not learner.is_first:
            return results, None, None
        return results, torch.get_rng_state(), learner.module.get_state()

    def call(self, func: Callable[..., Any], kwargs: Mapping[str, Any]) -> Any:
        """Call a function with the learner."""
        return func(self._learner, **kwargs)


def described(error: Exception) -> dict[str, Any]:
    """An error as what another process can tell of it, however it is made."""
    import cloudpickle  # type: ignore[import-untyped]  # it has no types

    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    try:
        pickled: bytes | None = cloudpickle.dumps(error)
        pickle.loads(pickled or b"")
    except Exception:  # It does not pickle, or does not come back.
        pickled = None
    return {
        "error": pickled,
        "summary": f"{type(error).__name__}: {error}",
        "text": text,
        "is_of_another": isinstance(error, PeerLostError),
    }
