"""The name of the model setting that describes a network."""

from typing import Final

NETWORK: Final = "rlconnect_network"
"""The model setting that holds the description of a policy's or module's network."""
