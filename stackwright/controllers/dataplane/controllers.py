"""The controllers of data planes, roles, nodes and runs, and the kinds that they watch."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.blueprint.dataplane.schedule import GATHER_SECONDS, Backoff
from stackwright.blueprint.images import ComponentImage
from stackwright.controllers.dataplane import data_planes, nodes, roles
from stackwright.controllers.dataplane.occupancy import Occupancy
from stackwright.controllers.dataplane.preparation import IMAGE
from stackwright.controllers.dataplane.releases import Patience, Releases
from stackwright.controllers.dataplane.run_job import RUN_LABEL
from stackwright.controllers.dataplane.run_logs import Read, RunLogs, read_pod
from stackwright.controllers.dataplane.runs import World, runs
from stackwright.controllers.looks import Interests, forgetting
from stackwright.kube.builtin import ConfigMap, Job, Pod, Secret
from stackwright.kube.controller import Controller, Watch
from stackwright.kube.resource import Key, Resource


@dataclass(frozen=True)
class Rhythm:
    """How often logs are read, in seconds, and how long a node waits after it failed, and for others.

    `patience` is how long it waits for others of its run.
    """

    poll: float = 2.0
    backoff: Backoff = field(default_factory=Backoff)
    gather: float = GATHER_SECONDS
    patience: Patience = field(default_factory=Patience)


def controllers(
    images: Mapping[str, ComponentImage],
    read: Read = read_pod,
    rhythm: Rhythm | None = None,
    reads: tuple[type[Resource], ...] = (),
) -> tuple[Controller, ...]:
    """Return the controllers of this folder. `reads` are further kinds that the checks of admission look at."""
    rhythm = rhythm or Rhythm()
    image = images[IMAGE].reference if IMAGE in images else ""
    interests, occupancy, logs, releases = Interests(), Occupancy(), RunLogs(read), Releases(rhythm.patience)
    of_runs = runs.controller(
        lambda context: World(context, interests, occupancy, logs, image, rhythm.poll, releases),
        owns=(Job, ConfigMap),
        watches=(*interests.watches((Secret, ConfigMap)), Watch(Pod, to=_run_of)),
    )
    of_runs = replace(forgetting(of_runs, interests.forget), logs=True, reads=(OpenStackDataPlaneNode,))
    of_nodes = replace(nodes.controller(image), reads=reads)
    return (data_planes.controller(), roles.controller(image, rhythm.backoff, rhythm.gather), of_nodes, of_runs)


def _run_of(pod: Pod) -> Iterable[Key]:
    name = pod.metadata.labels.get(RUN_LABEL, "")
    return (Key(pod.metadata.namespace, name),) if name else ()
