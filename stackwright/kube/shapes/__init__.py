"""The shapes that nearly every controller has; if you have read one controller of a shape, you know them all.

composite   a resource that stands for other resources: `children(resource, facts)`
external    a resource that stands for something outside the cluster: read, decide, act
derived     children of a resource that another controller keeps; it writes no status

The first two end in the same way (`report.py`): conditions computed once, status written when it changed.
"""
