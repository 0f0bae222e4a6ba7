"""Measure the built site in a browser: contrast of words, in light and dark, and width on a phone.

`make docs` runs it where chromium is installed. The page `contrast.html` opens others of the site
in frames of 1,200 and of 400 pixels and lists what is below WCAG's 4.5 (3 for large words).
"""

import re
import shutil
import subprocess
import sys
import threading
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = Path(__file__).parent
SITE = HERE.parents[1] / "site"


class Quiet(SimpleHTTPRequestHandler):
    """Serves the site, and the page that measures it."""

    def translate_path(self, path):
        return str(HERE / path[1:]) if path == "/contrast.html" else super().translate_path(path)

    def log_message(self, *_):
        pass


def main():
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print("no chromium is installed: contrast was not measured.")
        return 0
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/contrast.html"
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=90000"]
        said = subprocess.run(
            [browser, *flags, "--dump-dom", url], capture_output=True, text=True, timeout=300
        ).stdout
        server.shutdown()
    found = unescape(re.search(r"<pre[^>]*>([\s\S]*?)</pre>", said)[1]).split("\n")
    found = [line for line in found if line]
    if found[-1:] != ["DONE"]:
        print("the browser did not get to the end of the pages.", file=sys.stderr)
        return 2
    print("\n".join(found[:-1]) or "every word stands out, and no page is too wide.")
    return int(len(found) > 1)


if __name__ == "__main__":
    sys.exit(main())
