"""The mutants. Each stands for a mistake that a test must notice; keep their texts short, so that they last."""

from tests.mutants.mutant import Mutant

SERVICE = "stackwright/controllers/service"
CHILDREN = "stackwright/kube/shapes/children.py"
VERSIONS = "stackwright/kube/shapes/versions.py"
KEYSTONE = "tests/functional/services/test_keystone.py"
EVERY_SERVICE = "tests/functional/services/test_cases.py"
ON_FAULTS = "tests/runtime/test_service_controller.py"
COMPOSITE = "tests/unit/kube/test_composite.py"
SWEEPING = "tests/functional/identity/test_sweeping.py"
OWN_ENTRY = "tests/functional/identity/test_own_entry.py"
REMOVAL = "tests/unit/controllers/database/test_account_removal.py"

# These survived all rings once.
SURVIVORS = (
    Mutant(
        "a service that is paused is worked on",
        f"{SERVICE}/controller.py",
        "hand_down(PAUSED, resource, below, context):\n            return None",
        "hand_down(PAUSED, resource, below, context):\n            pass",
        (f"{ON_FAULTS}::test_nothing_is_written_for_a_service_that_is_paused",),
    ),
    Mutant(
        "a key ring turns before all pods hold the staged key",
        f"{SERVICE}/ring_turns.py",
        "    if not isinstance(step, Drop):\n        await _held(",
        "    if isinstance(step, Drop):\n        await _held(",
        (f"{ON_FAULTS}::test_a_ring_turns_only_when_every_pod_holds_the_staged_key",),
    ),
    Mutant(
        "a pod that only starts is taken for one that holds the staged key",
        f"{SERVICE}/ring_turns.py",
        "if not started or not await",
        "if started and not await",
        (f"{ON_FAULTS}::test_a_ring_turns_only_when_every_pod_holds_the_staged_key",),
    ),
    Mutant(
        "a service's objects are pruned while something is waited for",
        f"{SERVICE}/controller.py",
        "prune = intent.values is not None and not waits",
        "prune = intent.values is not None",
        (f"{KEYSTONE}::test_nothing_goes_while_something_is_waited_for",),
    ),
    Mutant(
        "a user's own Secret is deleted when another account is used",
        "stackwright/blueprint/needs/database.py",
        "secret is not None and secret.metadata.annotations.get(GENERATED_FOR) == maker_of(resource)",
        "secret is not None",
        (f"{KEYSTONE}::test_what_a_user_made_stays_when_another_account_is_used",),
    ),
    Mutant(
        "helm.sh/resource-policy: keep is ignored",
        "stackwright/controllers/release/handover.py",
        ' or metadata.annotations.get(POLICY) == "keep"',
        "",
        ("tests/functional/test_release_handover.py::test_what_a_hand_asked_for_and_the_operator_does_not_goes",),
    ),
    Mutant(
        "the content of a Secret stands in status.overridden",
        CHILDREN,
        "if item.of.kind == Secret.kind:",
        "if False:",
        (f"{COMPOSITE}::test_the_status_tells_what_is_asked_for_in_place_of_what_others_set",),
    ),
    Mutant(
        "the server's own user is dropped with a MariaDBAccount",
        "stackwright/controllers/database/account.py",
        "        and not _reserved(account, seen)\n",
        "",
        (f"{REMOVAL}::test_the_servers_own_users_stay",),
    ),
    Mutant(
        "the user that we work as is dropped with a MariaDBAccount",
        "stackwright/controllers/database/account.py",
        "if isinstance(seen.server, Server) and bare(name) == bare(seen.server.user):",
        "if False:",
        (f"{REMOVAL}::test_the_user_that_we_work_as_stays",),
    ),
    Mutant(
        "Keystone's administrator is swept away",
        "stackwright/controllers/identity/sweeping.py",
        "case User() if not is_administrator(one, administrator, self.access):",
        "case User():",
        (f"{SWEEPING}::test_the_administrator_stays_whatever_is_noted",),
    ),
    Mutant(
        "enableSecureRBAC means the contrary",
        "stackwright/services/keystone/settings.py",
        "{} if secure else",
        "{} if not secure else",
        ("tests/unit/services/test_keystone.py::test_older_rules_hold_only_where_they_are_asked_for",),
    ),
    Mutant(
        "Keystone serves before it has its rules",
        "stackwright/services/keystone/settings.py",
        "rules.load_rules()\n",
        "",
        ("tests/unit/services/test_keystone.py::test_every_process_has_its_rules_before_it_serves",),
    ),
    Mutant(
        "what was made anew in the place of a pruned object is deleted",
        VERSIONS,
        "uid=metadata.uid, resource_version=metadata.resourceVersion",
        "",
        (f"{ON_FAULTS}::test_what_was_made_anew_in_the_place_of_what_is_pruned_stays",),
    ),
)

