"""Several processes behind one port: each session lives in one, which all others ask for it."""
