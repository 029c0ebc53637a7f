"""Placement counts what there is to be had of resources, and who has taken what of them."""
