"""The outside world, one module each.

The rule of this folder: plain values in, plain values out, own errors. Third-party clients of such
servers appear here alone, and their exceptions do not leave. (Kubernetes is the ground: its client is `kube/`.)
"""
