"""A hub of models on this machine: as much of its API as a push and a download ask for."""

import base64
import hashlib
import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "a" * 40


class Handler(BaseHTTPRequestHandler):
    """Repositories are dicts of files in `server.repos`."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, data, code=200, **headers):
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(code)
        kind = "application/octet-stream" if isinstance(data, bytes) else "application/json"
        for name, value in {"Content-Type": kind, "Content-Length": len(body), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        place = self.path.split("?")[0]
        self.server.asked.append((self.headers.get("Authorization"), place))
        if self.headers.get("Authorization") != "Bearer fake":
            return self.answer({"error": "who are you?"}, 401)
        if place == "/api/repos/create":
            told = json.loads(body)
            name = f"{told.get('organization') or 'me'}/{told['name'].rpartition('/')[2]}"
            self.server.repos.setdefault(name, {})
            self.server.told.append(told)
            return self.answer({"url": f"http://{self.headers['Host']}/{name}"})
        if place == "/api/validate-yaml":
            return self.answer({"errors": [], "warnings": []})
        repo, call = re.fullmatch(r"/api/models/([^/]+/[^/]+)/([\w-]+)(?:/.*)?", place).groups()
        if call == "preupload":
            files = [
                {"path": each["path"], "uploadMode": "regular", "shouldIgnore": False}
                for each in json.loads(body)["files"]
            ]
            return self.answer({"files": files})
        if call == "commit":
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "header":
                    self.server.told.append(line["value"])
                elif line["key"] == "file":
                    content = base64.b64decode(line["value"]["content"])
                    self.server.repos[repo][line["value"]["path"]] = content
            url = f"http://{self.headers['Host']}/{repo}/commit/{COMMIT}"
            return self.answer({"commitUrl": url, "commitOid": COMMIT, "success": True})
        if call == "paths-info":
            paths = json.loads(body)["paths"]
            return self.answer([each for each in self.listed(repo) if each["path"] in paths])
        return self.answer({"error": place}, 404)

    def do_GET(self):
        place = self.path.split("?")[0]
        file = re.fullmatch(r"/([^/]+/[^/]+)/resolve/[^/]+/(.+)", place)
        if file:
            content = self.server.repos.get(file[1], {}).get(file[2])
            if content is None:
                return self.answer({"error": "no such file"}, 404, X_Error_Code="EntryNotFound")
            etag = hashlib.sha1(content).hexdigest()
            return self.answer(content, ETag=f'"{etag}"', X_Repo_Commit=COMMIT)
        found = re.fullmatch(r"/api/models/([^/]+/[^/]+?)(?:/(tree|revision)/[^/]+.*)?", place)
        if found is None or found[1] not in self.server.repos:
            return self.answer({"error": "no such repository"}, 404, X_Error_Code="RepoNotFound")
        if found[2] == "tree":
            return self.answer(self.listed(found[1]))
        files = [{"rfilename": name} for name in self.server.repos[found[1]]]
        return self.answer({"id": found[1], "sha": COMMIT, "siblings": files})

    do_HEAD = do_GET

    def listed(self, repo):
        return [
            {"type": "file", "path": name, "size": len(content), "oid": "b" * 40}
            for name, content in self.server.repos.get(repo, {}).items()
        ]


@contextmanager
def fake_hub():
    """A server with its `repos`, what it was `told`, and what was `asked`; and its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.repos, server.told, server.asked = {}, [], []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
