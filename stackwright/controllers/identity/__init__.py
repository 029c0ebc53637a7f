"""The catalog and the users of services, kept through Keystone's API in process.

    access.py       which Keystone a resource is registered with, and how to log in there
    passwords.py    whether users can log in with the password of their Secret
    world.py        what the controllers share
    service.py      KeystoneService
    endpoint.py     KeystoneEndpoint
    controllers.py  both, and what wakes them

The rule of this folder: what is in Keystone is compared with what should be; passwords are read from Secrets at each
pass, and a try to log in is never made twice in a row.
"""

from stackwright.controllers.identity.controllers import controllers

__all__ = ["controllers"]
