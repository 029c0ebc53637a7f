"""A real Kubernetes on this machine: its programs, certificates and processes.

Nothing here decides what a cluster is for. `binaries.ensure` finds or makes the programs, `apiserver.ApiServer` runs
an API server with its store and controllers and no nodes; `cluster.lifecycle` brings up a cluster with a node.
"""
