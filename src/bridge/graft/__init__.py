"""An old policy as the start of a better one: its network grown for a changed environment."""
