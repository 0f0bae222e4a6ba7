"""What Ray's `PolicyClient` (old stack, `inference_mode="remote"`) speaks, on a port of its own."""

from __future__ import annotations

import asyncio
import hmac
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from ..core.errors import RlconnectError, UnknownNameError
from .answers import log, logged, status_of
from .app import App
from .client_pickles import read_request, write_answer
from .errors import ServeError
from .messages import Answer, Request, Response
from .models import Model
from .sessions import Session
from .versions import Step, row_numbers
from .wire import when_read

_LOCAL: Final = ("GET_WORKER_ARGS", "GET_WEIGHTS", "REPORT_SAMPLES")
_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "START_EPISODE": (),
    "GET_ACTION": ("observation",),
    "LOG_ACTION": ("observation", "action"),
    "LOG_RETURNS": ("reward",),
    "END_EPISODE": ("observation",),
}
_MOST_AGENTS: Final = 1024
_MOST_FINISHED: Final = 100_000
_MOST_NAME: Final = 128
_ALONE: Final = None
"""What the only agent of an episode is called."""
_RAYS: Final = "agent0"
"""And what Ray calls it, where a mapping asks."""
Reply = Callable[[Any], None]
"""Called with what is answered: a dict, or what is wrong."""


class Episode:
    """One episode of a client: what the session table holds as the version of its session.

    Args:
        id_: What the client calls it.

    Attributes:
        agents: The session of each agent with its policy.
        rewards: What each agent earned since it last acted.
    """

    def __init__(self, id_: str) -> None:
        self.id = id_
        self.agents: dict[Any, tuple[Model, Session]] = {}
        self.rewards: dict[Any, float] = {}

    @property
    def number(self) -> int:
        """The version that acts in it; 0 before one does."""
        return max((session.version.number for _, session in self.agents.values()), default=0)

    def session(self, agent: Any, model: Model) -> Session:
        """The agent's own memory with its policy."""
        pair = self.agents.get(agent)
        if pair is None:
            if len(self.agents) >= _MOST_AGENTS:
                raise ServeError(400, "too_many_agents", f"more than {_MOST_AGENTS:,} agents")
            # A tab: no name that a client may give holds one.
            key = (model.name, f"{self.id}\t{'' if agent is _ALONE else repr(agent)}")
            version = model.current
            version.sessions += 1
            pair = self.agents[agent] = (model, Session(key, version, time.monotonic()))
        return pair[1]

    def leave(self, agent: Any) -> None:
        """Forget what is remembered of one agent."""
        self.rewards.pop(agent, None)
        model, session = self.agents.pop(agent, (None, None))
        if model is not None and session is not None:
            session.is_over = True
            session.version.forget(session)
            model.collect()

    def forget(self, session: Session) -> None:
        """Forget all agents: the episode is over."""
        for agent in [*self.agents]:
            self.leave(agent)


