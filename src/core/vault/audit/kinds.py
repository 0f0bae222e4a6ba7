"""What kind of thing a name in a pickle is, by tables that stay with us.

    rebuilding   puts data together again: arrays, tensors, spaces, RLlib's own classes
    author       a class or function of whoever wrote the checkpoint
    unknown      something of a library that nobody looked at: to be treated as code
    runner       runs programs or Python source, imports, opens files, talks to the network, or
                 reaches something that does

A name that goes through what other modules import (`numpy.core.os.system`) or through a double
underscore reaches anything, so it is a runner.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Final, Literal, get_args

ARRAY: Final = "an array, a number or a dtype of numpy's"
DATA: Final = "plain data of Python's"
SPACE: Final = "a space"
TENSOR: Final = "a tensor or a setting of torch's"
_HARMLESS: Final = {
    DATA: """
        _codecs.encode _io.BytesIO _io.StringIO abc.ABCMeta argparse.Namespace builtins.Ellipsis
        builtins.NotImplemented builtins.abs builtins.bool builtins.bytearray builtins.bytes
        builtins.classmethod builtins.complex builtins.dict builtins.enumerate builtins.float
        builtins.frozenset builtins.int builtins.len builtins.list builtins.long builtins.max
        builtins.min builtins.object builtins.property builtins.range builtins.reversed
        builtins.set builtins.slice builtins.staticmethod builtins.str builtins.sum
        builtins.tuple builtins.type builtins.unicode builtins.xrange builtins.zip codecs.encode
        collections.ChainMap collections.Counter collections.OrderedDict collections.UserDict
        collections.defaultdict collections.deque copyreg.__newobj__ copyreg.__newobj_ex__
        copyreg._reconstructor datetime.date datetime.datetime datetime.time datetime.timedelta
        datetime.timezone decimal.Decimal enum.Enum enum.IntEnum fractions.Fraction
        functools.partial io.BytesIO io.StringIO ipaddress.IPv4Address itertools.chain
        itertools.count itertools.repeat logging.getLogger math.inf math.nan operator.add
        operator.itemgetter operator.mul packaging._structures.InfinityType
        packaging._structures.NegativeInfinityType packaging.version.Version
        packaging.version._Version pathlib.Path pathlib.PosixPath pathlib.PurePath
        pathlib.PurePosixPath pathlib.PureWindowsPath pathlib.WindowsPath pathlib._local.Path
        pathlib._local.PosixPath pathlib._local.PurePosixPath random.Random
        ray.rllib.utils.from_config._NotProvided re._compile time.time types.MappingProxyType
        types.NoneType types.SimpleNamespace uuid.UUID weakref.WeakKeyDictionary weakref.WeakSet
        weakref.WeakValueDictionary zoneinfo.ZoneInfo._unpickle
    """,
    ARRAY: """
        gym.utils.seeding.RandomNumberGenerator
        gym.utils.seeding.RandomNumberGenerator._generator_ctor numpy.bool numpy.bool_
        numpy.bytes_ numpy.complex128 numpy.complex64 numpy.core._ufunc_reconstruct
        numpy.core.multiarray._reconstruct numpy.core.multiarray.dtype
        numpy.core.multiarray.ndarray numpy.core.multiarray.scalar
        numpy.core.numeric._frombuffer numpy.core.records.recarray numpy.datetime64 numpy.dtype
        numpy.float16 numpy.float32 numpy.float64 numpy.float_ numpy.inf numpy.int16 numpy.int32
        numpy.int64 numpy.int8 numpy.int_ numpy.intc numpy.longdouble numpy.longlong
        numpy.ma.core.MaskedArray numpy.ma.core._mareconstruct numpy.matrix numpy.nan
        numpy.ndarray numpy.object_ numpy.random._generator.Generator
        numpy.random._mt19937.MT19937 numpy.random._pcg64.PCG64 numpy.random._pcg64.PCG64DXSM
        numpy.random._philox.Philox numpy.random._pickle.__bit_generator_ctor
        numpy.random._pickle.__generator_ctor numpy.random._pickle.__randomstate_ctor
        numpy.random._sfc64.SFC64 numpy.random.bit_generator.SeedSequence
        numpy.random.bit_generator.__pyx_unpickle_SeedSequence numpy.random.mtrand.RandomState
        numpy.rec.recarray numpy.recarray numpy.str_ numpy.timedelta64 numpy.uint numpy.uint16
        numpy.uint32 numpy.uint64 numpy.uint8 numpy.ulonglong numpy.void
    """,
    TENSOR: """
        tensorflow.python.framework.dtypes.as_dtype
        tensorflow.python.framework.ops.convert_to_tensor
        tensorflow.python.ops.resource_variable_ops.ResourceVariable torch.Generator torch.Size
        torch.Storage torch.Tensor torch._tensor.Tensor torch._tensor._rebuild_from_type_v2
        torch.bfloat16 torch.bool torch.complex128 torch.complex64 torch.device torch.double
        torch.dtype torch.float torch.float16 torch.float32 torch.float64 torch.half torch.int
        torch.int16 torch.int32 torch.int64 torch.int8 torch.layout torch.long
        torch.memory_format torch.nn.Parameter torch.nn.functional.elu torch.nn.functional.relu
        torch.nn.functional.silu torch.nn.parameter.Parameter torch.relu
        torch.serialization._get_layout torch.short torch.sigmoid torch.storage.TypedStorage
        torch.storage.UntypedStorage torch.storage._load_from_bytes torch.tanh torch.uint8
    """,
}
REBUILDING: Final = {name: words for words, names in _HARMLESS.items() for name in names.split()}

# Classes by where they live: a name there that begins with a capital is a class of that library.
CLASSES: Final = (
    ("gym.spaces.", SPACE),
    ("gymnasium.spaces.", SPACE),
    ("ray.rllib.", "a class of RLlib's"),
    ("ray.tune.", "a class of Ray Tune's"),
    ("ray.air.", "a class of Ray's"),
    ("torch.nn.modules.", "a network of torch's"),
    ("torch.optim.", "an optimiser of torch's"),
    ("torch.distributions.", "a distribution of torch's"),
    ("numpy.dtypes.", ARRAY),
    ("datetime.", DATA),
)
# Cloudpickle's building blocks, wherever it lies, by their last name.
_CLOUDPICKLE_NAMES: Final = """
    CloudPickler _builtin_type _cell_set _class_setstate _create_parametrized_type_hint
    _empty_cell_value _fill_function _function_setstate _get_bases _get_cell_contents
    _lookup_class_or_track _make_cell _make_dict_items _make_dict_keys _make_dict_values
    _make_empty_cell _make_function _make_skel_func _make_skeleton_class _make_skeleton_enum
    _make_typevar _rehydrate_skeleton_class _walk_global_ops dynamic_subimport instance
    subimport
