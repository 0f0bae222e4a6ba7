"""From an old policy to native pieces and modules, one provable step at a time."""
