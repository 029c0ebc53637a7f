"""The commands of `stackwright`, one file per noun.

The rule of this folder: a command reads its options, asks `foresight`, `controllers` or `local`, and prints the answer.
"""
