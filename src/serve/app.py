"""The endpoints: which path does what."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ..core.errors import RlconnectError
from ..core.version import __version__
from .answers import logged, may, refusal, status_of
from .errors import ServeError
from .messages import Answer, Request, Response, error_response, json_response
from .metrics import Metrics, gauges_of
from .models import Model
from .sessions import Session, SessionTable, gone
from .versions import Step
from .wire import codec_of, depth_of, either_ended, fields_of, when_read

if TYPE_CHECKING:
    from ..bridge.loading.mapping import Casting
    from .recording import Recorder

_FIELDS: Final[Mapping[str, Any]] = {
    "obs": object,
    "policy": str,
    "session": (str, bool),
    "batch": bool,
    "explore": bool,
    "reward": object,
    "terminated": object,
    "truncated": object,
    "info": object,
    "step": int,
    "seed": int,
    "fetches": (list, bool),
}
_MOST_NAME: Final = 128
Reply = Callable[[int, Any], None]
"""Called with a status and a document."""


Mounted = Callable[["App", Request, Answer], None]


class App:
    """Answers requests to all policies of a server.

    Args:
        sessions: All sessions.
        token: What clients have to show; None lets everybody in.
        cors: The origin whose pages may ask from a browser; none if empty.
        access_log: Whether each request is told in a line of JSON.
        recorder: What keeps the episodes of sessions, if anything does.

    Attributes:
        token: As given.
        models: The policies by name.
        casting: Which policy plays an agent, where that was told.
        mounted: What answers below a path, instead of the app itself.
        is_ready: Whether every policy has acted once, and the server does not end.
        is_strict: Whether a session begins with step 0 alone, so that none begins by mistake.
        passes_on: Lets another process answer a request, if the request is its to answer.
    """

    def __init__(
        self,
        sessions: SessionTable,
        *,
        token: str | None = None,
        cors: str = "",
        access_log: bool = False,
        recorder: Recorder | None = None,
    ) -> None:
        self.sessions, self.recorder = sessions, recorder
        self.models: dict[str, Model] = {}
        self.casting: Casting | None = None
        self.metrics = Metrics()
        self.is_ready = self.is_strict = False
        self.mounted: dict[str, Mounted] = {}
        self.passes_on: Callable[[Any, Reply], bool] | None = None
        self._access_log = access_log
        self.token, self._cors = token, cors
        self._routes: dict[tuple[str, str], Callable[[Request], Response]] = {
            ("GET", "/healthz"): lambda _: json_response({"status": "ok"}),
            ("GET", "/readyz"): self._ready,
            ("GET", "/metrics"): self._metrics,
            ("GET", "/v1/policies"): lambda _: json_response({"policies": self.described()}),
            ("GET", "/v1/sessions"): lambda _: json_response(self.listed_sessions()),
            ("GET", "/v1/statistics"): lambda _: json_response(self.statistics()),
            ("GET", "/openapi.json"): self._openapi,
            ("GET", "/"): self._page,
        }

    # HTTP.

    def handle(self, request: Request, answer: Answer) -> None:
        """Answer a request now or later."""
        if self._access_log:
            answer = logged(request, answer)
        try:
            is_admin = request.path == "/v1/admin"  # who has a token of their own
            if self.token is not None and not is_admin and not may(request, self.token):
                raise ServeError(401, "unauthorized", "a token is needed",
                                 hint="send authorization: Bearer TOKEN.")  # fmt: skip
            if request.method == "POST" and request.path == "/v1/act":
                self._act_over_http(request, answer)
            else:
                self._other(request, answer)
        except ServeError as error:
            answer(refusal(error))
        except RlconnectError as error:
            answer(error_response(400, str(error.summary), code="bad_request", hint=error.hint))

    def _other(self, request: Request, answer: Answer) -> None:
        path, method = request.path, request.method
        for prefix, handle in self.mounted.items():
            if path == prefix or path.startswith(f"{prefix}/"):
                handle(self, request, answer)
                return
        if path.startswith("/v1/sessions/") and method == "DELETE":
            id_ = path.removeprefix("/v1/sessions/")
            answer(self.ended(id_, self.end_sessions(id_)))
            return
        if path == "/v1/stream":
            raise ServeError(426, "upgrade_required", "this path is for WebSockets")
        if method == "OPTIONS" and self._cors:
            answer(Response(204, b"", "text/plain", self._cors_headers()))
            return
        route = self._routes.get(("GET" if method == "HEAD" else method, path))
        if route is not None:
            answer(route(request))
            return
        verbs = sorted(verb for verb, other in self._routes if other == path)
        if path == "/v1/act":
            verbs = ["POST"]
        if verbs:
            raise ServeError(405, "method_not_allowed", f"{path} takes {' and '.join(verbs)}")
        raise ServeError(
            404,
            "not_found",
            f"nothing is at {path[:200]}",
            hint="GET /openapi.json lists all paths.",
        )

    def _cors_headers(self) -> dict[str, str]:
        return {
            "access-control-allow-origin": self._cors,
            "access-control-allow-headers": "content-type, authorization",
            "access-control-allow-methods": "GET, POST, DELETE",
        }

    # Acting.

    def _act_over_http(self, request: Request, answer: Answer) -> None:
        codec = codec_of(request.content_type)
        headers = self._cors_headers() if self._cors else {}

        def reply(status: int, document: Any) -> None:
            status, body = codec.encoded(status, document)
            extra = {**headers, "retry-after": "1"} if status in (429, 503) else headers
            answer(Response(status, body, codec.content_type, extra))

        def act(document: Any) -> None:
            if isinstance(document, Exception):
                reply(*status_of(document))
            else:
                self.act(document, reply)

        when_read(codec.decode, request.body, act)

    def act(self, body: Any, reply: Reply) -> None:
        """Act for one request; every mistake in it is answered."""
        began = time.perf_counter()
        name = ""

        def done(status: int, document: Any) -> None:
            self.metrics.observe(name, status, time.perf_counter() - began)
            reply(status, document)

        try:
            if self.passes_on is not None and self.passes_on(body, reply):
                return
            fields = fields_of(body, _FIELDS)
            model = self.model(fields.get("policy"))
            name = model.name
            self._begin(model, fields, done)
        except Exception as error:
            done(*status_of(error))

    def model(self, name: str | None) -> Model:
        """The policy that a request is for.

        Raises:
            ServeError: There is none of that name, or several, and none was named.
        """
        if name is None and len(self.models) == 1:
            return next(iter(self.models.values()))
        model = self.models.get(name or "default_policy")
        if model is None:
            named = ", ".join([*self.models][:10])
            if name is None:
                raise ServeError(400, "policy_missing", "there are several policies",
                                 hint=f'name one: "policy": one of {named}.')  # fmt: skip
            raise ServeError(404, "no_policy", f"no policy {name[:_MOST_NAME]!r}",
                             hint=f"there are {named}.")  # fmt: skip
        return model

    def _begin(self, model: Model, fields: dict[str, Any], done: Reply) -> None:
        if "obs" not in fields:
            raise ServeError(400, "obs_missing", "the request has no obs")
        depth_of(fields["obs"])
        session, is_new = self._session(model, fields)
        if session is None:
            self._submit(model, None, fields, done)
            return
        if session.is_busy:
            session.wait(lambda: self._resume(model, session, fields, done))
            return
        try:
            self._continue(model, session, fields, done)
        except Exception:
            if is_new:
                self.sessions.end(session)
            raise

    def _resume(self, model: Model, session: Session, fields: Any, done: Reply) -> None:
        """Go on with a request that waited for the one before it."""
        try:
            if session.is_over:
                raise gone(session.id, "it ended before this request was its turn")
            self._continue(model, session, fields, done)
        except Exception as error:
            try:
                done(*status_of(error))
            finally:
                session.free()

    def _session(self, model: Model, fields: dict[str, Any]) -> tuple[Session | None, bool]:
        """The session of a request, and whether it is new."""
        session_id = fields.get("session")
        if session_id is None or session_id is False:
            return None, False
        if session_id is True:
            session_id = self.sessions.new_id()
        if not session_id or len(session_id) > _MOST_NAME or not session_id.isprintable():
            raise ServeError(400, "bad_field", f"session has to be 1 to {_MOST_NAME} characters")
        key = (model.name, session_id)
        # What is gone may begin anew, if the request says that it is the first.
        find = self.sessions.live if fields.get("step") == 0 else self.sessions.find
        session = find(key)
        if session is not None:
            return session, False
        if fields.get("step", 1 if self.is_strict else 0) > 0:
            unknown_why = "this server knows nothing of it"
            raise gone(
                session_id,
                f"{unknown_why}, and a new one has step 0" if self.is_strict else unknown_why,
            )
        version = model.current
        session = self.sessions.begin(key, version)
        version.sessions += 1
        return session, True

    def _continue(
        self, model: Model, session: Session, fields: dict[str, Any], done: Reply
    ) -> None:
        """Act in a session whose turn it is."""
        if session.successor is not None:
            session.version.hand_over([session], session.successor)
            model.collect()
        number = fields.get("step")
        if number is not None:
            if session.number == number and session.answer is not None:
                done(200, session.answer)
                session.free()
                return
            expected = 0 if session.number is None else session.number + 1
            if number == 0 and session.number is not None:
                session.version.restart(session)
            elif number != expected:
                raise ServeError(
                    409,
                    "out_of_order",
                    f"session {session.id!r} expects step {expected}, not {number}",
                    hint="send each step once and in order; a step may be sent again until the "
                    "next one is.",
                )
        if "seed" in fields:
            session.seed(fields["seed"])
        session.is_busy = True

        def answered(status: int, document: Any) -> None:
            if status == 200 and number is not None:
                session.number, session.answer = number, document
            try:
                done(status, document)
            finally:
                session.free()

        try:
            self._submit(model, session, fields, answered)
        except BaseException:
            session.is_busy = False
            raise

    def _submit(
        self, model: Model, session: Session | None, fields: dict[str, Any], done: Reply
    ) -> None:
        version = model.current if session is None else session.version
        explore = fields.get("explore", False)
        fetches = version.fetches_of(fields.get("fetches"), explore)

        def answer(result: Any) -> None:
            if isinstance(result, Exception):
                done(*status_of(result))
                return
            document = {
                "action": result,
                "session": None if session is None else session.id,
                "policy": model.name,
                "version": version.number,
            }
            if fetches:
                document["action"], document["fetches"] = result
            if session is not None and self.recorder is not None:
                document["recorded"] = True
            done(200, document)

        ended = [
            flag for name in ("terminated", "truncated") if (flag := fields.get(name)) is not None
        ]
        version.submit(
            Step(
                session,
                fields["obs"],
                fields.get("batch", False),
                fields.get("reward"),
                either_ended(ended),
                explore,
                answer,
                fields,
                fetches,
            )
        )

    # Sessions.

    def end_session(self, policy: str, id_: str) -> bool:
        """End a session of a policy, and return whether there was one."""
        session = self.sessions.live((policy, id_))
        if session is None:
            return False
        self.sessions.end(session)
        self.models[policy].collect()
        return True

    def end_sessions(self, id_: str) -> list[str]:
        """End the sessions of a name; the policies that they were with."""
        return [name for name in [*self.models] if self.end_session(name, id_)]

    def ended(self, id_: str, ended: list[str]) -> Response:
        """The answer to who ended the sessions of a name.

        Raises:
            ServeError: There was none.
        """
        if not ended:
            raise ServeError(404, "no_session", f"no session {id_[:_MOST_NAME]!r}")
        return json_response({"session": id_, "ended": ended})

    def listed_sessions(self) -> dict[str, Any]:
        """How many sessions there are, and the last ones used."""
        most = 1000
        listed = [
            {
                "session": session.id,
                "policy": session.key[0],
                "version": session.version.number,
                "steps": session.steps,
            }
            for session in [*self.sessions][-most:]
        ]
        return {"count": len(self.sessions), "sessions": listed}

    # What there is.

    def _ready(self, request: Request) -> Response:
        if self.is_ready:
            return json_response({"status": "ready"})
        return error_response(503, "not ready: loading, or about to end", retry_after="1")

    def described(self) -> list[dict[str, Any]]:
        """Every policy with its versions."""
        return [model.describe() for model in self.models.values()]

    def statistics(self) -> dict[str, Any]:
        """What the page shows."""
        return {
            "version": __version__,
            "started": self.metrics.started,
            "sessions": len(self.sessions),
            "evicted": self.sessions.evicted,
            "expired": self.sessions.expired,
            "recent": self.metrics.recent(),
            "policies": self.described(),
        }

    def gauges(self) -> dict[str, float]:
        """What is measured just now, by name with its labels."""
        return gauges_of(self.sessions, self.models.values(), self.recorder)

    def _metrics(self, request: Request) -> Response:
        text = self.metrics.text(self.gauges())
        return Response(200, text.encode(), "text/plain; version=0.0.4; charset=utf-8")

    def _openapi(self, request: Request) -> Response:
        from .openapi import document

        return json_response(document())

    def _page(self, request: Request) -> Response:
        from .page import response

        return response()
