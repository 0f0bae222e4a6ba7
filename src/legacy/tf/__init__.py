"""Policies that TensorFlow saved: their weights under the names of our networks.

`weights` is the way in; `networks` and `policies` describe what a policy saves and in which order,
`layers` how one layer's arrays lie on both sides. No torch here.
"""
