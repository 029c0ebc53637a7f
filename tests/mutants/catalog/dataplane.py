"""Mutants of machines outside of the cluster."""

from tests.mutants.mutant import Mutant

DATA_PLANE = "stackwright/blueprint/dataplane"
SCHEDULE = "tests/unit/blueprint/dataplane/test_schedule.py"
RUNS = "tests/unit/controllers/dataplane/test_runs.py"
BEGINNINGS = "tests/unit/controllers/dataplane/test_beginnings.py"
FLEET = "tests/unit/controllers/node_services/test_fleet.py"
DEPLOYMENT = "tests/unit/controllers/node_services/test_deployment.py"
PREPARATION = "tests/unit/controllers/node_services/test_preparation.py"
STUCK_RUNS = "tests/unit/controllers/dataplane/test_stuck_runs.py"
NAME_LENGTHS = "tests/unit/controllers/dataplane/test_name_lengths.py"
ROLES = "tests/unit/controllers/dataplane/test_roles.py"
REMOVAL = "tests/unit/controllers/node_services/test_removal.py"
PAGES = "tests/runtime/test_other_api.py"
ANSWERED = f"{REMOVAL}::test_nothing_is_stopped_before_all_questions_are_answered"

USERS = "tests/unit/controllers/dataplane/test_users_objects.py"

