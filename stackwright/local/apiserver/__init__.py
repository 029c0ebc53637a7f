"""An API server without nodes: etcd, kube-apiserver and kube-controller-manager on loopback.

`server` is what users start and stop; it starts a supervisor (`python -m stackwright.local.apiserver`), which owns the
three programs and ends together with its caller. The two speak through `layout`; `flags` has the command lines.
"""
