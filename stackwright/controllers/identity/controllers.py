"""The controllers of both kinds, with what wakes them."""

from dataclasses import replace

from stackwright.api.keystone import KeystoneEndpoint, KeystoneService
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.identity.endpoint import endpoints
from stackwright.controllers.identity.service import services
from stackwright.controllers.identity.world import Keystones, World, passwords
from stackwright.controllers.looking import Interests
from stackwright.kube.builtin import Secret
from stackwright.kube.conditions import is_true
from stackwright.kube.controller import Context, Controller
from stackwright.kube.informer import Change
from stackwright.kube.predicates import any_of, deletion_began, generation_changed
from stackwright.services.keystone.kinds import KeystoneAPI

# Seconds after which Keystone is looked at again, because nobody tells us when somebody changed it, and for how many
# an answer serves other resources as well; together they stay below the minute in which drift is repaired.
EVERY = 40.0
REMEMBERED = 5.0


def controllers(dialler: Dialler, *, every: float = EVERY, remembered: float = REMEMBERED) -> tuple[Controller, ...]:
    """Return the controllers of KeystoneService and KeystoneEndpoint; they share one client for each Keystone."""
    keystones, known = Keystones(dialler, remembered=remembered), passwords(every=every)
    of_services, of_endpoints = Interests(), Interests()

    def world(interests: Interests, context: Context) -> World:
        return World(context, interests, keystones, known)

    return (
        replace(services, every=every).controller(
            lambda context: world(of_services, context),
            watches=(
                of_services.watch(KeystoneAPI, serves_differently),
                of_services.watch(KeystoneService, comes_changes_or_goes),
                of_services.watch(Secret),
            ),
        ),
        replace(endpoints, every=every).controller(
            lambda context: world(of_endpoints, context),
            watches=(
                of_endpoints.watch(KeystoneAPI, serves_differently),
                of_endpoints.watch(KeystoneService, registered_differently),
                of_endpoints.watch(KeystoneEndpoint, comes_changes_or_goes),
                of_endpoints.watch(Secret),
            ),
        ),
    )


def _serves_differently(change: Change[KeystoneAPI]) -> bool:
    if change.old is None or change.new is None:
        return True
    return _served(change.old) != _served(change.new)


def _served(keystone: KeystoneAPI) -> tuple[object, ...]:
    status = keystone.status
    return is_true(status.conditions), status.apiEndpoints, status.region


def _registered_differently(change: Change[KeystoneService]) -> bool:
    if change.old is None or change.new is None:
        return True
    return change.old.status.serviceID != change.new.status.serviceID


comes_changes_or_goes = any_of(generation_changed, deletion_began)
# A Keystone reports much that matters to nobody who is registered there; each of these wakes every resource.
serves_differently = any_of(comes_changes_or_goes, _serves_differently)
registered_differently = any_of(comes_changes_or_goes, _registered_differently)
