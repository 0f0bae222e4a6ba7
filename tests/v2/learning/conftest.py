"""Learners in forks of the process of the tests, which has imported everything."""

import os
import signal
import subprocess
import warnings
from contextlib import suppress
from types import SimpleNamespace

import pytest
import torch
from rlconnect.v2.learning import learner_processes


class Fork:
    """Runs in a fork what `python -c` would run in an interpreter, with the same files open."""

    def __init__(self, command, *, pass_fds, stdin):
        self.returncode = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # The tests' threads hold no lock.
            self.pid = os.fork()
        if self.pid:
            return
        try:
            for name in os.listdir("/dev/fd"):
                if int(name) > 2 and int(name) not in pass_fds:
                    with suppress(OSError):
                        os.close(int(name))
            exec(command[-1], {})
        finally:
            os._exit(1)

    def kill(self):
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout=None):
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


FORKING = SimpleNamespace(**{**vars(subprocess), "Popen": Fork})


@pytest.fixture
def forked(monkeypatch):
    """Learners begin at once; where there is a GPU, which forks cannot use, as they always do."""
    if not torch.cuda.is_available():
        monkeypatch.setattr(learner_processes, "subprocess", FORKING)
