"""The catalog and the users of services, kept through Keystone's API in process.

    access.py       which Keystone a resource is registered with, and how to log in there
    passwords.py    whether users can log in with the password of their Secret
    marks.py        whose a thing in Keystone is, also where several clouds share one
    registration.py what was made in Keystone for a resource, noted in a ConfigMap
    ledger.py       how these notes are read and written
    world.py        what the controllers share
    service.py      KeystoneService
    endpoint.py     KeystoneEndpoint
    own_entry.py    Keystone's own entry in the catalog
    sweeping.py     what is left of resources that are gone
    upgrade.py      what older operators left behind
    controllers.py  all of them, and what wakes them

The rule of this folder: what is in Keystone is compared with what should be; what is made there is noted first and is
marked there, and only what is both is deleted after its resource; passwords are read from Secrets at each pass, and a
try to log in is never made twice in a row.
"""

from stackwright.controllers.identity.controllers import controllers

__all__ = ["controllers"]
