"""One object that acts: any checkpoint, one observation or thousands."""
