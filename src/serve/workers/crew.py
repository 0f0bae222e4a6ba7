"""One worker among several: what is another's to answer, and what all have to know."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final
from zlib import crc32

from ...core.errors import RlconnectError
from .. import admin
from ..admin import load
from ..answers import log, refusal
from ..app import App, Reply
from ..errors import ServeError
from ..http.messages import Request, Response, json_response
from ..http.protocol import Answer
from ..metrics import Metrics
from ..models import Model
from ..sessions import Key
from . import merged
from .links import Link, Questions
from .supervisor import Post


class Journal:
    """A file that tells which sessions began and were not ended by their clients.

    A process may die at any time; what it wrote stays. Nothing is flushed: sessions end with the
    machine anyway.

    Attributes:
        lost: The sessions of whoever wrote here before.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        open_sessions: dict[Key, None] = {}
        if os.path.exists(path):
            with open(path, "rb") as file:
                for line in file:
                    try:
                        sign, policy, id_ = json.loads(line)
                    except ValueError:  # it died within a line
                        continue
                    if sign:
                        open_sessions[policy, id_] = None
                    else:
                        open_sessions.pop((policy, id_), None)
        self.lost: Sequence[Key] = [*open_sessions]
        self._lines = 0
        self._file: Any = None
        self.rewrite(self.lost)

    def write(self, sign: int, key: Key) -> None:
        """Note that a session began (1), or that its client ended it (0)."""
        self._lines += 1
        self._file.write(_line(sign, key))

    def is_long(self, count: int) -> bool:
        """Whether it tells much more than so many names."""
        return self._lines > 4 * count + 1000

    def rewrite(self, keys: Iterable[Key]) -> None:
        """Tell of these sessions alone."""
        lines = [_line(1, key) for key in keys]
        beside = f"{self._path}.new"
        with open(beside, "wb") as file:
            file.write(b"".join(lines))
        os.replace(beside, self._path)
        if self._file is not None:
            self._file.close()
        self._file = open(self._path, "ab", buffering=0)  # noqa: SIM115
        self._lines = len(lines)

    def close(self) -> None:
        """Write no more."""
        self._file.close()


def _line(sign: int, key: Key) -> bytes:
    return json.dumps([sign, *key]).encode() + b"\n"


def arrangement_of(model: Model) -> dict[str, Any]:
    """A policy's versions by number with their paths, and what each is for."""
    return {
        "name": model.name,
        "versions": [[version.number, version.path] for version in model.versions.values()],
        "current": model.current.number,
        "canary": None if model.canary is None else [model.canary.number, model.canary_share],
        "shadow": None if model.shadow is None else model.shadow.number,
    }


async def arrange(model: Model, arrangement: dict[str, Any]) -> None:
    """Make a policy like another worker's.

    Raises:
        RlconnectError: What is to act cannot be loaded any more.
    """
    if arrangement == arrangement_of(model):
        return
    for number, path in arrangement["versions"]:
        if number in model.versions:
            continue
        try:
            await load(model, path, number)
        except RlconnectError as error:
            if number == arrangement["current"]:
                raise
            log.error("version %d of %s cannot be loaded again: %s", number, model.name, error)
    model.promote(model.numbered(arrangement["current"]), move=False)
    numbers = {number for number, _ in arrangement["versions"]}
    for number in [*model.versions]:
        if number not in numbers:
            model.drop(number)
    if arrangement["canary"] is not None and arrangement["canary"][0] in model.versions:
        model.try_as_canary(model.numbered(arrangement["canary"][0]), arrangement["canary"][1])
    if arrangement["shadow"] in model.versions:
        model.follow_as_shadow(model.numbered(arrangement["shadow"]))


_LATE: Final = 2.0
"""Seconds after which what is told of all workers is told without those that did not answer."""


