"""Schemas and accounts on MariaDB, kept by SQL in process.

The rule of this folder: what a schema or a user should be is decided from what the server says it is; passwords are
read from Secrets at each pass and stand nowhere else.
"""

from stackwright.controllers.database.controllers import controllers

__all__ = ["controllers"]
