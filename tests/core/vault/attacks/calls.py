"""Files that want to run something: every one must come out as inert names and arguments."""

import pickle

from .assembly import (
    Attack,
    build,
    call,
    dtype,
    group,
    name,
    number,
    program,
    put,
    raw,
    row,
    stacked_name,
    table,
    text,
)

_COMMAND = text("touch /tmp/rlconnect-was-here")
_FUNCTIONS = {
    "os.system": _COMMAND,
    "posix.system": _COMMAND,
    "nt.system": _COMMAND,
    "os.popen": _COMMAND,
    "os.execl": text("/bin/true") + text("true"),
    "os.posix_spawn": text("/bin/true") + row() + table(),
    "os.remove": text("policy_state.pkl"),
    "os.path.exists": text("/etc/passwd"),
    "subprocess.Popen": row(text("true")),
    "subprocess.check_output": row(text("true")),
    "builtins.eval": text("1+1"),
    "builtins.exec": text("x=1"),
    "builtins.compile": text("1") + text("f") + text("eval"),
    "builtins.__import__": text("antigravity"),
    "builtins.open": text("/tmp/rlconnect-was-here") + text("w"),
    "builtins.input": b"",
    "builtins.breakpoint": b"",
    "builtins.setattr": name("builtins", "dict") + text("x") + number(1),
    "builtins.type": text("T") + group(name("builtins", "object")) + table(),
    "builtins.map": name("os", "system") + row(_COMMAND),
    "builtins.memoryview": raw(b"abc"),
    "builtins.bytearray": number(2**40),
    "builtins.bytes": number(2**40),
    "builtins.range": number(2**62),
    "builtins.list": call(name("builtins", "range"), number(2**62)),
    "builtins.pow": number(10) + number(10**9),
    "__builtin__.eval": text("1+1"),
    "_io.open": text("/etc/passwd"),
    "io.open": text("/etc/passwd"),
    "_io.FileIO": text("/tmp/rlconnect-was-here") + text("w"),
    "operator.attrgetter": text("system"),
    "operator.methodcaller": text("system") + _COMMAND,
    "functools.partial": name("os", "system") + _COMMAND,
    "functools.reduce": name("os", "system") + row(_COMMAND),
    "importlib.import_module": text("antigravity"),
    "importlib.machinery.SourceFileLoader": text("x") + text("/tmp/x.py"),
    "runpy.run_path": text("/tmp/x.py"),
    "runpy._run_code": text("1") + table(),
    "ctypes.CDLL": text("libc.so.6"),
    "ctypes.string_at": number(0) + number(8),
    "_ctypes.dlopen": text("libc.so.6") + number(2),
    "pty.spawn": text("/bin/true"),
    "webbrowser.open": text("http://127.0.0.1:9"),
    "socket.create_connection": group(text("127.0.0.1"), number(9)),
    "urllib.request.urlopen": text("http://127.0.0.1:9"),
    "shutil.rmtree": text("policies"),
    "multiprocessing.util.spawnv_passfds": raw(b"/bin/true") + row() + row(),
    "multiprocessing.Process": b"",
    "threading.Thread": b"N" + name("os", "abort"),
    "signal.raise_signal": number(9),
    "sys.exit": number(0),
    "sys.settrace": b"N",
    "atexit.register": name("os", "abort"),
    "code.interact": b"",
    "pdb.run": text("1"),
    "timeit.timeit": text("1"),
    "cProfile.run": text("1"),
    "doctest.debug_script": text("1"),
    "bdb.Bdb.run": text("1"),
    "pickle.loads": raw(pickle.dumps(1)),
    "_pickle.loads": raw(b"cos\nsystem\n(Vtrue\ntR."),
    "cloudpickle.loads": raw(b"cos\nsystem\n(Vtrue\ntR."),
    "dill.loads": raw(b"cos\nsystem\n(Vtrue\ntR."),
    "joblib.load": text("/tmp/x"),
    "marshal.loads": raw(b"N"),
    "types.CodeType": number(0) * 6 + raw(b"") + b")))" + text("f") + text("n") + number(1),
    "types.FunctionType": b"N" + table(),
    "logging.config.dictConfig": table(),
    "torch.load": text("/etc/passwd"),
    "torch.hub.load": text("owner/repository") + text("model"),
    "torch.jit.load": text("/tmp/x.pt"),
    "torch.jit._script.unpackage_script_module": b"NNNN",
    "torch.utils.cpp_extension.load": text("x"),
    "torch._utils._rebuild_qtensor": b"NNNNNN",
    "torch._inductor.codecache.compile_file": text("x"),
    "numpy.load": text("/tmp/x.npy") + b"NNN" + b"\x88",
    "numpy.memmap": text("/tmp/rlconnect-was-here"),
    "numpy.fromfile": text("/etc/passwd"),
    "numpy.f2py.compile": raw(b"x"),
    "numpy.ctypeslib.load_library": text("libc") + text("."),
    "numpy.distutils.exec_command.exec_command": _COMMAND,
    "numpy.testing._private.utils.runstring": text("1") + table(),
    "numpy.ones": number(10**12),
    "numpy._core.numeric.ones": number(10**12),
    "ray.init": b"",
    "ray.cloudpickle.loads": raw(b"N."),
    "ray.remote": name("os", "system"),
    "gymnasium.make": text("module:Env-v0"),
    "gym.envs.registration.load": text("os:system"),
    "tensorflow.io.read_file": text("/etc/passwd"),
    "tree.map_structure": name("os", "system") + row(_COMMAND),
    "pandas.read_pickle": text("/tmp/x"),
    "pandas.eval": text("1"),
    "pip.main": row(text("--version")),
    "site.main": b"",
    "this.s": b"",
    "rlconnect.core.vault.opening.open_checkpoint": text("/"),
    "rlconnect.cli.app.main": row(),
    "collections.OrderedDict.__init__": text("x"),
    "collections.namedtuple": text("T") + text("a;import os"),
    "collections.Counter": text("a" * 50),
    "collections.deque": call(name("itertools", "count")),
    "itertools.repeat": number(1),
    "zipimport.zipimporter": text("/tmp/x.zip"),
    "xml.sax.parse": text("/etc/passwd") + b"N",
    "cloudpickle.cloudpickle.subimport": text("antigravity"),
    "cloudpickle.cloudpickle._make_function": b"NNNNN",
    "cloudpickle.cloudpickle._builtin_type": text("CodeType"),
    "ray.cloudpickle.cloudpickle_fast._function_setstate": b"NN",
}


