"""Helm releases that the operator keeps: who owns a release, and the records that helm reads.

The rule of this folder: it never changes what runs. The caller applies objects, as children of the resource;
this folder decides whether they may be applied, who owns their fields, and what `helm history` shows.

    if release.is_given(resource):                          # the annotation says helm: apply, prune, record nothing
        await release.settle(resource, context)
        return Wait(release.GIVEN, release.why_given(history))
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
takes it over; without it, what the operator made is the operator's, and a release that a hand made or changed blocks
until the user has said: `Contested` carries what would be reverted, and `preview` tells it of a release that was given.
Neither way restarts a pod: only metadata changes hands (see `handover`).
"""

from stackwright.controllers.release.differences import MADE, WHOLE
from stackwright.controllers.release.handover import Contested, settle, take_fields, there
from stackwright.controllers.release.history import RECORDED, Revision, Wanted, decide, history_of, woken_by
from stackwright.controllers.release.kinds import KINDS, is_known, type_of
from stackwright.controllers.release.owner import (
    CONTESTED,
    GIVEN,
    RELEASE_OWNER,
    UNKNOWN,
    Owner,
    is_given,
    named,
    preview,
    release_of,
    who_owns,
    why_given,
)
from stackwright.controllers.release.powers import Chart, problems
from stackwright.controllers.release.recording import record

__all__ = [
    "CONTESTED",
    "GIVEN",
    "KINDS",
    "MADE",
    "RECORDED",
    "RELEASE_OWNER",
    "UNKNOWN",
    "WHOLE",
    "Chart",
    "Contested",
    "Owner",
    "Revision",
    "Wanted",
    "decide",
    "history_of",
    "is_given",
    "is_known",
    "named",
    "preview",
    "problems",
    "record",
    "release_of",
    "settle",
    "take_fields",
    "there",
    "type_of",
    "who_owns",
    "why_given",
    "woken_by",
]