class PolicyServer:
    """Answers `PolicyClient`s with the policies of an app.

    Args:
        app: What has the policies and the sessions.
        token: What clients have to show as `authorization: Bearer TOKEN`; empty lets everybody in.
        access_log: Whether each request is told in a line of JSON.
    """

    def __init__(self, app: App, token: str = "", *, access_log: bool = False) -> None:
        self._app, self._access_log = app, access_log
        self._token = f"Bearer {token}".encode() if token else b""
        self._finished: OrderedDict[str, None] = OrderedDict()

    def handle(self, request: Request, answer: Answer) -> None:
        """Answer a request now or later."""
        if self._access_log:
            answer = logged(request, answer)
        began = time.perf_counter()

        def reply(result: Any) -> None:
            response = _response(result)
            self._app.metrics.observe("policy_client", response.status, time.perf_counter() - began)
            answer(response)

        try:
            header = request.headers.get(b"authorization", b"")
            if self._token and not hmac.compare_digest(header, self._token):
                raise ServeError(401, "unauthorized", "a token is needed",
                                 hint="send authorization: Bearer TOKEN.")  # fmt: skip
            if request.path != "/":
                raise ServeError(404, "not_found", "a PolicyClient posts to /")
            if request.method != "POST":
                raise ServeError(405, "method_not_allowed", "/ takes POST")
        except ServeError as error:
            reply(error)
        else:
            when_read(read_request, request.body, lambda fields: self._answer(fields, reply))

    def _answer(self, fields: Any, reply: Reply) -> None:
        """Do what a request asks, or reply with the error."""
        try:
            if isinstance(fields, Exception):
                raise fields
            self._do(fields, reply)
        except Exception as error:
            reply(error)

    def _do(self, fields: Any, reply: Reply) -> None:
        if not isinstance(fields, dict):
            raise ServeError(400, "bad_request", "the body is no dict")
        command = fields.get("command")
        if command in _LOCAL if isinstance(command, str) else False:
            raise ServeError(400, "no_local_mode", f"{command} is of local inference",
                             hint="use inference_mode='remote'")  # fmt: skip
        if not isinstance(command, str) or command not in _FIELDS:
            raise ServeError(400, "bad_command", f"no command {str(command)[:40]!a}",
                             hint=f"there are {', '.join(_FIELDS)}.")  # fmt: skip
        missing = [name for name in _FIELDS[command] if name not in fields]
        if missing:
            raise ServeError(400, "bad_field", f"{command} has no {missing[0]}")
        id_ = fields.get("episode_id")
        if id_ is None and command == "START_EPISODE":
            id_ = os.urandom(16).hex()
        if not isinstance(id_, str) or not 0 < len(id_) <= _MOST_NAME or not id_.isprintable():
            raise ServeError(
                400, "bad_field", f"episode_id has to be a text of 1 to {_MOST_NAME} characters"
            )
        if command == "START_EPISODE":
            self._start(id_)
            reply({"episode_id": id_})
            return
        self._take_turn(self._session(id_), command, fields, reply)

    # Episodes.

    def _start(self, id_: str) -> None:
        if id_ in self._finished:
            raise _completed(id_)
        sessions = self._app.sessions
        if sessions.live(("", id_)) is not None:  # what is gone may begin anew
            raise ServeError(409, "already_started", f"episode {id_!a} is already started")
        sessions.begin(("", id_), Episode(id_))

    def _session(self, id_: str) -> Session:
        session = self._app.sessions.find(("", id_))
        if session is None:
            if id_ in self._finished:
                raise _completed(id_)
            raise ServeError(404, "no_episode", f"episode {id_!a} is not found",
                             hint="start it first.")  # fmt: skip
        return session

    def _take_turn(
        self, session: Session, command: str, fields: dict[str, Any], reply: Reply
    ) -> None:
        """Handle a request to an episode, after earlier ones."""
        if session.is_busy:
            session.wait(lambda: self._take_turn(session, command, fields, reply))
            return
        session.is_busy = True

        def done(result: Any) -> None:
            reply(result)
            session.free()

        try:
            if session.is_over:
                raise _completed(session.id)
            self._turn(session, command, fields, done)
        except RlconnectError as error:
            done(error)

    def _turn(self, session: Session, command: str, fields: dict[str, Any], done: Reply) -> None:
        episode: Episode = session.version
        if command == "LOG_RETURNS":
            self._earn(episode, fields)
            done({})
            return
        is_recorded = self._app.recorder is not None
        if command == "LOG_ACTION" and is_recorded:
            raise ServeError(400, "not_recorded", "a server that records takes no foreign actions")
        is_end = command == "END_EPISODE"
        observed, is_many = self._observed(fields["observation"])
        models = {agent: self._model(agent) for agent in observed}
        for agent, obs in observed.items():  # all or none: the others must not act twice
            models[agent].current.reader.rows([obs])
        if is_end:
            observed = {
                agent: obs for agent, obs in observed.items()
                if is_recorded and agent in episode.agents
            }  # fmt: skip

        def acted(actions: dict[Any, Any]) -> None:
            wrong = next(
                (action for action in actions.values() if isinstance(action, Exception)), None
            )
            if wrong is not None:
                done(wrong)
            elif command == "GET_ACTION":
                done({"action": actions if is_many else actions[_ALONE]})
            else:
                done({})

        def ended(actions: dict[Any, Any]) -> None:
            self._finish(session)
            acted(actions)

        def end_soon(actions: dict[Any, Any]) -> None:
            # The recorder hears of a step after its answer.
            asyncio.get_running_loop().call_soon(ended, actions)

        explore = fields.get("explore", False) is True
        _act(episode, models, observed, end_soon if is_end else acted, ends=is_end, explore=explore)

    def _finish(self, session: Session) -> None:
        self._app.sessions.end(session)
        self._finished[session.id] = None
        if len(self._finished) > _MOST_FINISHED:
            self._finished.popitem(last=False)

    def _earn(self, episode: Episode, fields: dict[str, Any]) -> None:
        sent = fields["reward"]
        rewards = sent if isinstance(sent, dict) else {_ALONE: sent}
        if len(rewards) > _MOST_AGENTS:
            raise ServeError(400, "too_many_agents", f"more than {_MOST_AGENTS:,} agents")
        over = fields.get("done")
        if over is not None and not isinstance(over, dict):
            raise ServeError(400, "bad_field", "done has to be a dict by agent")
        info = fields.get("info")
        if info is not None and not isinstance(info, dict):
            raise ServeError(400, "bad_field", "info has to be a dict")
        earned = {}
        for agent, reward in rewards.items():
            if agent is not _ALONE:
                self._model(agent)
            earned[agent] = 0.0 if reward is None else row_numbers(reward, 1, "reward", 0.0)[0]
        for agent, reward in earned.items():
            if agent in episode.rewards or len(episode.rewards) < _MOST_AGENTS:
                episode.rewards[agent] = episode.rewards.get(agent, 0.0) + reward
        if self._app.recorder is None:  # else the last observation is still to come
            for agent, is_over in (over or {}).items():
                if agent != "__all__" and np.any(is_over):
                    episode.leave(agent)

    # Agents.

    def _observed(self, obs: Any) -> tuple[dict[Any, Any], bool]:
        """What each agent observes, and whether there may be several."""
        if not isinstance(obs, dict):
            return {_ALONE: obs}, False
        models = [*self._app.models.values()]
        space = models[0].current.player.observation_space
        if len(models) == 1 and isinstance(space, spaces.Dict) and obs.keys() == {*space.spaces}:
            return {_ALONE: obs}, False
        return obs, True

    def _model(self, agent: Any) -> Model:
        """The policy of an agent: by the mapping, by the agent's name, or the only one."""
        fits = len(agent) <= _MOST_NAME if type(agent) is str else (
            type(agent) is int and abs(agent) < 1 << 63
        )  # fmt: skip
        if agent is not _ALONE and not fits:
            raise ServeError(400, "bad_field", "an agent's id has to be a whole number or a text "
                             f"of up to {_MOST_NAME} characters")  # fmt: skip
        app = self._app
        if app.casting is not None:
            try:
                return app.models[app.casting(_RAYS if agent is _ALONE else agent)]
            except UnknownNameError as error:
                raise ServeError(404, "no_policy", error.summary,
                                 hint="the server's --map '*=POLICY' says who plays all others.",
                                 ) from None  # fmt: skip
        if len(app.models) > 1 and str(agent) in app.models:
            return app.models[str(agent)]
        return app.model(None)