class Crew:
    """The workers, seen from one of them.

    A session lives in the worker that its name falls to; whoever is asked lets that one answer.
    The first worker leads changes of policies, so that they come to all in the same order.
    """

    def __init__(self, app: App, post: Post, admin_token: str = "") -> None:
        self._app, self._post = app, post
        others = [index for index in range(post.count) if index != post.index]
        self._links = {index: Link(os.path.join(post.folder, str(index))) for index in others}
        self._questions = Questions(os.path.join(post.folder, str(post.index)), self._answer_worker)
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        journal = Journal(os.path.join(post.folder, f"{post.index}.sessions"))
        app.sessions.follow(journal, lambda id_: self.owner(id_) == post.index)
        app.passes_on, app.ends_elsewhere = self.passes_on, self._ends_elsewhere
        for path, of_all in (
            ("/v1/policies", lambda told: {"policies": merged.policies(told)}),
            ("/v1/statistics", merged.statistics),
            ("/metrics", _metrics_text),
        ):
            app.mounted[path] = self._telling(path, of_all)
        app.mounted["/v1/sessions"] = self._sessions
        admin.mount(app, admin_token, self.change)

    def owner(self, id_: str) -> int:
        """Which worker has the sessions of this name."""
        return crc32(id_.encode("utf-8", "surrogatepass")) % self._post.count

    def passes_on(self, document: Any, reply: Reply) -> bool:
        """Let another worker answer a request of a session that it has.

        Returns:
            False if this one has to.
        """
        id_ = document.get("session") if type(document) is dict else None
        if type(id_) is not str:
            return False
        owner = self.owner(id_)
        if owner == self._post.index:
            return False
        self._links[owner].ask("act", document, reply)
        return True

    # From the first request to the last.

    async def begin(self) -> None:
        """Answer the others, and be like them.

        Raises:
            RlconnectError: What acts elsewhere cannot be loaded any more.
        """
        await self._questions.listen()
        for link in self._links.values():
            if await link.is_there():
                status, arrangements = await link.tell("tell", "arrangement")
                if status == 200:
                    for each in arrangements:
                        await arrange(self._app.models[each["name"]], each)
                    return

    async def all_there(self) -> None:
        """Come back when every worker answers."""
        for link in self._links.values():
            while not await link.is_there():
                await asyncio.sleep(0.02)

    async def leave(self, end: float) -> None:
        """Ask no more, and answer until the others have no more to ask either."""
        for link in self._links.values():
            link.close()
        loop = asyncio.get_running_loop()
        while self._questions.asking and loop.time() < end:
            await asyncio.sleep(0.02)
        self._questions.close()

    # Changes.

    def change(self, app: App, document: Any, reply: Reply) -> None:
        """Do what an admin asks, in all workers or in none."""
        if self._post.index:
            self._links[0].ask("change", document, reply)
        else:
            self._soon(self._change(document, reply))

    async def reload(self) -> None:
        """Load each policy from its path once more, in all workers."""
        for model in self._app.models.values():
            document = {"do": "promote", "policy": model.name, "path": model.current.path}

            def tell(status: int, document: Any, name: str = model.name) -> None:
                if status != 200:
                    log.error("policy %s stays as it is: %s", name, document["error"])

            await self._change(document, tell)

    async def _change(self, document: Any, reply: Reply) -> None:
        async with self._turn:
            try:
                fields = admin.checked(document)
                model = self._app.model(fields.get("policy"))
                if "path" in fields:
                    number = model.next_number()
                    loaded = [model.name, fields.pop("path"), number]
                    refused = _refused(await self._by_all("load", loaded))
                    if refused is not None:
                        await self._by_all("drop", [model.name, number])
                        reply(*refused)
                        return
                    fields["version"] = number
                answers = await self._by_all("do", fields)
            except ServeError as error:
                answers = [(error.status, error.to_dict())]
            refused = _refused(answers)
            if refused is not None:
                reply(*refused)
            else:
                reply(200, merged.policies([[facts] for _, facts in answers])[0])

    # What others ask.

    def _answer_worker(self, kind: str, content: Any, reply: Reply) -> None:
        app = self._app
        if kind == "act":
            app.act(content, reply)
        elif kind == "end":
            reply(200, app.end_sessions(content))
        elif kind == "end_one":
            reply(200, app.end_session(*content))
        elif kind == "tell":
            reply(200, self._report(content))
        elif kind == "change":
            self.change(app, content, reply)
        elif kind == "do":
            admin.change(app, content, reply)
        elif kind == "load":
            name, path, number = content
            self._soon(self._load(name, path, number, reply))
        elif kind == "drop":
            app.model(content[0]).drop(content[1])
            reply(200, None)

    async def _load(self, name: str, path: str, number: int, reply: Reply) -> None:
        try:
            await admin.load(self._app.model(name), path, number)
            reply(200, None)
        except RlconnectError as error:
            reply(*admin.not_loaded(error))

    def _report(self, what: str) -> Any:
        app = self._app
        if what == "arrangement":
            return [arrangement_of(model) for model in app.models.values()]
        if what == "/metrics":
            return [app.metrics.counted(), app.gauges()]
        if what == "/v1/sessions":
            return app.listed_sessions()
        return app.statistics() if what == "/v1/statistics" else app.described()

    # What is told of all.

    def _telling(self, path: str, of_all: Callable[[Any], Any]) -> Any:
        def handle(app: App, request: Request, answer: Answer) -> None:
            if request.path != path or request.method not in ("GET", "HEAD"):
                raise ServeError(405, "method_not_allowed", f"{path} takes GET")

            async def gather() -> None:
                result = of_all(await self._by_all_in_time(path))
                answer(result if isinstance(result, Response) else json_response(result))

            self._soon(gather())

        return handle

    def _sessions(self, app: App, request: Request, answer: Answer) -> None:
        id_ = request.path.removeprefix("/v1/sessions").removeprefix("/")
        if not id_:
            self._telling("/v1/sessions", merged.sessions)(app, request, answer)
            return
        if request.method != "DELETE":
            raise ServeError(405, "method_not_allowed", f"{request.path[:200]} takes DELETE")

        def reply(status: int, ended: Any) -> None:
            try:
                if status != 200:
                    raise ServeError(status, "no_worker", "the worker of this session is not there")
                answer(app.ended(id_, ended))
            except ServeError as error:
                answer(refusal(error))

        owner = self.owner(id_)
        if owner == self._post.index:
            reply(200, app.end_sessions(id_))
        else:
            self._links[owner].ask("end", id_, reply)

    def _ends_elsewhere(self, policy: str, id_: str) -> bool:
        """Let another worker end a session that it has; False if this one has it."""
        owner = self.owner(id_)
        if owner == self._post.index:
            return False
        self._links[owner].ask("end_one", [policy, id_], lambda status, told: None)
        return True

    async def _by_all(self, kind: str, content: Any) -> list[tuple[int, Any]]:
        """What every worker answers, this one first."""
        mine: asyncio.Future[tuple[int, Any]] = asyncio.get_running_loop().create_future()
        self._answer_worker(kind, content, lambda *answer: mine.set_result(answer))
        others = (link.tell(kind, content) for link in self._links.values())
        return [*await asyncio.gather(mine, *others)]

    async def _by_all_in_time(self, what: str) -> list[Any]:
        """The answers of all workers that answer in time, this one's first."""

        async def one(link: Link) -> tuple[int, Any]:
            try:
                return await asyncio.wait_for(link.tell("tell", what), _LATE)
            except asyncio.TimeoutError:
                return 503, None

        others = await asyncio.gather(*(one(link) for link in self._links.values()))
        return [self._report(what), *(answer for status, answer in others if status == 200)]

    def _soon(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _refused(answers: Sequence[tuple[int, Any]]) -> tuple[int, Any] | None:
    return next((answer for answer in answers if answer[0] != 200), None)


def _metrics_text(reports: Sequence[Any]) -> Response:
    metrics = Metrics.of([counted for counted, _ in reports])
    text = metrics.text(merged.gauges([gauges for _, gauges in reports]))
    return Response(200, text.encode(), "text/plain; version=0.0.4; charset=utf-8")
