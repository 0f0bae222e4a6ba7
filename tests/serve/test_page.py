"""The page at /, in a real browser."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from .running import RawWebSocket, Running, policy_of, recurrent, running

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or os.name == "nt", reason="there is no Chromium to look with"
)


class Browser:
    """A page in a browser, asked over the protocol of its developer tools.

    Args:
        connection: To the page.
    """

    def __init__(self, connection: RawWebSocket) -> None:
        self._connection, self._number = connection, 0

    def call(self, method: str, **parameters: Any) -> Any:
        """The result of a command."""
        self._number += 1
        asked = {"id": self._number, "method": method, "params": parameters}
        self._connection.send(json.dumps(asked).encode())
        while True:
            told = json.loads(self._connection.receive())
            if told.get("id") == self._number:
                assert "error" not in told, told
                return told["result"]

    def run(self, script: str) -> Any:
        """What a script gives, waited for if it is a promise."""
        told = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def until(self, claim: str) -> None:
        """Come back when a claim about the page is true."""
        wait = f"""new Promise((done) => {{
            const look = () => ({claim}) ? done(true) : setTimeout(look, 20);
            look();
        }})"""
        assert self.run(wait)


@contextmanager
def browser(url: str, folder: Path) -> Iterator[Browser]:
    """A browser that shows a page."""
    assert CHROMIUM is not None
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
               "--disable-dev-shm-usage", "--remote-debugging-port=0",
               f"--user-data-dir={folder}", "about:blank"]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, encoding="utf-8") as process:
        try:
            assert process.stderr is not None
            line = next(line for line in process.stderr if "DevTools listening on" in line)
            port = int(line.split("127.0.0.1:")[1].split("/")[0])
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=60) as told:
                page = next(each for each in json.load(told) if each["type"] == "page")
            path = page["webSocketDebuggerUrl"].split(f":{port}")[1]
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                connection.sendall(
                    f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nupgrade: websocket\r\n"
                    "connection: Upgrade\r\nsec-websocket-version: 13\r\n"
                    "sec-websocket-key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n".encode()
                )
                raw = RawWebSocket(connection)
                assert b" 101 " in raw.until(b"\r\n\r\n")
                found = Browser(raw)
                found.call("Page.enable")
                found.call("Page.navigate", url=url)
                found.until(f"location.href.startsWith({json.dumps(url)})")
                yield found
        finally:
            process.kill()


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Browser, Running]]:
    """A page of two policies, and its server."""
    with (
        running({"plain": policy_of(), "<b>memory</b>": recurrent()}) as server,
        browser(server.url, tmp_path_factory.mktemp("browser")) as page,
    ):
        page.until("document.querySelectorAll('#policies tr').length === 2")
        yield page, server


def text(page: Browser, selector: str) -> str:
    """What a person reads there."""
    found: str = page.run(f"document.querySelector({json.dumps(selector)}).textContent")
    return found


def test_a_person_looks_and_tries(shown: tuple[Browser, Running]) -> None:
    """Policies, live numbers, and a form that acts, with a memory and without; names stay text."""
    page, server = shown
    table = text(page, "#policies")
    assert "plain" in table
    assert "<b>memory</b>" in table
    assert page.run("document.querySelector('#policies b')") is None
    assert json.loads(page.run("document.querySelector('#obs').value")) == [0] * 4

    page.run("document.querySelector('#act').click()")
    page.until("document.querySelector('#answer').textContent.includes('version')")
    answer = json.loads(text(page, "#answer"))
    assert answer["action"] == server.act([0] * 4, policy="plain")["action"]
    assert answer["session"] is None

    page.run("document.querySelector('#policy').value = '<b>memory</b>'")
    page.run("document.querySelector('#keep').click(); document.querySelector('#act').click()")
    page.until("document.querySelector('#answer').textContent.includes('s-')")
    page.until("document.querySelector('#sessions').textContent === '1'")
    page.until("document.querySelector('#rates polyline') !== null")

    page.run("document.querySelector('#obs').value = '[1, ';"
             "document.querySelector('#act').click()")  # fmt: skip
    page.until("document.querySelector('#answer').textContent.includes('no JSON')")
    page.run("document.querySelector('#obs').value = '[1]';"
             "document.querySelector('#act').click()")  # fmt: skip
    page.until("document.querySelector('#answer').textContent.includes('bad_observation')")
    assert text(page, "#notice") == ""


@pytest.mark.parametrize("width", [380, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits(shown: tuple[Browser, Running], width: int, scheme: str) -> None:
    """On a telephone and on a desk, by day and by night: nothing hangs out, all can be read."""
    page, _ = shown
    page.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
              mobile=False)  # fmt: skip
    page.call("Emulation.setEmulatedMedia",
              features=[{"name": "prefers-color-scheme", "value": scheme}])  # fmt: skip
    page.until(f"window.innerWidth === {width}")
    assert page.run("document.documentElement.scrollWidth <= window.innerWidth")
    dim = page.run(CONTRASTS)
    assert dim == [], dim


CONTRASTS = """(() => {
  const paint = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const parts = (colour) => {
    paint.clearRect(0, 0, 1, 1); paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1);
    return [...paint.getImageData(0, 0, 1, 1).data];
  };
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((x) => x / 255)
      .map((x) => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const colour = parts(getComputedStyle(node).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const dim = [];
  for (const node of document.querySelectorAll("main *")) {
    const own = [...node.childNodes].some((x) => x.nodeType === 3 && x.textContent.trim());
    if (!own || node.closest("svg, option")) continue;
    const [a, b] = [light(parts(getComputedStyle(node).color)), light(behind(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) dim.push([node.tagName, node.textContent.trim().slice(0, 30), ratio]);
  }
  return dim;
})()"""
