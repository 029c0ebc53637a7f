"""How a command ends, so that scripts can go on from there."""

# Done; for what looks at a cloud: all of it is ready.
DONE = 0
# It could not be done: no cluster, no such resource, no rights. The sentence on standard error says what to do.
FAILED = 1
# It was called wrongly.
WRONG_CALL = 2
# What was asked about, or waited for, is not there yet.
NOT_READY = 3
# What was asked about, or waited for, is in error: somebody must act.
IN_ERROR = 4
INTERRUPTED = 130

# For the end of a help text; click keeps the lines of a paragraph that begins with \b as they are.
TABLE = """\b
Exit codes:
  0    success; or everything is ready
  1    failure
  2    wrong usage
  3    not ready yet, or not within --timeout
  4    something is in error
  130  interrupted
"""
