"""One of several learners, in a process of its own: what it is asked to do there."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import cloudpickle  # type: ignore[import-untyped]  # it has no types
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
    """One of several learners, and the methods that the process that started it can call."""

    def __init__(self, index: int) -> None:
        with suppress(ValueError):  # Not in the main thread. The other process decides what ends.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._index = index
        self._learner: Any = None

    def place(self) -> tuple[int, str, int]:
        """Return the process, its host as Ray knows it and a free port there."""
        from .extra_learners import running_ray

        with socket.socket() as listening:
            listening.bind(("", 0))
            port: int = listening.getsockname()[1]
        return os.getpid(), running_ray().util.get_node_ip_address(), port

    def respond(self, request: bytes, batch: Any) -> bytes:
        """Call a method; return its pickled result, or the error.

        Args:
            request: The pickled name of the method and its arguments.
            batch: Columns in shared memory, or None.
        """
        methods: dict[str, Any] = {"start": self.start, "improve": self.improve, "call": self.call}
        try:
            method, arguments = pickle.loads(request)
            batches = () if batch is None else (batch,)
            result: bytes = cloudpickle.dumps((True, methods[method](*arguments, *batches)))
        except Exception as error:
            result = cloudpickle.dumps((False, described(error)))
        return result

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
        self, epochs: Any, timesteps: Mapping[Any, Any], random_state: Any, batch: TrainBatch
    ) -> tuple[Any, Any, Any]:
        """Learn from this learner's rows of a batch.

        Args:
            epochs: How often and in which portions.
            timesteps: How many steps have been sampled.
            random_state: Torch's generator, for all learners the same.
            batch: The rows of all learners.

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
