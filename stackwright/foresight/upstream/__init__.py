"""Upstream's later kinds of the data plane, as resources of ours.

The rule of this folder: it is pure, and nothing is lost silently. Each field is converted, is upstream's default, or
is named in a remark with its path.
"""