def _by_function():
    for path, arguments in _FUNCTIONS.items():
        module, _, attribute = path.rpartition(".")
        yield Attack(f"reduce {path}", program(call(name(module, attribute), arguments)))


def _by_opcode():
    """The same wish through every opcode that can express it."""
    system, arguments = name("os", "system"), group(_COMMAND)
    yield Attack("INST os.system", program(b"(" + _COMMAND + b"ios\nsystem\n"))
    yield Attack("OBJ os.system", program(b"(" + system + _COMMAND + b"o"))
    yield Attack("NEWOBJ os.system", program(system + arguments + b"\x81"))
    yield Attack("NEWOBJ_EX os.system", program(system + arguments + table() + b"\x92"))
    yield Attack(
        "NEWOBJ_EX subprocess with shell=True",
        program(
            name("subprocess", "run") + arguments + table(text("shell"), b"\x88") + b"\x92",
        ),
    )
    yield Attack("STACK_GLOBAL os.system", program(call(stacked_name("os", "system"), _COMMAND)))
    for module, attribute in [
        ("os.path", "os.system"),
        ("os", "path.os.system"),
        ("numpy", "core.os.system"),
        ("torch", "os.system"),
        ("builtins", "getattr.__self__.eval"),
        ("collections", "OrderedDict.__init__.__globals__"),
        ("", ""),
        ("..", ".."),
        ("os\0", "system\0"),
        ("/tmp", "x"),
        ("os\nsystem", "x"),
        ("\ud800", "\udfff"),
        ("\x1b[2J", "\x1b]0;owned\x07"),
    ]:
        yield Attack(
            f"dotted STACK_GLOBAL {module!r}:{attribute!r}",
            program(call(stacked_name(module, attribute), _COMMAND)),
        )
    yield Attack("STACK_GLOBAL of numbers", program(number(1), number(2), b"\x93"), ends="refused")
    yield Attack("a name of 3,000 characters", program(name("o" * 3000, "s")), ends="refused")
    yield Attack("EXT1", program(b"\x82\x01"), ends="refused")
    yield Attack("EXT2", program(b"\x83\x01\x01"), ends="refused")
    yield Attack("EXT4", program(b"\x84\x01\x01\x01\x01"), ends="refused")
    yield Attack("PERSID", b"Psystem\n.")
    yield Attack("BINPERSID of a call", program(call(system, _COMMAND), b"Q"))
    yield Attack("out-of-band buffer", program(b"\x97"), ends="refused")
    yield Attack("read-only buffer", program(raw(b"x"), b"\x98"), ends="refused")
    yield Attack("call of a call", program(call(call(system, _COMMAND), _COMMAND)))
    yield Attack("call of a list", program(call(row(), _COMMAND)))
    yield Attack("call of a number", program(number(1) + b")R"))
    yield Attack("arguments are a list", program(system, row(), b"R"), ends="refused")
    yield Attack("arguments are a string", program(system, text("a"), b"R"), ends="refused")
    yield Attack("keywords are a list", program(system, b")", row(number(1)), b"\x92"))


