"""`python -m rlconnect`: the command line."""

from .cli.app import entry

if __name__ == "__main__":
    entry()
