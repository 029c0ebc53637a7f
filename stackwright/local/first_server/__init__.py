"""A first server in a cloud of the local cluster: created by a Job of the image `guest`, and pinged from this machine.

`objects` says what runs, `creation` runs it and reads what became of it, and `ping` asks the server itself. The program
that the Job runs is images/guest/create_server.py.
"""

IMAGE = "guest"
"""The image with the disk of a tiny server, and with what creates one of it."""
