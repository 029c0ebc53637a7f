"""Mutants of what is refused at the door, of whose the ports of nodes are, and of who is told to act."""

from tests.mutants.mutant import Mutant

OWNERSHIP = "stackwright/controllers/ownership"
ROOM = "stackwright/controllers/service/room.py"
PORTS = "tests/unit/controllers/ownership/test_ports.py"
NO_ROOM = "tests/unit/controllers/test_service_room.py"
NAMES = "tests/unit/controllers/test_longest_names.py"
RANGES = "tests/unit/blueprint/test_ranges.py"
IMAGES = "tests/unit/blueprint/test_image_references.py"
WHO_ACTS = "tests/unit/controllers/node_services/test_who_acts.py"

MUTANTS = (
    Mutant(
        "a workload that a bad value takes away goes at once",
        "stackwright/kube/shapes/leaving.py",
        "    if not changed and not _roll(",
        "    if not _roll(",
        ("tests/unit/kube/test_leaving.py::test_the_change_that_begins_now_counts",),
    ),
    Mutant(
        "a workload that is taken away waits for an apply that changed nothing, until something else happens",
        "stackwright/kube/shapes/children.py",
        "if staying and leaving.has_to_wait(steps, outcome.present(seen), outcome.failed):",
        "if staying:",
        ("tests/runtime/test_children.py::test_what_leaves_waits_for_what_an_apply_changes",),
    ),
    Mutant(
        "a workload that is taken away stays though others wait for its room",
        ROOM,
        "    return refused or any(_fits_nowhere(pod) or _is_late(pod, now) for pod in pods)",
        "    return refused",
        (f"{NO_ROOM}::test_room_is_made_for_pods_that_do_not_get_started",),
    ),
    Mutant(
        "a workload that is taken away goes because a Job takes long",
        ROOM,
        ' != "Pending" or _is_set_up(pod):',
        ' != "Pending":',
        (f"{NO_ROOM}::test_room_is_made_for_pods_that_do_not_get_started",),
    ),
    Mutant(
        "two resources of one batch get the same node port",
        f"{OWNERSHIP}/claims.py",
        "    yield from taken_ports.claims(resource)\n",
        "",
        (f"{PORTS}::test_a_port_belongs_to_the_first_who_asks_before_any_service_is_there",),
    ),
    Mutant(
        "a service works with a node port that a stranger's Service has",
        f"{OWNERSHIP}/rule.py",
        "    found += tuple(_on_services(resource, mine, found, around))\n",
        "",
        (f"{PORTS}::test_a_port_that_a_service_has_is_taken",),
    ),
    Mutant(
        "an older resource takes the node port of a Service that runs",
        f"{OWNERSHIP}/rule.py",
        "return holder is not None and ports.is_of(holder, resource, around)",
        "return False",
        (f"{PORTS}::test_who_has_the_service_keeps_the_port_however_young",),
    ),
    Mutant(
        "the Service of what a resource created is a stranger's",
        f"{OWNERSHIP}/ports.py",
        "present = around.named(kind, owner.name) if kind is not None and len(names) < _DEEPEST else None",
        "present = None",
        (f"{PORTS}::test_what_a_resource_hands_down_is_one_port",),
    ),
    Mutant(
        "node ports are told apart by namespaces",
        "stackwright/blueprint/taken_ports.py",
        ", everywhere=True)",
        ")",
        (f"{PORTS}::test_a_cluster_has_a_port_once_in_whatever_namespace",),
    ),
    Mutant(
        "two templates of an umbrella share a node port",
        "stackwright/controllers/doors.py",
        "            if place != other:\n",
        "            if False:\n",
        (f"{PORTS}::test_two_templates_do_not_share_a_port",),
    ),
    Mutant(
        "a person is asked as soon as a pod has no node",
        ROOM,
        "is not None and left <= 0:",
        "is not None:",
        (f"{NO_ROOM}::test_a_moment_without_a_node_is_no_error_and_is_looked_at_again",),
    ),
    Mutant(
        "a person is asked while a node starts or a volume is made",
        ROOM,
        "or _PASSING.search(",
        "or not str(",
        (f"{NO_ROOM}::test_what_others_see_to_asks_nobody",),
    ),
    Mutant(
        "a pod that no node takes is never looked at again",
        "stackwright/controllers/service/pods.py",
        "    no_room = room.lacking(own, now)\n",
        '    no_room = ""\n',
        (f"{NO_ROOM}::test_who_has_no_node_for_long_asks_a_person",),
    ),
    Mutant(
        "an OVN that nothing outside may reach reads as if somebody were at it",
        "stackwright/services/neutron/node_services.py",
        'return Wait("OvnConfigMissing", message, "InputReady", ends=Ends.BY_USER)',
        'return Wait("OvnConfigMissing", message, "InputReady")',
        (f"{WHO_ACTS}::test_who_ends_it",),
    ),
    Mutant(
        "a TransportURL may have a name that its Secret cannot have",
        "stackwright/blueprint/name_lengths.py",
        "    if what and len(name) > longest:\n",
        "    if False:\n",
        (f"{NAMES}::test_the_longest_name_makes_names_that_there_can_be",),
    ),
    Mutant(
        "a volume of an image takes any text",
        "stackwright/api/embedded/volumes.py",
        "    reference: Annotated[str, min_length(1), Form.IMAGE]\n",
        "    reference: Required\n",
        (f"{IMAGES}::test_a_volume_of_an_image_and_an_image_that_nothing_reads_yet",),
    ),
    Mutant(
        "more is requested than the limit",
        "stackwright/blueprint/quantities.py",
        "and asked > most:",
        "and asked < most:",
        (f"{RANGES}::test_nobody_asks_for_more_than_the_limit",),
    ),
    Mutant(
        "a volume has size 0",
        "stackwright/blueprint/quantities.py",
        'return "" if number > 0 else',
        'return "" if number >= 0 else',
        (f"{RANGES}::test_a_value_that_cannot_be_is_found",),
    ),
    Mutant(
        "a cron field goes one too far",
        "stackwright/blueprint/cron.py",
        "if high > bounds.last:",
        "if high > bounds.last + 1:",
        (f"{RANGES}::test_a_cron_field_out_of_range_is_named",),
    ),
)
