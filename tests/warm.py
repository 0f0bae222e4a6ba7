"""Programs in processes of their own, without seconds of imports: forks of one that has them."""

import atexit
import json
import os
import runpy
import subprocess
import sys
import types
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

HAS = (
    "torch",
    "gymnasium",
    "rlconnect.cli.app",
    "rlconnect.bridge.front.load",
    "rlconnect.bridge.rollout",
)


def run(arguments, folder=None, env=None):
    """What `subprocess.run([sys.executable, *arguments])` gives, with its output as text."""
    arguments = list(map(str, arguments))
    env, folder = dict(os.environ if env is None else env), str(folder or Path.cwd())
    if not hasattr(os, "fork"):
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=folder, env=env, capture_output=True, encoding="utf-8")
    with TemporaryDirectory() as place:
        files = [Path(place, name) for name in ("out", "err")]
        asked = {"arguments": arguments, "folder": folder, "env": env, "files": [*map(str, files)]}
        server = _server()
        server.stdin.write(json.dumps(asked) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        said = [each.read_text(encoding="utf-8") for each in files]
    return subprocess.CompletedProcess(arguments, code, *said)


@cache
def _server():
    """The process that is forked; one for each process that asks."""
    command = [sys.executable, str(Path(__file__).resolve())]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8"}
    server = subprocess.Popen(command, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, **pipes)

    @atexit.register
    def end():
        server.kill()
        server.communicate()

    return server


def _asked():
    """In each child what it is to run; None in the process that is forked, at its end."""
    for line in sys.stdin:
        child = os.fork()
        if not child:
            return json.loads(line)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    return None


def _become(program, *words, folder, env, files):
    """Run a program as Python would have started with it."""
    for stream, path in enumerate(files, 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["-c", *words[1:]] if program == "-c" else [program, *words]
    if program == "-c":
        sys.path.insert(0, "")
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(words[0], "<string>", "exec"), vars(main))
    else:
        sys.path.insert(0, str(Path(program).resolve().parent))
        runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    for each in HAS:
        with suppress(ImportError):
            import_module(each)
    if asked := _asked():
        program = asked.pop("arguments")
        _become(*program, **asked)