FURTHER = (
    Mutant(
        "a parent that is paused is worked on",
        "stackwright/kube/shapes/composite.py",
        "self.owns, context), context):\n            return None",
        "self.owns, context), context):\n            pass",
        (
            "tests/functional/test_children.py"
            "::test_a_paused_parent_rests_with_all_that_it_owns_and_both_go_on_together",
        ),
    ),
    Mutant(
        "what stands for something outside is worked on though it is paused",
        "stackwright/kube/shapes/external.py",
        "        if pausing.is_paused(self.pause, resource):\n            return None\n",
        "",
        ("tests/functional/identity/test_service.py::test_a_paused_resource_is_left_alone",),
    ),
    Mutant(
        "a control plane that is paused makes up passwords",
        "stackwright/controllers/controlplane/controller.py",
        "if not pausing.is_paused(PAUSED, umbrella) and await",
        "if await",
        ("tests/functional/controlplane/test_controlplane.py::test_a_paused_control_plane_does_nothing",),
    ),
    Mutant(
        "what was made for a resource is swept though another one asks for it",
        "stackwright/controllers/identity/sweeping.py",
        "if is_stood_for(one, noted.keystone, others) or claim_on(one, noted.keystone) in claimed",
        "if False",
        (f"{SWEEPING}::test_a_user_goes_with_the_last_one_who_works_as_it",),
    ),
    Mutant(
        "a delete asks for no uid, whoever wants one",
        "stackwright/kube/client.py",
        'preconditions = {"uid": uid, "resourceVersion": resource_version}',
        'preconditions = {"uid": "", "resourceVersion": resource_version}',
        (f"{ON_FAULTS}::test_what_was_made_anew_in_the_place_of_what_is_pruned_stays",),
    ),
    Mutant(
        "what others own by the parent is pruned",
        CHILDREN,
        "        and mark in resource.metadata.annotations\n    )",
        "    )",
        (f"{COMPOSITE}::test_what_others_made_by_the_parent_is_not_pruned",),
    ),
    Mutant(
        "a composite prunes whatever is waited for",
        CHILDREN,
        "if (prune or forsaken(resource))\n        and key not in wanted",
        "if key not in wanted",
        (f"{COMPOSITE}::test_nothing_is_pruned_while_something_is_waited_for",),
    ),
    Mutant(
        "a child of somebody else is taken",
        CHILDREN,
        "    refuse_foreign(str(child), present, parent)\n",
        "",
        ("tests/functional/test_shapes.py::test_a_child_of_somebody_else_is_taken_once_it_is_free",),
    ),
    Mutant(
        "two workers work on one key at once",
        "stackwright/kube/queue.py",
        "        if key in self._working:\n            self._again",
        "        if False:\n            self._again",
        ("tests/unit/kube/test_queue.py", "tests/unit/kube/test_queue_machine.py"),
    ),
    Mutant(
        "a lease is taken before it is over",
        "stackwright/kube/leader.py",
        "if self.holder != self.identity and self._clock.monotonic() < self._expiry():",
        "if False:",
        ("tests/runtime/test_leader.py",),
    ),
    Mutant(
        "a webhook lets through what its check refused",
        "stackwright/kube/admission/reviews.py",
        "allowed=False, status=status",
        "allowed=True, status=status",
        ("tests/unit/kube/admission/test_reviews.py",),
    ),
    Mutant(
        "a status is written on one that was made anew",
        "stackwright/kube/shapes/report.py",
        '            "resourceVersion": resource.metadata.resourceVersion,\n',
        "",
        ("tests/functional/test_shapes.py::test_one_that_was_made_anew_does_not_get_the_status_of_the_one_before",),
    ),
    Mutant(
        "a status that was put off is never looked at again",
        "stackwright/kube/workers.py",
        "                self.queue.add_after(key, pace.rest)\n",
        "",
        ("tests/runtime/test_controller_pace.py",),
    ),
    Mutant(
        "a field that others wait for is put off",
        "stackwright/kube/pace.py",
        "return any(getattr(resource.status, name) != getattr(new, name) for name in facts)",
        "return False",
        ("tests/unit/kube/test_pace.py",),
    ),
    Mutant(
        "a connection that a starting server refuses is an error at once",
        "stackwright/kube/pace.py",
        'if after.severity == "Error" and not passing:',
        'if after.severity == "Error":',
        ("tests/runtime/test_controller_pace.py",),
    ),
    Mutant(
        "a bug of ours is told with its text, which may hold a secret",
        "stackwright/kube/conditions.py",
        "Internal error ({type(error).__name__}); the operator's log has the details",
        "Internal error ({error}); the operator's log has the details",
        ("tests/unit/kube/test_conditions.py",),
    ),
    Mutant(
        "Ready does not follow what was found now",
        "stackwright/kube/conditions.py",
        "    if not unmet:\n        return Condition(type=READY",
        "    if unmet:\n        return Condition(type=READY",
        ("tests/unit/kube/test_conditions.py",),
    ),
    Mutant(
        "keys that something is written with are made anew without a word",
        f"{SERVICE}/losses.py",
        "    if stuck:\n",
        "    if not stuck:\n",
        ("tests/unit/controllers/test_service_decide.py",),
    ),
    Mutant(
        "an account of the user's own goes when another one is used",
        "stackwright/blueprint/needs/database.py",
        "made_for(account, resource) and metadata.labels",
        "metadata.labels",
        (f"{KEYSTONE}::test_what_a_user_made_stays_when_another_account_is_used",),
    ),
    Mutant(
        "a TransportURL of the user's own goes when no bus is named any more",
        "stackwright/blueprint/needs/broker.py",
        " and made_for(bus, resource):",
        ":",
        (f"{ON_FAULTS}::test_a_login_to_a_broker_that_a_user_made_stays",),
    ),
    Mutant(
        "passwords are added to a Secret that a user made",
        "stackwright/controllers/controlplane/passwords.py",
        " or (secret is not None and not secret.generated):",
        ":",
        ("tests/unit/controllers/controlplane/test_passwords.py",),
    ),
    Mutant(
        "a turn forgets keys that tokens of today are written with",
        f"{SERVICE}/ring_turns.py",
        "source.random, needed=step.needed)",
        "source.random)",
        (
            "tests/functional/test_service_defects.py"
            "::test_keys_that_tokens_of_today_are_written_with_stay_however_often_the_ring_turns",
        ),
    ),
    Mutant(
        "a password reaches the shell unquoted",
        "stackwright/cli/commands/openrc.py",
        "{shlex.quote(str(value))}",
        "{value}",
        ("tests/unit/cli/test_openrc.py",),
    ),
    Mutant(
        "a chart asks the server while it renders",
        "charts/library/templates/_pod.tpl",
        "enableServiceLinks: false\n",
        'enableServiceLinks: false\n{{- $_ := lookup "v1" "Namespace" "" "default" }}\n',
        ("tests/charts/test_charts.py::test_it_depends_on_its_values_alone",),
    ),
    Mutant(
        "every pod gets a token of the API server",
        "charts/library/templates/_pod.tpl",
        "automountServiceAccountToken: false",
        "automountServiceAccountToken: true",
        ("tests/charts/test_charts.py::test_its_pods_are_restricted_and_say_what_they_need[keystone]",),
    ),
    Mutant(
        "a rollout takes a pod away before another is ready",
        "charts/library/templates/_component.tpl",
        "maxUnavailable: {{ $alone | ternary 1 0 }}",
        "maxUnavailable: 1",
        ("tests/charts/test_keystone.py::test_a_rollout_takes_no_pod_away_before_another_is_ready",),
    ),
    Mutant(
        "a Secret that a user made under a name of ours is taken over",
        "stackwright/controllers/ownership/claims.py",
        "(claim_object(Secret, each, owned=True) for each in object_names.of_secrets(service, resource))",
        "(claim_object(Secret, each) for each in object_names.of_secrets(service, resource))",
        (
            "tests/unit/controllers/ownership/test_cases.py"
            "::test_what_a_user_made_under_a_name_of_ours_is_not_taken_over[the-configuration]",
        ),
    ),
    Mutant(
        "one account is that of two databases",
        "stackwright/controllers/ownership/rule.py",
        "if claim.path not in (NAME, other.path) and claim.meets(other):",
        "if False:",
        ("tests/unit/services/test_nova_names.py::test_one_account_is_not_that_of_two_databases",),
    ),
    Mutant(
        "what was done for a removed cell counts when it comes back",
        "stackwright/controllers/service/former_jobs.py",
        "if known and name not in present and",
        "if name in present and",
        (
            "tests/unit/services/test_nova_rows.py"
            "::test_what_was_done_for_a_removed_cell_is_forgotten_and_for_others_is_not",
        ),
    ),
    Mutant(
        "a schema moves to another server by name",
        "stackwright/blueprint/needs/database.py",
        'server in ("", wanted) or',
        "server or",
        (
            "tests/unit/blueprint/test_database_kept.py::test_a_schema_does_not_move_to_another_server_by_name[on-another-server]",
        ),
    ),
    Mutant(
        "an object of the chart that a user made is taken over",
        "stackwright/controllers/ownership/users.py",
        "if found and not hands_over(resource, secrets):",
        "if not hands_over and found:",
        ("tests/functional/test_refused.py::test_what_a_user_made_is_named_and_never_touched[an-object-of-the-chart]",),
    ),
    Mutant(
        "a service that is refused is frozen",
        f"{SERVICE}/controller.py",
        "        if held is None:\n",
        "        if held is not None or held is None:\n",
        ("tests/functional/test_refused.py::test_a_service_that_is_refused_is_kept_as_it_was_recorded",),
    ),
    Mutant(
        "a service that is refused does its Jobs again",
        f"{SERVICE}/holding.py",
        "        if of is Job:\n            continue\n",
        "",
        ("tests/unit/controllers/test_service_holding.py::test_what_was_recorded_is_kept[jobs-are-not-done-again]",),
    ),
    Mutant(
        "the password of a person in Keystone is changed",
        "stackwright/controllers/identity/service.py",
        "return seen.login is PasswordState.DIFFERS or",
        "return False and",
        (f"{SWEEPING}::test_a_person_keeps_the_password",),
    ),
    Mutant(
        "a note deletes what carries no mark of its resource",
        "stackwright/controllers/identity/sweeping.py",
        "return thing.made_for == mark(noted.kind, noted.key)",
        "return True",
        (f"{OWN_ENTRY}::test_a_forged_note_deletes_nothing",),
    ),
    Mutant(
        "an older resource has a better right to Keystone's own entry than Keystone",
        "stackwright/controllers/ownership/rule.py",
        "return -sum(claim.innate for claim in shared)",
        "return 0",
        ("tests/unit/controllers/ownership/test_cases.py::test_what_is_keystones_own_is_refused_to_everybody",),
    ),
    Mutant(
        "Keystone's own endpoints are taken as they are",
        "stackwright/controllers/identity/own_entry.py",
        "if kept != replace(kept, url=wanted.url, enabled=True):",
        "if False:",
        (f"{OWN_ENTRY}::test_keystones_own_entry_is_mended",),
    ),
    Mutant(
        "a second Keystone that was refused counts",
        "stackwright/controllers/ownership/standing.py",
        "[resource for resource in staying if not is_refused(resource)] or staying",
        "staying",
        (f"{OWN_ENTRY}::test_a_second_keystone_that_is_refused_stops_nobody",),
    ),
    Mutant(
        "accents make another user",
        "stackwright/blueprint/name_folding.py",
        "if not unicodedata.combining(character)",
        "",
        ("tests/unit/controllers/ownership/test_cases.py::test_names_that_keystones_database_takes_for_one_are_one",),
    ),
    Mutant(
        "a broker is not told the password of its new default user",
        "stackwright/controllers/service/losses.py",
        'secret.metadata.annotations.get(GENERATED_AGAIN) == "true"',
        "False",
        (
            "tests/unit/controllers/test_service_decide.py"
            "::test_only_what_took_the_place_of_a_lost_secret_is_told_to_what_runs",
        ),
    ),
    Mutant(
        "a StatefulSet's pods are replaced without a trial",
        "stackwright/controllers/service/trials.py",
        "if component is None or present is None or not is_risky(component, present, body):",
        "if True:",
        ("tests/unit/controllers/test_service_trials.py",),
    ),
    Mutant(
        "a StatefulSet without data is never tried",
        "stackwright/controllers/service/trials.py",
        "if not component.data and not component.trial:",
        "if not component.data:",
        ("tests/unit/controllers/test_service_trials.py",),
    ),
    Mutant(
        "a release record that somebody forged hands an object of a user over",
        "stackwright/controllers/ownership/users.py",
        "service.has_chart and release.RECORDED not in status_of(resource).hash",
        "service.has_chart",
        ("tests/unit/controllers/ownership/test_cases.py::test_a_record_that_somebody_forged_hands_nothing_over",),
    ),
    Mutant(
        "a cell of Nova is created before Keystone has its user",
        "stackwright/controllers/service/decide.py",
        "done = facts.done | find_ready(common.children, seen.look)",
        "done = facts.done | {name_child(item) for item in common.children}",
        ("tests/unit/foresight/test_imagined_nova.py",),
    ),
    Mutant(
        "a trial runs with the configuration of before",
        "stackwright/controllers/service/trials.py",
        "present is not None and present.data == wanted",
        "True",
        ("tests/unit/controllers/test_service_trials.py::test_configuration_is_tried_once_it_is_written",),
    ),
    Mutant(
        "a pause grows while it lasts",
        "stackwright/kube/pace.py",
        "moved, way = before.moved, before.way",
        "moved, way = before.moved, unready_for(new, wall)",
        ("tests/unit/kube/test_pace.py",),
    ),
    Mutant(
        "what is updated under our name is ours",
        "stackwright/kube/field_owners.py",
        "is_ours = manager == ours and operation == APPLY",
        "is_ours = manager == ours",
        ("tests/unit/kube/test_field_owners.py::test_who_is_a_stranger",),
    ),
    Mutant(
        "a broker's user of another RabbitMq gets another password",
        "stackwright/controllers/broker/transport.py",
        "        _refuse_change(seen, broker, kept)\n",
        "        pass\n",
        ("tests/unit/controllers/broker/test_transport.py::test_a_user_of_somebody_else_gets_no_other_password",),
    ),
    Mutant(
        "a release record that somebody forged is taken for ours",
        "stackwright/controllers/service/holding.py",
        "newest.content_digest != status_of(",
        "newest.digest != status_of(",
        ("tests/unit/controllers/test_service_holding.py::test_a_record_that_somebody_forged_creates_nothing",),
    ),
)

