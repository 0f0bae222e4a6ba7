"""Heads of the old stack: the layers that each algorithm adds, and how its policies act.

`acting.py` and the files of families with a numpy equivalent do not need torch. Start with
`family.py`, then `head.py`.
"""
