"""Requests that fail are answered, and release what they took."""

from __future__ import annotations

import numpy as np
import pytest
from rlconnect.serve import Client
from rlconnect.serve.errors import ServeError

from .running import recurrent, running


def test_both_ends_as_arrays() -> None:
    """A session goes on after both flags came as arrays, or as something else."""
    with running({"only": recurrent()}) as server, Client(server.url, timeout=10) as client:
        session = client.session()
        obs = np.zeros(4, np.float32)
        session.act(obs)
        odd = [np.zeros(70_000, bool), {"a": 1}, [[1], [1, 2]], "x", np.array([True, False])]
        for flag in odd[1:]:
            with pytest.raises(ServeError) as caught:
                client._ask("POST", "/v1/act", _body(obs, flag, session.id), False)
            assert caught.value.status == 400
        with pytest.raises(ServeError) as caught:  # over 64 KiB, so it is read off the loop
            client._ask("POST", "/v1/act", _body(obs, odd[0], session.id), False)
        assert caught.value.status == 400
        session.act(obs)


def _body(obs, flag, session):
    from rlconnect.serve.asking import asked_body

    return asked_body(obs, {"session": session, "terminated": flag, "truncated": flag})
