"""Modules under the names of Ray, so that old user code imports without Ray.

`table` reads of `rlconnect.names` which name lies where, module by module, since RLlib has
different things under one name; `finder` makes modules of them, `activation` switches that on and
off. `ray_front` and `plain_names` hold what no other part of rlconnect needs, `stand_ins` the
classes that old sources name and nothing here runs.
"""
