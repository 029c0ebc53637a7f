"""What an OpenStack service is, and how configuration, jobs, release values and endpoints follow from it.

The rule of this folder: pure. Values in, values out; it names no service.
"""
