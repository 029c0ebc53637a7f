"""Machines of their own beside a cluster: Debian with systemd and an SSH server, in namespaces on this machine.

`lifecycle` is what the command line calls: add, list, remove. A machine's root file system is a copy of one that is
built once (`root_files`), with what is the machine's own written into it (`furnishing`). Its first process (`python -m
stackwright.local.machine`) makes its view of the machine (`isolation`), and becomes systemd. `entry` says what a
cluster's resources need to know of it.
"""
