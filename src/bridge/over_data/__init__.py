"""Policies over recorded data: what they are worth by it, and what they do on it.

Read `replay` first: how a policy watches recorded episodes. `watchers` has one for each kind of
policy, `watched` goes through a dataset, `evaluation` estimates, `appraisal` says all there is to
say, `page` shows it; `acting` writes what a policy does, `through` what it sees.
"""
