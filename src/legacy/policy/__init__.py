"""A policy of the old stack: built from records, acting, saved, told apart stage by stage."""