# What the rows of the services prove of all of them.
OF_EVERY_SERVICE = (
    Mutant(
        "what is kept for a service goes on while that is paused",
        f"{SERVICE}/controller.py",
        "below = (*self._kept(resource, look, context), ",
        "below = (*(), ",
        (f"{EVERY_SERVICE}::test_one_that_is_paused_rests_with_what_it_keeps_and_goes_on[placement]",),
    ),
    Mutant(
        "a schema goes with its service",
        "stackwright/blueprint/needs/database.py",
        "child(database, condition=self.made, kept=True)",
        "child(database, condition=self.made)",
        (f"{EVERY_SERVICE}::test_what_goes_with_it_and_what_stays[placement]",),
    ),
    Mutant(
        "quantities are compared as texts",
        "stackwright/kube/fields.py",
        "None is not amount(value) == amount(actual[key])",
        "False",
        (f"{EVERY_SERVICE}::test_an_operator_that_starts_anew_writes_nothing[rabbitmq]",),
    ),
    Mutant(
        "a missing broker is not named",
        "stackwright/blueprint/needs/broker.py",
        "if fact is None and broker.offer is None:",
        "if False:",
        (f"{EVERY_SERVICE}::test_each_missing_need_is_named_and_healed[barbican]",),
    ),
    Mutant(
        "another password is no other Job",
        "stackwright/blueprint/needs/catalog_entry.py",
        'digest({**made, "password": login.password})',
        "digest(made)",
        (f"{EVERY_SERVICE}::test_with_jobs_the_chart_makes_what_operators_make_otherwise[placement]",),
    ),
    Mutant(
        "a password stands in the values of a release",
        "stackwright/services/keystone/service.py",
        '"environment": bootstrap_environment(resource, facts),\n        "passwordSecret"',
        '"environment": {**bootstrap_environment(resource, facts), "OS_BOOTSTRAP_X": facts.passwords["admin"]},'
        '\n        "passwordSecret"',
        (f"{EVERY_SERVICE}::test_it_comes_up_and_is_listed[keystone]",),
    ),
)

DATA_PLANE = "stackwright/blueprint/dataplane"
SCHEDULE = "tests/unit/blueprint/dataplane/test_schedule.py"
RUNS = "tests/unit/controllers/dataplane/test_runs.py"

# Machines outside of the cluster.
OF_NODES = (
    Mutant(
        "a run that failed leaves the inputs of before applied",
        f"{DATA_PLANE}/records.py",
        'appliedHash=entry.inputHash if applied else ""',
        "appliedHash=entry.inputHash if applied else record.appliedHash",
        (f"{SCHEDULE}::test_a_run_that_did_not_get_to_its_end_leaves_nothing_that_can_be_relied_on",),
    ),
    Mutant(
        "a node runs again before it has recorded its last run",
        f"{DATA_PLANE}/schedule.py",
        "not is_recorded(run, records[entry.name])",
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
        "a pod that is left of a deleted run does not hold its nodes",
        "stackwright/controllers/dataplane/occupancy.py",
        "if of and of != run.metadata.name and",
        "if False and of != run.metadata.name and",
        (f"{RUNS}::test_who_has_a_node",),
    ),
)

ALL = (*SURVIVORS, *FURTHER, *OF_EVERY_SERVICE, *OF_NODES)
