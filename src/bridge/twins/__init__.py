"""New-stack equivalents of old pieces and networks, wrapped or native, one step per piece."""
