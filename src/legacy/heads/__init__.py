"""What each algorithm of the old stack adds to a network, and how a policy acts with it.

`acting.py` and the files of families with a numpy twin need no torch. Start with `family.py`, then
`head.py`.
"""
