"""The reconcilers: they bind the shapes of `kube/` to our kinds and translate the adapters' errors.

The rule of this folder: read, decide, act, in that order; deciding is pure. What was read is one frozen value (`Seen`,
`World`), so that a test can make it up.
"""
