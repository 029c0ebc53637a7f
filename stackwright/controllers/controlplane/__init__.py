"""The umbrella: one OpenStackControlPlane becomes the resources of its services.

    resolution.py  which resources: those that were asked for, and those that these need; what each of them says
    refusals.py    what is asked for and cannot be served yet
    passwords.py   which passwords the services take from the Secret, and who makes them
    controller.py  the composite, and what wakes it
    service_operators.py            the operators of single services: which are wanted
    service_operator_controller.py  the controller that starts and stops these
    admission.py   early answers when a control plane is written

The rule of this folder: it names no service; all that it knows of one stands in the section of the service's folder.
"""

from stackwright.controllers.controlplane import service_operator_controller
from stackwright.controllers.controlplane.admission import check
from stackwright.controllers.controlplane.controller import controller
from stackwright.controllers.controlplane.service_operators import ServiceOperator, ServiceOperators, read_prepared
from stackwright.kube.controller import Controller

__all__ = ["ServiceOperator", "ServiceOperators", "check", "controller", "controllers", "read_prepared"]


def controllers(operators: ServiceOperators | None = None) -> tuple[Controller, ...]:
    """Return the controllers of this folder; with `operators` also the controller of the services' own operators."""
    own = (service_operator_controller.controller(operators),) if operators is not None else ()
    return (controller(operators=operators), *own)
