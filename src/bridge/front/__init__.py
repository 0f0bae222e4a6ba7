"""What a user holds: policies of any kind, loaded, and the verbs that take them."""
