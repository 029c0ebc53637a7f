"""The controllers of both kinds, and the one that cleans up after them, with what wakes them."""

from collections.abc import Callable
from dataclasses import replace

from stackwright.api.keystone import KeystoneEndpoint, KeystoneService
from stackwright.controllers import ownership
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.identity.endpoint import endpoints
from stackwright.controllers.identity.ledger import Hands, Ledger
from stackwright.controllers.identity.own_entry import keep_own_entry
from stackwright.controllers.identity.registration import is_registration
from stackwright.controllers.identity.service import services
from stackwright.controllers.identity.sweeping import sweep
from stackwright.controllers.identity.upgrade import hand_over
from stackwright.controllers.identity.world import Keystones, World, passwords
from stackwright.controllers.looks import Interests
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.conditions import is_true
from stackwright.kube.controller import Context, Controller, Result
from stackwright.kube.informer import Change
from stackwright.kube.predicates import any_of, deletion_began, generation_changed
from stackwright.kube.resource import Key
from stackwright.services.keystone.kinds import KeystoneAPI

# Seconds after which Keystone is checked again, because it does not report changes; and seconds for which an answer is
# used for other resources as well. Together they stay below the minute in which drift is repaired.
EVERY = 40.0
REMEMBERED = 5.0


def controllers(dialler: Dialler, *, every: float = EVERY, remembered: float = REMEMBERED) -> tuple[Controller, ...]:
    """Return the controllers of both kinds and the one that cleans up; they share one client for each Keystone."""
    keystones, known, hands = Keystones(dialler, remembered=remembered), passwords(every=every), Hands()
    of_services, of_endpoints = Interests(), Interests()

    def world(interests: Interests, context: Context) -> World:
        return World(context, interests, keystones, known, Ledger(context))

    def forget(key: Key) -> None:
        of_services.forget(key)
        known.forget(key)

    of_both = (
        replace(services, every=every).controller(
            lambda context: world(of_services, context),
            watches=(
                of_services.watch(KeystoneAPI, serves_differently),
                of_services.watch(KeystoneService, comes_changes_or_goes),
                of_services.watch(Secret),
            ),
            owns=(ConfigMap,),
        ),
        replace(endpoints, every=every).controller(
            lambda context: world(of_endpoints, context),
            watches=(
                of_endpoints.watch(KeystoneAPI, serves_differently),
                of_endpoints.watch(KeystoneService, registered_differently),
                of_endpoints.watch(KeystoneEndpoint, comes_changes_or_goes),
                of_endpoints.watch(Secret),
            ),
            owns=(ConfigMap,),
        ),
    )
    forgets = (forget, of_endpoints.forget)
    return (
        *(
            replace(exclusive(one, hands, gone), reads=ownership.claiming())
            for one, gone in zip(of_both, forgets, strict=True)
        ),
        replace(_sweeper(keystones, hands), reads=ownership.claiming()),
        _keeper(keystones, every),
    )


def exclusive(controller: Controller, hands: Hands, forget: Callable[[Key], None]) -> Controller:
    """Return the controller so that nothing is cleaned up while it works on a resource; deleted ones are forgotten."""

    async def reconcile(key: Key, context: Context) -> Result | None:
        async with hands.of(controller.kind.kind.name, key):
            resource = context.store(controller.kind).get(key)
            if resource is None:
                forget(key)
                return None
            if isinstance(resource, KeystoneService | KeystoneEndpoint) and await hand_over(resource, context):
                # This changed the resource, which wakes it.
                return None
            return await controller.reconcile(key, context)

    return replace(controller, reconcile=reconcile)


def _sweeper(keystones: Keystones, hands: Hands) -> Controller:
    """Return the controller that cleans up in a Keystone after resources that are gone."""
    interests = Interests()

    async def reconcile(key: Key, context: Context) -> Result | None:
        return await sweep(key, context, interests, keystones, hands)

    return Controller(
        name="registrations",
        kind=KeystoneAPI,
        reconcile=reconcile,
        owns=(ConfigMap,),
        watches=(
            interests.watch(KeystoneService, comes_changes_or_goes),
            interests.watch(KeystoneEndpoint, comes_changes_or_goes),
            interests.watch(ConfigMap, lambda change: is_registration(change.resource)),
            interests.watch(Secret),
        ),
        when=serves_differently,
        # Its status is kept by the controller of the service.
        reports=False,
    )


def _keeper(keystones: Keystones, every: float) -> Controller:
    """Return the controller that keeps Keystone's own entry in its catalog."""
    interests = Interests()

    async def reconcile(key: Key, context: Context) -> Result | None:
        return await keep_own_entry(key, context, interests, keystones, every)

    return Controller(
        name="keystone-entry",
        kind=KeystoneAPI,
        reconcile=reconcile,
        watches=(interests.watch(Secret),),
        when=serves_differently,
        # Its status is kept by the controller of the service.
        reports=False,
    )


def _serves_differently(change: Change[KeystoneAPI]) -> bool:
    if change.old is None or change.new is None:
        return True
    return _served(change.old) != _served(change.new)


def _served(keystone: KeystoneAPI) -> tuple[object, ...]:
    status = keystone.status
    return is_true(status.conditions), status.apiEndpoints, status.region, ownership.is_refused(keystone)


def _registered_differently(change: Change[KeystoneService]) -> bool:
    if change.old is None or change.new is None:
        return True
    return change.old.status.serviceID != change.new.status.serviceID


comes_changes_or_goes = any_of(generation_changed, deletion_began)
# Most of a Keystone's status does not matter to what is registered there; a change of these wakes every resource.
serves_differently = any_of(comes_changes_or_goes, _serves_differently)
registered_differently = any_of(comes_changes_or_goes, _registered_differently)
