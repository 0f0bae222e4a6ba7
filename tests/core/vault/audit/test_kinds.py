"""What kind of thing a name is: tables, and names that reach through others."""

import pytest
from rlconnect.core.vault.audit.kinds import kind_of


@pytest.mark.parametrize(
    "name",
    [
        "os.system", "posix.popen", "nt.system", "subprocess.Popen", "subprocess.check_output",
        "builtins.exec", "builtins.eval", "builtins.compile", "builtins.__import__",
        "__builtin__.eval", "builtins.open", "builtins.getattr", "builtins.globals",
        "importlib.import_module", "runpy.run_path", "shutil.rmtree", "socket.create_connection",
        "ctypes.CDLL", "pty.spawn", "webbrowser.open", "multiprocessing.util.spawnv_passfds",
        "pip.main", "pip._internal.main", "sys.modules", "code.interact", "timeit.timeit",
        "cProfile.run", "profile.run", "pdb.run", "asyncio.subprocess.create_subprocess_exec",
        "operator.attrgetter", "operator.methodcaller", "_operator.methodcaller",
        "torch.hub.load", "torch.load", "torch.jit.load", "torch.serialization.load",
        "torch.jit.unsupported_tensor_ops.execWrapper", "torch._dynamo.guards.GuardBuilder.get",
        "torch._inductor.codecache.compile_file", "torch.utils.collect_env.run",
        "torch.fx.experimental.symbolic_shapes.ShapeEnv.evaluate_guards_expression",
        "torch.utils._config_module.ConfigModule.load_config",
        "torch.utils.bottleneck.__main__.run",
        "numpy.load", "numpy.f2py.crackfortran.myeval", "numpy.testing._private.utils.runstring",
        "cloudpickle.loads", "ray.cloudpickle.loads", "pickle.loads", "_pickle.loads",
        "pandas.read_pickle", "joblib.load", "dill.loads", "marshal.loads", "pkgutil.resolve_name",
        "uuid._get_command_stdout", "pydoc.pipepager", "_pyrepl.pager.pipe_pager",
        "_osx_support._read_output", "_aix_support._read_cmd_output", "imaplib.IMAP4_stream",
        "idlelib.run.Executive.runcode", "lib2to3.pgen2.grammar.Grammar.loads", "trace.Trace.run",
        "distutils.file_util.write_file", "ensurepip._run_pip", "venv.create",
        "doctest.debug_script",
        "logging.config._resolve", "bdb.Bdb.run", "codecs.open", "io.FileIO", "linecache.getline",
        "ssl.get_server_certificate", "urllib.request.urlopen", "requests.get", "http.client.HTTP",
        "threading.Timer", "_thread.start_new_thread", "atexit.register", "signal.signal",
        "gymnasium.make", "ray.init", "ray.remote", "ray.rllib.utils.from_config.from_config",
        "weakref.finalize", "xmlrpc.server.resolve_dotted_attribute", "sqlite3.connect",
    ],
)  # fmt: skip
def test_what_runs_programs_is_a_runner(name):
    """Names that run programs or reach what does, known bypasses of scanners among them."""
    module, _, last = name.rpartition(".")

    assert kind_of(module, last)[0] == "runner"


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("numpy.core.numeric", "os.system"),
        ("linecache", "os.system"),
        ("random", "_os.system"),
        ("collections", "OrderedDict.__init__.__globals__"),
        ("builtins", "object.__subclasses__"),
        ("somebodys_module", "Net.__init__.__globals__"),
        ("somebodys_module", "os.system"),
        ("torch.serialization", "os"),
        ("torch._tensor", "Tensor.__reduce_ex__"),
        ("numpy.random._pickle", "sys.modules"),
    ],
)
def test_names_that_go_through_other_modules_are_runners(module, name):
    """A qualified name may walk over attributes: through modules and double underscores."""
    assert kind_of(module, name)[0] == "runner"


@pytest.mark.parametrize(
    ("module", "name", "kind"),
    [
        ("numpy.core.multiarray", "_reconstruct", "rebuilding"),
        ("numpy._core.multiarray", "scalar", "rebuilding"),
        ("numpy.random._pickle", "__generator_ctor", "rebuilding"),
        ("torch._utils", "_rebuild_tensor_v2", "rebuilding"),
        ("torch.cuda", "FloatStorage", "rebuilding"),
        ("torch.nn.modules.linear", "Linear", "rebuilding"),
        ("gym.spaces.box", "Box", "rebuilding"),
        ("collections", "OrderedDict", "rebuilding"),
        ("copy_reg", "_reconstructor", "rebuilding"),
        ("ray.rllib.algorithms.ppo.ppo", "PPOConfig", "rebuilding"),
        ("ray.rllib.utils.from_config", "_NotProvided", "rebuilding"),
        ("pathlib", "PosixPath", "rebuilding"),
        ("builtins", "ValueError", "rebuilding"),
        ("ray.cloudpickle.cloudpickle_fast", "_function_setstate", "author"),
        ("types", "CodeType", "author"),
        ("my_models", "Net", "author"),
        ("my_models", "Net.open", "author"),
        ("__main__", "run", "author"),
        ("functools", "reduce", "unknown"),
        ("ray.rllib.utils.numpy", "convert_to_numpy", "unknown"),
        ("scipy.signal", "lfilter", "unknown"),
    ],
)
def test_honest_names_are_no_runners(module, name, kind):
    """What rebuilds data is harmless; what is an author's is told; the rest is unknown."""
    assert kind_of(module, name)[0] == kind


@pytest.mark.parametrize("name", ["Thing.__globals__", "Thing.method.__globals__", "a.__loader__"])
def test_what_reaches_through_an_author_s_own_class_is_a_runner(name):
    """A name may go through a class into what holds all modules, at any depth."""
    kind, words = kind_of("somebody.agents", name)

    assert kind == "runner"
    assert words == f"reaches {name[name.index('__') :]}"


def test_a_name_of_two_underscores_alone_is_an_author_s():
    """With nothing before it, it is a name like others in a module of somebody's."""
    assert kind_of("somebody.agents", "__version__")[0] != "runner"
