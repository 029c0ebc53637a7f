"""What looks ahead, compares and explains: how a cloud is and why, and what files would become.

The rule of this folder: values in, values out. Nothing here prints, and nothing changes a cluster; `cli` prints.
"""