MUTANTS = (
    Mutant(
        "a machine that is off does not keep the login that it has",
        "stackwright/controllers/broker/transport.py",
        "    if seen.behind:\n",
        "    if False:\n",
        ("tests/unit/controllers/broker/test_transport.py::test_steps",),
    ),
    Mutant(
        "nobody looks at the machines that read an export",
        "stackwright/controllers/service/credentials.py",
        "{**machines, **there}",
        "{**there}",
        (
            "tests/unit/controllers/test_service_credentials.py::"
            "test_machines_outside_are_readers_whom_nobody_has_to_name",
        ),
    ),
    Mutant(
        "a machine counts as changed as soon as another content is wanted",
        "stackwright/blueprint/use.py",
        "used is not None and record.appliedHash and record.appliedHash == record.inputHash",
        "used is not None",
        (
            "tests/unit/blueprint/test_use.py::test_a_machine_is_marked_with_what_was_applied_to_it",
            f"{DEPLOYMENT}::test_it_is_marked_with_the_exports_that_were_applied_until_others_are",
        ),
    ),
    Mutant(
        "a data plane takes a node that a user made, and deletes it one day",
        "stackwright/controllers/dataplane/data_planes.py",
        "    spares_users=True,",
        "",
        (
            "tests/unit/controllers/dataplane/test_data_planes.py::"
            "test_a_node_that_a_user_made_is_neither_changed_nor_owned",
        ),
    ),
    Mutant(
        "a run takes a ConfigMap of its name that is somebody's",
        "stackwright/controllers/dataplane/run_job.py",
        "    managers = {entry.manager for entry in there.metadata.managedFields}",
        "    managers = {ours}",
        (f"{USERS}::test_a_run_does_not_take_a_config_map_that_is_not_its_own",),
    ),
    Mutant(
        "a run trusts its cache that nobody has a ConfigMap of its name",
        "stackwright/controllers/dataplane/runs.py",
        "    if taken := _find_taken(run, there, world):\n        raise",
        "    if False:\n        raise",
        (f"{USERS}::test_a_run_does_not_take_what_a_user_made_a_moment_ago",),
    ),
    Mutant(
        "a run begins although another one took its node a moment ago",
        "stackwright/controllers/dataplane/runs.py",
        "    if _find_holder(run, world) is not None:\n        return",
        "    if False:\n        return",
        (f"{BEGINNINGS}::test_a_run_that_another_one_forestalls_waits_and_is_in_no_error",),
    ),
    Mutant(
        "a compute that stays down reads as if nobody had to look",
        "stackwright/controllers/node_services/deployment.py",
        "since = max(record.finishedAt, down)",
        'since = ""',
        (f"{DEPLOYMENT}::test_a_service_that_stays_down_is_for_somebody_to_look_at",),
    ),
    Mutant(
        "a node may have a name that its Secret cannot have",
        f"{DATA_PLANE}/name_lengths.py",
        '("the Secret", SECRET_NAME, LONGEST_NAME)',
        '("the Secret", NAME, LONGEST_NAME)',
        (f"{NAME_LENGTHS}::test_the_longest_name_that_is_taken_makes_only_names_and_labels_that_there_can_be",),
    ),
    Mutant(
        "a data plane may have a name that no label can have",
        f"{DATA_PLANE}/name_lengths.py",
        '"{}", LABEL_VALUE),),\n    OpenStackDataPlaneNode',
        '"{}", LONGEST_NAME),),\n    OpenStackDataPlaneNode',
        (f"{NAME_LENGTHS}::test_the_longest_name_that_is_taken_makes_only_names_and_labels_that_there_can_be",),
    ),
    Mutant(
        "an image that nobody can pull reads as if nobody had to act",
        "stackwright/controllers/dataplane/stuck_runs.py",
        'Wait("PodTrouble", message, JOB_READY, poll, ends=Ends.PERHAPS_BY_USER)',
        'Wait("PodTrouble", message, JOB_READY, poll, ends=Ends.BY_ITSELF)',
        (f"{STUCK_RUNS}::test_a_pod_that_does_not_start_is_a_warning",),
    ),
    Mutant(
        "nobody asks why a run has no pod",
        "stackwright/controllers/dataplane/stuck_runs.py",
        "or await _find_refused(run, job, pods, client)",
        "or None",
        (f"{STUCK_RUNS}::test_pods_that_the_profile_refuses_are_told_from_the_events_of_the_job",),
    ),
    Mutant(
        "a node waits silently for a run that somebody has to mend",
        "stackwright/controllers/dataplane/nodes.py",
        "yield replace(stuck, condition=condition)",
        "pass",
        (f"{STUCK_RUNS}::test_a_node_says_what_keeps_the_run_that_has_it",),
    ),
    Mutant(
        "a run that failed leaves the former inputs applied",
        f"{DATA_PLANE}/records.py",
        'left = "" if begun else record.appliedHash',
        "left = record.appliedHash",
        (f"{SCHEDULE}::test_a_run_that_did_not_get_to_its_end_leaves_nothing_that_can_be_relied_on",),
    ),
    Mutant(
        "a node runs again before it has recorded its last run",
        f"{DATA_PLANE}/schedule.py",
        "not is_recorded(run, candidate.records)",
        "False",
        (f"{SCHEDULE}::test_every_node_comes_to_its_end_in_order_and_never_twice_at_once",),
    ),
    Mutant(
        "a node that failed drags others into its next run",
        f"{DATA_PLANE}/schedule.py",
        'return candidate.name if failed else ""',
        'return ""',
        (f"{SCHEDULE}::test_a_node_that_failed_waits_longer_each_time_and_runs_alone",),
    ),
    Mutant(
        "the first node that is due does not wait for others",
        f"{DATA_PLANE}/schedule.py",
        "return gather - (now - min(known)).total_seconds()",
        "return 0.0",
        (f"{FLEET}::test_the_first_that_is_due_waits_for_others_and_not_for_longer",),
    ),
    Mutant(
        "a service on nodes changes all of them at once",
        "stackwright/controllers/node_services/fleet.py",
        "most = limit_of(seen.role.spec.maxUnavailable, len(seen.resources))",
        "most = None",
        (f"{FLEET}::test_max_unavailable_bounds_what_is_changed_at_once",),
    ),
    Mutant(
        "a pod that is left of a deleted run does not hold its nodes",
        "stackwright/controllers/dataplane/occupancy.py",
        "if of and not own and not is_over(pod)",
        "if False and not is_over(pod)",
        (f"{RUNS}::test_who_has_a_node",),
    ),
    Mutant(
        "a run that never began takes away what was applied",
        f"{DATA_PLANE}/records.py",
        'left = "" if begun else record.appliedHash',
        'left = ""',
        (
            f"{SCHEDULE}::test_a_run_that_never_began_leaves_everything_as_it_was",
            f"{SCHEDULE}::test_runs_that_never_begin_leave_no_room_for_more_nodes",
        ),
    ),
    Mutant(
        "a run has never begun although a pod worked",
        "stackwright/controllers/dataplane/runs.py",
        "begun = seen.worked or not seen.given_up",
        "begun = not seen.given_up",
        (f"{BEGINNINGS}::test_a_pod_that_begins_while_it_is_deleted_has_begun",),
    ),
    Mutant(
        "a run is over while its pods could still begin",
        "stackwright/controllers/dataplane/runs.py",
        "gone = bool(self.given_up) and self.job is None and not self.going",
        "gone = bool(self.given_up)",
        (f"{BEGINNINGS}::test_a_run_that_never_began_ends_when_nothing_is_left_that_could_begin",),
    ),
    Mutant(
        "a Job that is given up goes before its pods",
        "stackwright/controllers/dataplane/runs.py",
        'uid=metadata.uid, propagation="Foreground")',
        "uid=metadata.uid)",
        (f"{BEGINNINGS}::test_a_run_that_never_began_ends_when_nothing_is_left_that_could_begin",),
    ),
    Mutant(
        "a run waits for ever for a pod after one that failed",
        "stackwright/controllers/dataplane/beginnings.py",
        "since = podless",
        "since = None",
        (f"{BEGINNINGS}::test_a_pod_that_is_refused_after_another_one_failed_is_not_waited_for_without_end",),
    ),
    Mutant(
        "a run whose values are refused is not looked at again",
        "stackwright/controllers/dataplane/runs.py",
        "yield replace(wrong, after=LATE)",
        "yield wrong",
        (f"{BEGINNINGS}::test_whatever_a_run_lacks_it_is_looked_at_again",),
    ),
    Mutant(
        "a run takes what has the name of its own for its own",
        "stackwright/kube/resource.py",
        "controller is not None and controller.uid == owner.metadata.uid",
        "controller is not None",
        (
            f"{BEGINNINGS}::test_a_job_of_an_earlier_run_of_the_same_name_is_not_its_own",
            f"{RUNS}::test_a_job_has_its_nodes_until_it_has_ended",
        ),
    ),
    Mutant(
        "a run of a user's can be the last of its nodes",
        f"{DATA_PLANE}/schedule.py",
        "for run in filter(is_numbered, runs):",
        "for run in runs:",
        (f"{SCHEDULE}::test_a_users_run_with_the_highest_number_is_not_the_last_one",),
    ),
    Mutant(
        "a compute is down because nobody knows how it is",
        "stackwright/controllers/node_services/deployment.py",
        "service.sign.doubt(answer, host)",
        '""',
        (f"{DEPLOYMENT}::test_a_cell_whose_database_is_down_takes_no_readiness_away",),
    ),
    Mutant(
        "a compute goes while the database of its cell does not answer",
        "stackwright/controllers/node_services/removal.py",
        "if why := sign.doubt(answer, host):",
        'if why := "":',
        (ANSWERED,),
    ),
    Mutant(
        "a compute goes while a resize is not confirmed",
        "stackwright/services/nova/node_services.py",
        'frozenset({"confirmed", ',
        'frozenset({"confirmed", "finished", ',
        (ANSWERED, f"{REMOVAL}::test_servers_that_move_from_or_to_a_machine_are_on_it"),
    ),
    Mutant(
        "any list says that no server is on a machine",
        "stackwright/controllers/node_services/removal.py",
        "listed = answer.get(key)",
        "listed = answer.get(key) or next((each for each in answer.values() if isinstance(each, list)), None)",
        (ANSWERED, f"{REMOVAL}::test_only_a_list_of_servers_says_what_is_there"),
    ),
    Mutant(
        "an empty list of Nova is enough to remove a compute",
        "stackwright/controllers/node_services/removal.py",
        "    if found == () and not is_lost(resource):",
        "    if found is None:",
        (f"{REMOVAL}::test_an_empty_list_of_nova_is_not_believed_alone",),
    ),
    Mutant(
        "a compute goes by the first page of its migrations",
        "stackwright/adapters/identity/other_api.py",
        "following, known = _find_next(whole), [asked]",
        "following, known = None, [asked]",
        (f"{PAGES}::test_all_pages_of_a_list_are_read",),
    ),
    Mutant(
        "a machine is told of a subnet in which its address is not",
        "stackwright/blueprint/addresses/allocation.py",
        "waits += (*_find_displaced(place, held), *_find_rival(held, around.rivals))",
        "waits += _find_rival(held, around.rivals)",
        (
            "tests/unit/blueprint/addresses/test_allocation.py"
            "::test_no_machine_is_told_of_a_subnet_in_which_its_address_is_not",
        ),
    ),
    Mutant(
        "a condition shows a variable of a Secret",
        "stackwright/controllers/node_services/preparation.py",
        "{variables.plain.get(name, 'another')}",
        "{variables.all.get(name, 'another')}",
        (f"{PREPARATION}::test_no_message_shows_a_variable_of_a_secret",),
    ),
    Mutant(
        "an operator whose caches are old releases an address that was told",
        "stackwright/blueprint/addresses/allocation.py",
        "return not held & told and",
        "return True or",
        ("tests/unit/blueprint/addresses/test_racing_operators.py::test_no_address_is_given_twice_or_taken_away",),
    ),
    Mutant(
        "an address that was restored is released",
        "stackwright/blueprint/addresses/allocation.py",
        "len(each.spec.reservation) == 1 and each.metadata.name not in orphans",
        "len(each.spec.reservation) == 1",
        ("tests/unit/blueprint/addresses/test_allocation.py::test_a_restored_address_counts_and_is_not_released",),
    ),
    Mutant(
        "an IPSet that Kubernetes is about to delete becomes the owner of a restored address",
        "stackwright/controllers/addresses/ip_sets.py",
        "if missing is not None:",
        "if False:",
        ("tests/unit/controllers/addresses/test_ip_sets.py::test_a_restored_reservation_is_left_alone",),
    ),
    Mutant(
        "a service that is new to deployed nodes reaches all of them at once",
        f"{DATA_PLANE}/schedule.py",
        "if self.was_deployed else set()",
        "if False else set()",
        (f"{SCHEDULE}::test_a_service_that_is_new_to_deployed_nodes_reaches_as_many_at_once_as_any_other",),
    ),
    Mutant(
        "a broken change goes to one node after the other",
        f"{DATA_PLANE}/schedule.py",
        "None if trials is None else trials - changing",
        "None",
        (f"{SCHEDULE}::test_a_broken_change_takes_as_many_nodes_as_it_may_and_no_more",),
    ),
    Mutant(
        "a change that succeeded on one compute is held because it failed on others",
        "stackwright/controllers/node_services/fleet.py",
        'seen.settled.get(name, Due(service.name, record.inputHash, ""))',
        'Due(service.name, record.inputHash, "")',
        (f"{FLEET}::test_a_change_that_fails_on_the_first_computes_goes_to_no_other_until_it_succeeds_on_one",),
    ),
    Mutant(
        "a changed Secret of a run's environment applies nothing",
        f"{DATA_PLANE}/inputs.py",
        "return [*said, machine.mounted] if machine.mounted else said",
        "return said",
        ("tests/unit/blueprint/dataplane/test_inputs.py::test_what_a_pod_takes_from_other_objects_is_an_input",),
    ),
    Mutant(
        "a compute is restarted with a configuration that nova-compute refuses",
        "stackwright/controllers/node_services/preparation.py",
        " or refuse_own(service, resource, around)",
        "",
        (PREPARATION,),
    ),
    Mutant(
        "a run has an inventory that no Secret holds",
        "stackwright/controllers/dataplane/run_inputs.py",
        "if part and size > left:",
        "if False:",
        (f"{ROLES}::test_nodes_share_a_run_only_as_long_as_its_inventory_fits_into_a_secret",),
    ),
    Mutant(
        "a run whose Job the server refuses keeps its nodes",
        "stackwright/controllers/dataplane/beginnings.py",
        "return refused.why if refused is not None and",
        'return "" if refused is not None and',
        (f"{BEGINNINGS}::test_a_run_whose_job_the_server_does_not_take_gives_its_nodes_back",),
    ),
    Mutant(
        "a node that is deleted loses what the removal of its services needs",
        "stackwright/controllers/dataplane/holding.py",
        "if node is not None and node.deleting and is_held(node):",
        "if False:",
        ("tests/unit/controllers/dataplane/test_holding.py::test_what_is_deleted_goes_when_nobody_needs_it",),
    ),
    Mutant(
        "the host key of a machine is not found by a name in upper case",
        f"{DATA_PLANE}/host_keys.py",
        "name = complete(address)",
        "name = address",
        ("tests/unit/blueprint/dataplane/test_host_keys.py::test_ssh_knows_machines_by_names_in_lower_case",),
    ),
    Mutant(
        "a machine that works is blamed when the time of its run is up",
        "images/ansible-runner/run_ansible.py",
        "        if began <= since:",
        "        if True:",
        (
            "tests/unit/local/test_run_ansible.py"
            "::test_a_machine_that_is_at_work_when_the_time_of_the_run_is_up_has_not_failed",
        ),
    ),
    Mutant(
        "a machine that was broken into speaks for other machines of its run",
        "images/ansible-runner/run_ansible.py",
        '        if event.get("job_id") != number:',
        "        if False:",
        ("tests/unit/local/test_run_ansible.py",),
    ),
    Mutant(
        "a run whose machine says what is no text never ends",
        "stackwright/controllers/dataplane/run_log.py",
        "        if _HALF.search(line):",
        "        if False:",
        (
            "tests/unit/controllers/dataplane/test_runs.py"
            "::test_what_a_machine_says_that_is_no_text_can_be_written_into_a_status",
        ),
    ),
)
