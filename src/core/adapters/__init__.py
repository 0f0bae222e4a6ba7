"""Steps that absorb a change of environment: what a policy sees, what it does, what it earns.

A step is data, a frozen dataclass with plain settings. Bound to a space it becomes a formula over
arrays with any leading axes, numpy or torch, and says what space comes out. The connectors of both
stacks, the tensor module and the exported artifact all run the one formula.
"""

from __future__ import annotations

from .actions import Discretise, ExtendAction, MapActions, MaskActions, ProjectAction, Undiscretise
from .beside import KeepBeside
from .chain import AdapterChain, BoundChain
from .discrete import OneHot, Renumber, UnOneHot
from .features import DropFeatures, InsertFeatures, SelectFeatures
from .frames import AddRates, StackFrames
from .functions import ApplyFunction, register_function
from .images import CropImage, Grayscale, MoveChannels, ResizeImage
from .keys import ConcatKeys, DropKeys, NestUnder, PickKey, RenameKeys, SplitFeatures
from .scaling import Cast, Clip, Rescale, Scale
from .step import At, Bound, Step, step_from_data, steps

__all__ = [
    "AdapterChain",
    "AddRates",
    "ApplyFunction",
    "At",
    "Bound",
    "BoundChain",
    "Cast",
    "Clip",
    "ConcatKeys",
    "CropImage",
    "Discretise",
    "DropFeatures",
    "DropKeys",
    "ExtendAction",
    "Grayscale",
    "InsertFeatures",
    "KeepBeside",
    "MapActions",
    "MaskActions",
    "MoveChannels",
    "NestUnder",
    "OneHot",
    "PickKey",
    "ProjectAction",
    "RenameKeys",
    "Renumber",
    "Rescale",
    "ResizeImage",
    "Scale",
    "SelectFeatures",
    "SplitFeatures",
    "StackFrames",
    "Step",
    "UnOneHot",
    "Undiscretise",
    "register_function",
    "step_from_data",
    "steps",
]
