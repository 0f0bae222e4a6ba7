"""Networks of RLlib's old stack, with its class names, settings and parameter names.

`as_data` reads networks without torch. Start at `catalog.py` (which settings give which network),
then `base.py` (what every network can do).
"""