def _act(
    episode: Episode,
    models: Mapping[Any, Model],
    observed: Mapping[Any, Any],
    done: Callable[[dict[Any, Any]], None],
    *,
    ends: bool,
    explore: bool,
) -> None:
    """Act for several agents, and hand on their actions or errors together."""
    actions: dict[Any, Any] = dict.fromkeys(observed)
    waiting = {*observed}
    if not waiting:
        done(actions)

    def take(agent: Any, session: Session, action: Any) -> None:
        if not isinstance(action, Exception):
            episode.rewards.pop(agent, None)
            action = _typed(action, session.version.player.action_space)
        actions[agent] = action
        waiting.discard(agent)
        if not waiting:
            done(actions)

    for agent, obs in observed.items():
        try:
            session = episode.session(agent, models[agent])
        except ServeError as error:
            actions[agent] = error
            waiting.discard(agent)
            if not waiting:
                done(actions)
            continue
        reward = episode.rewards.get(agent, 0.0)

        def answer(action: Any, agent: Any = agent, session: Session = session) -> None:
            take(agent, session, action)

        earned = {"reward": reward, "terminated": ends}
        try:
            session.version.submit(Step(session, obs, False, reward, ends, explore, answer, earned))
        except ServeError as error:
            take(agent, session, error)


def _typed(action: Any, space: Any) -> Any:
    """An action as an environment takes it: a number, or an array of the space's kind."""
    if isinstance(space, spaces.Dict) and isinstance(action, Mapping):
        return {name: _typed(action[name], part) for name, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple) and isinstance(action, (list, tuple)):
        return tuple(
            _typed(part_of_action, part)
            for part_of_action, part in zip(action, space.spaces, strict=True)
        )
    if isinstance(space, spaces.Discrete):
        return int(action)
    return np.asarray(action, space.dtype)


def _completed(id_: str) -> ServeError:
    return ServeError(409, "completed", f"episode {id_!a} has completed", hint="start another.")


def _response(result: Any) -> Response:
    """A pickle, or a line of text that says why not: clients log it."""
    headers = {}
    if not isinstance(result, Exception):
        try:
            return Response(200, write_answer(result), "application/octet-stream")
        except TypeError as error:
            result = error
            log.error("an action could not be written", exc_info=error)
    status, document = status_of(result)
    if status in (429, 503):
        headers = {"retry-after": "1"}
    line = f"{document['code']}: {document['error']}" + (
        f"; {document['hint']}" if document.get("hint") else ""
    )
    text = " ".join(line.split())[:500].encode("utf-8", "replace")
    return Response(status, text, "text/plain; charset=utf-8", headers)
