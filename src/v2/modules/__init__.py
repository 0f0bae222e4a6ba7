"""Neural networks of the V2 stack: modules, their specs, catalogs, encoders and heads.

Read `rl_module`, then `spec`; `catalog` says which networks fit which spaces.
"""
