"""Schemas and accounts on MariaDB: the operator itself keeps them in order, with SQL.

The rule of this folder: every decision compares the resource with what the server reports. Passwords are read from
Secrets at each pass and are stored nowhere else.
"""

from stackwright.controllers.database.controllers import controllers

__all__ = ["controllers"]
