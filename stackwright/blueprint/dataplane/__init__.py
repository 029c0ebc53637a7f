"""What follows from the resources of a data plane: machines, inventories, inputs, records and what runs next.

    inheritance.py  a node and its role become one machine
    variables.py    the variables of a machine, and which of them are secret
    inventory.py    what Ansible reads
    host_keys.py    the keys by which SSH knows machines again
    inputs.py       what a service runs, and the hash of all that it applies to a machine
    records.py      what runs came to, service by service
    name_lengths.py how long names may be, by what becomes of them
    schedule.py     what runs next, and on which machines together: roles and services of operators both ask it
    node_service.py what a service of an operator on machines is, as data
    wishes.py       which of these services a node is asked to have
    snippets.py     what is refused in a user's own configuration of one
    ways.py         the ways from a machine to what its services need
    addresses.py    the addresses of a machine in its networks
    names.py        its names there, and the servers that it asks for names
    twins.py        nodes that stand for the same machine

The rule of this folder: pure, and without a word of any OpenStack service; operators of services use it as well.
"""
