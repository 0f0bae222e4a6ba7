"""Names that put data together again, by what comes out: the harmless part of honest pickles."""

from __future__ import annotations

from typing import Final

ARRAY: Final = "an array, a number or a dtype of numpy's"
DATA: Final = "plain data of Python's"
SPACE: Final = "a space"
TENSOR: Final = "a tensor or a setting of torch's"
_BY_WORDS: Final = {
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
REBUILDING: Final = {name: words for words, names in _BY_WORDS.items() for name in names.split()}

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