"""
CLOUDPICKLE: Final = frozenset(_CLOUDPICKLE_NAMES.split())
_BY_VALUE_NAMES: Final = """
    types.CellType types.ClassType types.CodeType types.FunctionType types.LambdaType
    types.ModuleType types.new_class
"""
BY_VALUE: Final = frozenset(_BY_VALUE_NAMES.split())

_RUNNING: Final = {
    "runs programs": """
        _aix_support _distutils_hack _osx_support _posixsubprocess _pyrepl antigravity
        asyncio.base_events asyncio.create_subprocess_exec asyncio.create_subprocess_shell
        asyncio.events asyncio.run asyncio.subprocess asyncio.unix_events commands.getoutput
        commands.getstatusoutput ctypes.util distutils ensurepip idlelib imaplib.IMAP4_stream
        lib2to3 mailcap nt numpy.distutils numpy.f2py numpy.random._examples numpy.testing os
        pexpect.run pexpect.spawn pip pkg_resources platform.popen popen2 posix pty pydoc
        ray._private ray.autoscaler ray.dashboard ray.job_submission ray.runtime_env ray.scripts
        ray.serve setuptools subprocess sysconfig test.support torch._inductor
        torch.backends._nnapi torch.distributed.elastic torch.distributed.launch
        torch.distributed.run torch.utils.bottleneck torch.utils.collect_env
        torch.utils.cpp_extension torch.utils.model_dump turtledemo uuid._get_command_stdout
        venv webbrowser
    """,
    "runs Python source or bytecode": """
        IPython _lsprof annotationlib bdb bpython builtins.apply builtins.breakpoint
        builtins.compile builtins.eval builtins.exec builtins.execfile builtins.help
        builtins.input cProfile cffi cgitb code.InteractiveConsole code.InteractiveInterpreter
        code.interact codeop compileall dataclasses._create_fn dataclasses.make_dataclass
        doctest jinja2 keras.layers.Lambda keras.models keras.saving.load_model
        keras.src.saving.saving_lib.load_model logging.config mako marshal numexpr.evaluate
        pandas.DataFrame.eval pandas.DataFrame.query pandas.core.computation
        pandas.core.frame.DataFrame.eval pandas.core.frame.DataFrame.query pandas.eval pdb
        profile.Profile profile.run profile.runctx ptpython py_compile rlcompleter runpy
        scipy.weave site.addsitedir site.execsitecustomize string.Formatter sympy.parsing
        sympy.sympify symtable tensorflow.keras.layers.Lambda tensorflow.keras.models
        tensorflow.numpy_function tensorflow.py_function
        tensorflow.python.keras.layers.core.Lambda tensorflow.python.keras.models
        tensorflow.python.keras.saving tensorflow.python.ops.script_ops
        tensorflow.python.saved_model tensorflow.saved_model timeit torch._dynamo torch._ops
        torch.compile torch.fx torch.hub torch.jit torch.onnx torch.ops torch.package
        torch.testing._internal torch.utils._config_module torch.utils.data.datapipes
        trace.Trace trace.main typing.get_type_hints unittest yaml.constructor
        yaml.full_load yaml.load yaml.load_all yaml.unsafe_load zipimport
    """,
    "imports modules by name": """
        builtins.__import__ django.utils.module_loading encodings gym.envs.registration.load
        gym.envs.registration.make gym.envs.registration.spec gym.make
        gymnasium.envs.registration.load_env_creator gymnasium.envs.registration.make
        gymnasium.envs.registration.make_vec gymnasium.envs.registration.spec gymnasium.make
        gymnasium.make_vec hydra.utils imp importlib modulefinder pkgutil pydantic.utils
        ray.rllib.utils.from_config ray.rllib.utils.serialization
        ray.tune.registry.get_trainable_cls six.moves werkzeug.utils xmlrpc.server zipapp
    """,
    "reaches any attribute by name": """
        _operator.attrgetter _operator.call _operator.methodcaller builtins.__build_class__
        builtins.__dict__ builtins.delattr builtins.dir builtins.getattr builtins.globals
        builtins.locals builtins.object.__getattribute__ builtins.setattr builtins.super
        builtins.vars functools.cached_property gc operator.attrgetter operator.call
        operator.methodcaller types.BuiltinFunctionType types.DynamicClassAttribute
        types.MethodType unittest.mock weakref.finalize wrapt
    """,
    "opens, writes or deletes files": """
        _io _pyio _sqlite3 builtins.file builtins.open bz2 codecs.open
        configparser.ConfigParser.write dbm fcntl fileinput fsspec.open glob gzip io linecache
        logging.FileHandler logging.basicConfig logging.handlers lzma mmap numpy.DataSource
        numpy._core.memmap numpy.core.memmap numpy.core.records.fromfile numpy.fromfile
        numpy.genfromtxt numpy.lib._datasource numpy.lib._npyio_impl numpy.lib.format
        numpy.lib.npyio numpy.loadtxt numpy.memmap numpy.ndarray.dump numpy.ndarray.tofile
        numpy.save numpy.savetxt numpy.savez pandas.read_csv pathlib.Path.chmod
        pathlib.Path.mkdir pathlib.Path.open pathlib.Path.read_bytes pathlib.Path.read_text
        pathlib.Path.rename pathlib.Path.replace pathlib.Path.rmdir pathlib.Path.symlink_to
        pathlib.Path.touch pathlib.Path.unlink pathlib.Path.write_bytes pathlib.Path.write_text
        pyarrow.fs pyarrow.parquet ray.tune.logger shutil sqlite3 tarfile tempfile tensorflow.io
        tensorflow.python.lib.io tensorflow.python.ops.gen_io_ops tensorflow.python.ops.io_ops
        tensorflow.python.training.saver tensorflow.raw_ops tensorflow.train.Checkpoint
        torch.from_file torch.save torch.utils.tensorboard zipfile
    """,
    "talks to the network": """
        _socket _ssl aiohttp asynchat boto3 botocore datasets.load_dataset ftplib gcsfs http
        httplib httpx huggingface_hub imaplib keras.utils.get_file nntplib paramiko poplib
        requests s3fs selectors smtpd smtplib socket socketserver ssl telnetlib
        tensorflow.keras.utils.get_file torch.utils.model_zoo urllib urllib2 urllib3 wsgiref
        xmlrpc
    """,
    "unpickles once more": """
        _pickle cPickle cloudpickle.cloudpickle.load cloudpickle.cloudpickle.loads
        cloudpickle.cloudpickle_fast.load cloudpickle.cloudpickle_fast.loads cloudpickle.load
        cloudpickle.loads copyreg.add_extension copyreg.pickle dill joblib jsonpickle
        msgpack_numpy.unpack msgpack_numpy.unpackb numpy.compat.py3k
        numpy.core.multiarray.fromfile numpy.load numpy.loads pandas.compat.pickle_compat
        pandas.read_hdf pandas.read_pickle pickle pickletools pyarrow.deserialize
        ray.cloudpickle.cloudpickle.load ray.cloudpickle.cloudpickle.loads
        ray.cloudpickle.cloudpickle_fast.load ray.cloudpickle.cloudpickle_fast.loads
        ray.cloudpickle.compat ray.cloudpickle.load ray.cloudpickle.loads ray.cloudpickle.pickle
        ray.train.load_checkpoint scipy.io shelve skops.io torch._weights_only_unpickler
        torch.distributed.checkpoint torch.distributed.distributed_c10d torch.distributed.rpc
        torch.load torch.multiprocessing.reductions torch.serialization
        torch.utils.serialization
    """,
    "calls native code": """
        _cffi_backend _ctypes _tkinter _winapi _winreg crypt ctypes curses msilib msvcrt nis
        numpy.ctypeslib ossaudiodev readline spwd tkinter winreg
    """,
    "changes the running interpreter": """
        _interpreters _opcode _signal _testcapi _testinternalcapi _xxsubinterpreters atexit
        builtins.exit builtins.quit faulthandler interpreters nturl2path numpy._core._internal
        numpy.core._internal ray.init ray.kill ray.shutdown signal sys tracemalloc
        warnings.showwarning
    """,
    "starts threads or processes": """
        _multiprocessing _thread.start_new _thread.start_new_thread asyncio concurrent
        dask.compute multiprocessing ray._raylet ray.actor ray.client_builder ray.get ray.put
        ray.remote ray.remote_function ray.tune.Tuner ray.tune.run ray.tune.tune ray.tune.tuner
        ray.util.client ray.util.dask ray.util.joblib ray.util.multiprocessing ray.util.rpdb
        ray.util.spark ray.wait thread.start_new_thread threading.Thread threading.Timer
        torch.multiprocessing
    """,
}
RUNNERS: Final = {name: words for words, names in _RUNNING.items() for name in names.split()}


Kind = Literal["rebuilding", "author", "unknown", "runner"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

_BY_VALUE_WORDS: Final = "a function or class whose code lies in the file"
_AUTHOR_WORDS: Final = "a class or function of its author"
# What other modules import and so hand on under their own names.
_HANDED_ON_NAMES: Final = """
    __import__ Popen attrgetter check_call check_output compile ctypes eval exec execfile getattr
    getoutput import_module importlib loads methodcaller nt open os pickle popen posix resolve_name
    run_module run_path runstring setattr shutil spawnl spawnv subprocess sys system
