"""The umbrella: one OpenStackControlPlane becomes the resources of its services.

    resolution.py  which resources: those that were asked for, and those that these need; what each of them says
    refusals.py    what is asked for and cannot be served yet
    passwords.py   which passwords the services take from the Secret, and who makes them
    controller.py  the composite, and what wakes it
    admission.py   the early answer to who writes a control plane

The rule of this folder: it names no service; all that it knows of one stands in the section of the service's folder.
"""

from stackwright.controllers.controlplane.admission import webhook
from stackwright.controllers.controlplane.controller import controller, controllers

__all__ = ["controller", "controllers", "webhook"]
