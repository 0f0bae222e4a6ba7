"""Both stacks in one: wrap, adapt, migrate, prove. Empty until there is something to bridge."""