"""
_HANDED_ON: Final = frozenset(_HANDED_ON_NAMES.split())
_FAMILY_NAMES: Final = """
    cloudpickle gym gymnasium jax keras msgpack msgpack_numpy numpy packaging pandas pyarrow ray
    scipy sklearn tensorflow torch tree
"""
FAMILIES: Final = frozenset(_FAMILY_NAMES.split())
_LIBRARIES: Final = (sys.stdlib_module_names | FAMILIES) - {"__main__"}
_OLD_NAMES: Final = {"__builtin__": "builtins", "copy_reg": "copyreg", "exceptions": "builtins"}
_OF_CLASSES: Final = ("__new__", "__init__", "__main__")
_ERRORS: Final = ("Error", "Exception", "Warning", "Iteration")


@lru_cache(maxsize=4096)
def kind_of(module: str, name: str) -> tuple[Kind, str]:
    """The kind of a global, and in words what it is or does.

    Example:
        >>> kind_of("numpy.core.multiarray", "scalar")
        ('rebuilding', "an array, a number or a dtype of numpy's")
        >>> kind_of("posix", "system"), kind_of("my_code", "Net")
        (('runner', 'runs programs'), ('author', 'a class or function of its author'))
        >>> kind_of("numpy.core.numeric", "os.system")
        ('runner', 'reaches os.system')
    """
    root, _, rest = module.partition(".")
    root = _OLD_NAMES.get(root, root)
    module = f"{root}.{rest}" if rest else root
    path = f"{module}.{name}".replace("numpy._core.", "numpy.core.")
    if path in REBUILDING:
        return "rebuilding", REBUILDING[path]
    if path in RUNNERS:
        return "runner", RUNNERS[path]
    parts = name.split(".")
    is_cloudpickle = root == "cloudpickle" or module.startswith("ray.cloudpickle")
    if path in BY_VALUE or (is_cloudpickle and parts[-1] in CLOUDPICKLE):
        return "author", _BY_VALUE_WORDS
    reached = _reached(parts, root)
    if reached and (len(parts) > 1 or not _listed_above(path)):
        return "runner", f"reaches {reached}"
    harmless = _class_of_library(path, root, parts[-1])
    if harmless:
        return "rebuilding", harmless
    words = _listed_above(path)
    if words:
        return "runner", words
    return _of_library(path, root)


def _listed_above(path: str) -> str:
    """The words for the longest listed beginning of a dotted name; empty if none is listed."""
    while path:
        path = path.rpartition(".")[0]
        if path in RUNNERS:
            return RUNNERS[path]
    return ""


def _reached(parts: list[str], root: str) -> str:
    """The part of a qualified name that leads out of plain data; empty for an ordinary name."""
    is_library = root in _LIBRARIES
    for index, part in enumerate(parts):
        is_dunder = part.startswith("__") and part.endswith("__") and part not in _OF_CLASSES
        is_module = index == 0 and len(parts) > 1  # an author's class may have an `open` of its own
        if is_dunder and (len(parts) > 1 or is_library):
            return ".".join(parts[index:])
        if part in _HANDED_ON and (is_module or is_library):
            return ".".join(parts[index:])
    return ""


def _class_of_library(path: str, root: str, last: str) -> str:
    """In words what a class of a library's own is; empty for anything else."""
    is_class = last.lstrip("_")[:1].isupper()
    for prefix, words in CLASSES:
        if is_class and path.startswith(prefix):
            return words
    if path.startswith("torch.") and (
        last.endswith("Storage") or path.startswith("torch._utils._rebuild_")
    ):
        return TENSOR
    return DATA if root == "builtins" and last.endswith(_ERRORS) else ""


def _of_library(path: str, root: str) -> tuple[Kind, str]:
    if path.startswith("ray.rllib."):
        return "unknown", "a function of RLlib's"
    if root in _LIBRARIES:
        owner = "the standard library" if root not in FAMILIES else root
        return "unknown", f"of {owner}; treat it as code"
    return "author", _AUTHOR_WORDS
