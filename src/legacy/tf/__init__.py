"""Policies that TensorFlow saved: their weights, renamed to the names of our networks.

Start with `weights`. `networks` and `policies` describe which arrays a policy saves in which order,
`layers` the layout of one layer's arrays in both frameworks. No torch here.
"""
