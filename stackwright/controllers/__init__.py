"""The reconcilers: they bind the shapes of `kube/` to our kinds and translate the adapters' errors.

The rule of this folder: read, decide, act, in that order and under those names; deciding is pure.
"""
