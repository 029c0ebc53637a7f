"""The shapes that nearly every controller has; who has read one has read them all.

composite   a resource that stands for other resources: `children(resource, facts)`
external    a resource that stands for something outside the cluster: read, decide, act

Both end in the same way (`report.py`): conditions computed once, status written when it changed.
"""
