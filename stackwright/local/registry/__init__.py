"""A registry in a cluster on this machine, from which the machines beside it pull images.

`binary` compiles it from the Go module in module/, `objects` says what runs it in the cluster, and `serving` starts it
there. It is started only when somebody asks for it. It has no passwords and no TLS: it is reached from this machine and
its neighbours alone.
"""
