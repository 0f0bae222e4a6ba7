"""How policies of the old stack explore when they act."""