def _by_chain():
    """Attribute walks with getattr, state setters and constructors of ours."""

    def walk(start, *attributes):
        for attribute in attributes:
            start = call(name("builtins", "getattr"), start, text(attribute))
        return start

    numpy = name("numpy", "ndarray")
    yield Attack("getattr chain from numpy", program(walk(numpy, "__class__", "__base__")))
    yield Attack(
        "getattr chain to os.system",
        program(call(walk(name("numpy", "core"), "_internal", "sys", "modules"), text("os"))),
    )
    yield Attack(
        "getattr chain through torch",
        program(call(walk(name("torch", "serialization"), "os", "system"), _COMMAND)),
    )
    yield Attack("getattr on an array", program(walk(call(name("builtins", "dict")), "__class__")))
    yield Attack("getattr with a default", program(call(name("builtins", "getattr"), numpy, b"NN")))
    yield Attack("getattr of getattr", program(walk(name("builtins", "getattr"), "__self__")))
    yield Attack(
        "__setstate__ by getattr",
        program(call(walk(numpy, "__setstate__"), group(number(1), number(2)))),
    )
    yield Attack(
        "copyreg._reconstructor of a class",
        program(
            call(
                name("copyreg", "_reconstructor"),
                name("subprocess", "Popen"),
                name("builtins", "object"),
                b"N",
            )
        ),
    )
    yield Attack(
        "copyreg.__newobj__ of a function",
        program(call(name("copyreg", "__newobj__"), name("os", "system"), _COMMAND)),
    )
    yield Attack(
        "copyreg.__newobj_ex__",
        program(call(name("copyreg", "__newobj_ex__"), name("os", "system"), b")", table())),
    )
    chain = name("copyreg", "__newobj__") + put(0) + b"0"
    yield Attack(
        "copyreg.__newobj__ of itself, 900 deep",
        program(chain, b"(", (b"j\0\0\0\0") * 900, b"t", put(1), b"0j\0\0\0\0j\1\0\0\0R"),
    )
    dangerous = table(text("__class__"), name("os", "system"), text("__reduce__"), b"N")
    targets = {
        "an object": call(name("collections", "UserDict")),
        "a list": row(),
        "a dict": table(),
        "an ordered dict": call(name("collections", "OrderedDict")),
        "a dtype": dtype("f4"),
        "an empty array": call(name("numpy.core.multiarray", "_reconstruct")),
        "a class": name("builtins", "dict"),
        "a set": b"\x8f",
        "None": b"N",
        "a number": number(5),
        "a string": text("abc"),
        "a builtin module": name("builtins", "__dict__"),
    }
    for what, target in targets.items():
        yield Attack(f"BUILD on {what}", program(build(target, dangerous)))
        slots = group(b"N", dangerous)
        yield Attack(f"BUILD slots on {what}", program(build(target, slots)))
    yield Attack(
        "BUILD with __setstate__ in the state",
        program(
            build(call(name("a", "B")), table(text("__setstate__"), name("os", "system"))),
            _COMMAND,
            b"b",
        ),
    )


def _by_value():
    """Functions and classes whose code lies in the file."""
    code = call(
        name("types", "CodeType"),
        *[number(0)] * 6,
        raw(b"d\0S\0"),
        b")",
        b")",
        b")",
        text("owned.py"),
        text("owned"),
        number(1),
        raw(b""),
        b")",
        b")",
    )
    for module in ("cloudpickle.cloudpickle", "ray.cloudpickle.cloudpickle_fast"):
        function = call(name(module, "_make_function"), code, table(), b"N", b"N", b"N")
        yield Attack(f"by-value function of {module}", program(function))
        yield Attack(f"call of a by-value function of {module}", program(call(function)))
        yield Attack(
            f"state of a by-value function of {module}",
            program(
                call(
                    name(module, "_function_setstate"),
                    function,
                    group(table(text("__name__"), text("f")), table(text("__globals__"), b"N")),
                )
            ),
        )
        skeleton = call(
            name(module, "_make_skeleton_class"),
            name("builtins", "type"),
            text("Owned"),
            group(name("builtins", "object")),
            table(text("__init_subclass__"), function),
            text("0"),
            b"N",
        )
        yield Attack(f"by-value class of {module}", program(skeleton))
        yield Attack(
            f"by-value class with a metaclass of {module}",
            program(
                call(
                    name(module, "_make_skeleton_class"),
                    name("os", "system"),
                    text("Owned"),
                    b")",
                    table(),
                    text("0"),
                    b"N",
                )
            ),
        )
        yield Attack(f"object of a by-value class of {module}", program(call(skeleton)))
        yield Attack(
            f"state of a by-value class of {module}",
            program(
                call(
                    name(module, "_class_setstate"),
                    skeleton,
                    group(table(text("__doc__"), function), table()),
                )
            ),
        )
    yield Attack("a code object alone", program(code))
    yield Attack(
        "__reduce_ex__ by name", program(call(name("builtins", "object.__reduce_ex__"), number(2)))
    )


ATTACKS = [*_by_function(), *_by_opcode(), *_by_chain(), *_by_value()]
