"""Action distributions of RLlib's old stack: numpy for the CPU path, torch under RLlib's names.

Start with `choice.py` (which distribution acts where), then `families.py` (the formulas).
"""
