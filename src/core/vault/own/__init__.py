"""rlconnect's own format: JSON for structure, one safetensors file for arrays, saved in one step.

`docs/own-format.md` specifies it; `writer` and `own_format` are the two ends.
"""
