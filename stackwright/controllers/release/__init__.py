"""Helm releases that the operator keeps: whose a release is, and the records that helm reads.

The rule of this folder: it never changes what runs. Objects are applied by who calls it, as children of the resource;
here is decided whether they may be, who their fields belong to, and what `helm history` says of it.

    if release.is_given(resource):                          # the annotation says helm: apply, prune, record nothing
        await release.settle(resource, context)
        return Wait("GivenToHelm", release.GIVEN)
    rendered = await helm.render(chart, name, namespace, values)                        # adapters.helm
    # Before the children are applied. Blocked where a hand-made release has this name and nobody said whose it is.
    await release.settle(resource, context, rendered.objects, condition="DeploymentReady")
    children = [Child(release.type_of(body), body, "DeploymentReady") for body in rendered.objects]
    ...                                                     # apply and prune them, as every composite does; then,
    wait = await release.record(release.Wanted(resource, rendered, values), context)    # where nothing failed

All of it reads the caches: the controller owns Secret and the kinds that its charts render (all of them are in
`release.KINDS`), and `Watch(Secret, release.woken_by)` wakes it when a hand writes a record. It writes only where
something differs, and may be killed anywhere and called again. The name of the release is that of the resource.

Whose a release is, says the annotation `openstack.org/release-owner` of the resource: `helm` gives it back, `operator`
takes it over; without it, what the operator made is the operator's, and a release made by hand blocks until the user
has said. Neither way restarts a pod: only metadata changes hands (see `handover`).
"""

from stackwright.controllers.release.handover import settle
from stackwright.controllers.release.history import Revision, Wanted, decide, history_of, woken_by
from stackwright.controllers.release.kinds import KINDS, type_of
from stackwright.controllers.release.ownership import GIVEN, RELEASE_OWNER, Owner, is_given, who_owns
from stackwright.controllers.release.recording import record

__all__ = [
    "GIVEN",
    "KINDS",
    "RELEASE_OWNER",
    "Owner",
    "Revision",
    "Wanted",
    "decide",
    "history_of",
    "is_given",
    "record",
    "settle",
    "type_of",
    "who_owns",
    "woken_by",
]
