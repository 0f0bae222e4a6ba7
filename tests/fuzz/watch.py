"""See what happens to the process: programs that run, files written, modules loaded by name."""

import os
import platform
import sys
import types

from tests.fuzz import gadgets

_RUNS = ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn")
_REACHES = (
    "socket.connect",
    "socket.bind",
    "socket.getaddrinfo",
    "urllib.Request",
    "ftplib.connect",
)
_WRITES = (
    *("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.truncate"),
    *("os.chmod", "os.chown", "shutil.rmtree", "shutil.move", "shutil.copyfile"),
)
_READS_BY_NAME = ("pickle.find_class",)
_UNREAD = ("fuzz_unread", "antigravity", "this", "ray", "gym", "ale_py")


platform.processor()  # Libraries ask when they are loaded: by a program, once a process.


class Watch:
    """What an audit hook saw while it was armed.

    A hook stays for as long as the process lives; this one does nothing while it is not armed.

    Args:
        scratch: The one folder that may be written to.
    """

    def __init__(self, scratch):
        self.scratch = os.path.realpath(scratch)
        self.is_armed = False
        self.seen = []
        sys.addaudithook(self._hook)
        _plant_canaries()

    def __enter__(self):
        self.seen.clear()
        gadgets.FIRED.clear()
        self.is_armed = True
        return self

    def __exit__(self, *raised):
        self.is_armed = False

    def findings(self):
        """What was seen, in words."""
        return [*self.seen, *(f"executed a canary: {what}" for what in gadgets.FIRED)]

    def _hook(self, event, args):
        if not self.is_armed:
            return
        if event in ("open", *_WRITES):
            self._file(event, args)
        elif event in _RUNS or event in _REACHES or event in _READS_BY_NAME:
            self.seen.append(f"executed {event} {args!r:.150}")
        elif event == "import":
            if str(args[0]).partition(".")[0] in _UNREAD:
                self.seen.append(f"imported {args[0]}")
        elif event in ("compile", "exec") and gadgets.MARK in repr(args[0])[:5000]:
            self.seen.append(f"executed {event} {args!r:.150}")

    def _file(self, event, args):
        if event == "open":
            path, mode, flags = args
            is_writing = (isinstance(mode, str) and any(c in mode for c in "wax+")) or (
                isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            )
            if not is_writing or isinstance(path, int):
                return
        else:
            path = args[0]
        if isinstance(path, int):
            return
        place = os.path.abspath(os.fsdecode(path))
        if place.startswith(("/dev/", "/proc/self")) and not place.startswith("/dev/shm/"):
            return
        # Inside a folder that is held open by its handle, paths are relative to that.
        is_below = not os.path.isabs(os.fsdecode(path)) and args[-1] not in (-1, None, 0)
        if not os.path.realpath(place).startswith(self.scratch) and not (
            event != "open" and is_below
        ):
            self.seen.append(f"wrote by {event} {place}")


def _plant_canaries():
    """A module that is loaded, full of what a file might name and nobody has given."""
    import gymnasium
    from rlconnect.v2 import ConnectorV2, RLlibCallback
    from rlconnect.v2.modules.torch_rl_module import TorchRLModule

    def fire(*args, **kwargs):
        gadgets.FIRED.append(f"fire{args!r:.80}")
        return types.SimpleNamespace()

    def fired(cls, *args, **kwargs):
        gadgets.FIRED.append(cls.__name__)
        return types.SimpleNamespace()

    module = types.ModuleType("fuzz_canary")
    bases = {"Piece": ConnectorV2, "Module": TorchRLModule, "Env": gymnasium.Env}
    bases.update(Callback=RLlibCallback, Anything=object)
    for name, base in bases.items():
        kind = type(name, (base,), {"__new__": fired, "__module__": "fuzz_canary"})
        setattr(module, name, kind)
    module.fire = fire
    sys.modules["fuzz_canary"] = module
