"""What all our kinds share, and the kinds that every service emits or that belong to no service.

The rule of this folder: frozen data, no I/O, no decisions. A field carries the name that stands in YAML, its
default is the server's default, and its description is what `kubectl explain` prints. A module lists its kinds
in `KINDS`; a kind that belongs to one service lives in that service's folder instead.
"""
