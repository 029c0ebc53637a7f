"""Users and virtual hosts at message brokers, kept through the management API in process.

The rule of this folder: what a user or a virtual host should be is decided from what the broker says it is; passwords
are read from Secrets at each pass and stand nowhere else.
"""

from stackwright.controllers.broker.controllers import controllers

__all__ = ["controllers"]
