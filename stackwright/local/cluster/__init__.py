"""A real Kubernetes with one node on this machine, in namespaces of its own.

`lifecycle` is what the command line calls: up, down, status. Up starts the node's first process (`python -m
stackwright.local.cluster`, then `node`), which makes the node's root folder (`isolation`), runs the programs
(`preparation` says which and how, `supervisor` keeps them running) and says its state in a file (`layout`). What is
pure is in modules of its own: `addresses`, `nameservers`, `flags`, `configuration`, `addons`. The host's firewall, its
/var and its /run are never touched.
"""
