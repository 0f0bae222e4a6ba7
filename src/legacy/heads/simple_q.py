"""SimpleQ: the outputs of a network of the catalog are the Q values, told under no name."""

from __future__ import annotations

from dataclasses import replace

from ..distributions.choice import choices_only
from . import actor

FAMILY = replace(actor.FAMILY, distribution=choices_only)
