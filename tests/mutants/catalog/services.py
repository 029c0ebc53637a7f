"""Mutants of what services are: blueprints, the services themselves, and their charts."""

from tests.mutants.mutant import Mutant

KEYSTONE = "tests/functional/services/test_keystone.py"
EVERY_SERVICE = "tests/functional/services/test_cases.py"
ON_FAULTS = "tests/runtime/test_service_controller.py"
BROKER = "tests/unit/charts/rabbitmq"

MUTANTS = (
    Mutant(
        "a node of a broker begins a second cluster",
        "charts/rabbitmq/files/peers.py",
        "return [] if number == 0 and not silent else None",
        "return [] if not silent else None",
        (f"{BROKER}/test_programs.py::test_who_begins_and_who_joins",),
    ),
    Mutant(
        "a server of a broker without data looks for peers by itself",
        "charts/rabbitmq/files/prepare.py",
        "*(alone if begins else NEVER_ALONE)",
        "*alone",
        (f"{BROKER}/test_programs.py::test_no_server_finds_peers_by_itself",),
    ),
    Mutant(
        "data of a broker's node are deleted without proof that a join has left them",
        "charts/rabbitmq/files/volume.py",
        'raise RuntimeError("only what a join has left may be deleted")',
        "pass",
        (f"{BROKER}/test_joins.py::test_only_what_a_join_has_left_is_wiped",),
    ),
    Mutant(
        "data of a broker's node are put aside although one of the others knows it",
        "charts/rabbitmq/files/join.py",
        "if found is not None and cluster.node(cluster.ordinal()) in found.members:\n            return False",
        "if False:\n            return False",
        (f"{BROKER}/test_joins.py::test_data_are_put_aside_only_where_most_nodes_have_forgotten_them",),
    ),
    Mutant(
        "a copy of tables that a cut join has left may be read by others",
        "charts/rabbitmq/files/join.py",
        "ok = mnesia:set_master_nodes(Reached),",
        "ok = ok,",
        (f"{BROKER}/test_joins.py::test_a_copy_of_tables_is_shown_to_those_alone_who_wait_for_it",),
    ),
    Mutant(
        "a join that was told to end is tried again",
        "charts/rabbitmq/files/attempts.py",
        "if told or code < 0 or not own.is_marked:",
        "if code < 0 or not own.is_marked:",
        (f"{BROKER}/test_attempts.py::test_who_is_told_to_end_ends_in_its_own_time",),
    ),
    Mutant(
        "a node of a broker joins although it is being scaled away",
        "charts/rabbitmq/files/serve.py",
        "if not is_wanted():",
        "if False:",
        (f"{BROKER}/test_joins.py::test_a_node_that_shall_go_undoes_its_join_and_does_not_join_again",),
    ),
    Mutant(
        "a user's own Secret is deleted when another account is used",
        "stackwright/blueprint/needs/database.py",
        "secret is not None and secret.metadata.annotations.get(GENERATED_FOR) == maker_of(resource)",
        "secret is not None",
        (f"{KEYSTONE}::test_what_a_user_made_stays_when_another_account_is_used",),
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
        "prepare_policies(rules.load_rules)\n",
        "",
        ("tests/unit/services/test_keystone.py::test_every_process_has_its_rules_before_it_serves",),
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
        "a schema moves to another server by name",
        "stackwright/blueprint/needs/database.py",
        'server in ("", wanted) or',
        "server or",
        (
            "tests/unit/blueprint/test_database_kept.py::test_a_schema_does_not_move_to_another_server_by_name[on-another-server]",
        ),
    ),
    Mutant(
        "accents make another user",
        "stackwright/blueprint/name_folding.py",
        "if not unicodedata.combining(character)",
        "",
        ("tests/unit/controllers/ownership/test_cases.py::test_names_that_keystones_database_takes_for_one_are_one",),
    ),
    Mutant(
        "a schema goes with its service",
        "stackwright/blueprint/needs/database.py",
        "child(database, condition=self.made, kept=True)",
        "child(database, condition=self.made)",
        (f"{EVERY_SERVICE}::test_it_acts_once_rests_while_it_is_paused_and_leaves_what_stays[placement]",),
    ),
    Mutant(
        "a missing broker is not named",
        "stackwright/blueprint/needs/broker.py",
        "if fact is None and broker.offer is None:",
        "if False:",
        (f"{EVERY_SERVICE}::test_it_names_what_is_missing_comes_up_and_is_listed[barbican]",),
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
        (f"{EVERY_SERVICE}::test_it_names_what_is_missing_comes_up_and_is_listed[keystone]",),
    ),
    Mutant(
        "another OVNController takes a switch while the pods of its owner are replaced",
        "charts/ovn/files/tenure.py",
        "if now - idle_since >= FREE_AFTER:",
        "if True:",
        ("tests/unit/charts/test_ovn_tenure.py",),
    ),
    Mutant(
        "a controller configures the switch of another OVNController",
        "charts/ovn/files/controller.py",
        "                if other:\n",
        "                if not other:\n",
        ("tests/unit/charts/test_ovn_tenure.py",),
    ),
    Mutant(
        "a second OVNController saves flows of a switch that is not its own",
        "charts/ovn/files/switch.py",
        'if sys.argv[1] in ("save", "wait") and tenure.find_other():',
        "if False:",
        ("tests/unit/charts/test_ovn_tenure.py",),
    ),
    Mutant(
        "OVNControllers of two namespaces share a switch",
        "stackwright/controllers/ownership/rule.py",
        "for other, there in around.elsewhere(kind):",
        "for other, there in ():",
        ("tests/unit/controllers/ownership/test_cases.py",),
    ),
    Mutant(
        "OVNControllers of two namespaces cannot share the nodes between them",
        "stackwright/blueprint/claims.py",
        "return alike and may_share_node(self.nodes, other.nodes)",
        "return alike",
        ("tests/unit/controllers/ownership/test_cases.py",),
    ),
    Mutant(
        "a service waits for its own new password to be in Keystone",
        "stackwright/blueprint/needs/given_login.py",
        "            by_user=EXPORTED not in secret.metadata.annotations,",
        "            by_user=True,",
        ("tests/unit/services/test_nova.py::test_it_is_a_user_who_gives_the_password_of_a_cell_without_a_nova",),
    ),
    Mutant(
        "an upgrade of Nova leaves out a cell that is being removed",
        "stackwright/services/nova/upgrade.py",
        "    return [*ready_cells(resource, facts), *removed_cells(resource, facts)]",
        "    return ready_cells(resource, facts)",
        (
            "tests/unit/services/test_nova_upgrade.py"
            "::test_the_tables_of_a_cell_that_is_removed_are_upgraded_before_any_pod",
        ),
    ),
    Mutant(
        "an upgrade of Nova does not wait for the pods of a cell that is being removed",
        "stackwright/services/nova/upgrade.py",
        "        found.extend(_read_cell(there) for there in removed_cells(resource, facts).values())\n",
        "",
        ("tests/unit/services/test_nova_upgrade.py::test_a_cell_that_is_removed_gets_a_new_image_with_all_others",),
    ),
    Mutant(
        "a row of a conductor that Nova does not list is taken for deleted",
        "stackwright/services/nova/pod/service_rows.py",
        "    if witnesses is not None and (missing",
        "    if False and (missing",
        (
            "tests/unit/services/test_nova_rows.py"
            "::test_conductors_that_a_cell_without_its_database_does_not_list_are_not_taken_for_deleted",
        ),
    ),
    Mutant(
        "a wrong login in a user's Secret takes good pods away",
        "stackwright/blueprint/pod/peers.py",
        "        return ask(theirs, section)\n    except Exception as error:  # noqa: BLE001  likewise",
        '        return ""\n    except Exception as error:  # noqa: BLE001  likewise',
        ("tests/unit/blueprint/test_meeting_peers.py::test_any_refusal_counts_of_what_operators_pass_on",),
    ),
)
