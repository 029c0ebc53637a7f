"""Placement counts which resources there are, and who uses how much of them."""
