"""Action distributions of the V2 stack; `rlconnect.v2` exports them."""
