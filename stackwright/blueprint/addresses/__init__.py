"""Addresses of machines outside of the cluster: what networks there are, what is refused, which address is next.

    subnets.py     networks and subnets as values to compute with
    allocation.py  which addresses an IPSet has, and which it takes next
    refusals.py    what is wrong with a NetConfig or an IPSet, and with a change of one
    names.py       names of addresses, and the file that a name server reads

The rule of this folder: it is pure. Resources go in; decisions and sentences come out.
"""
