"""Mutants of what nodes and members of databases decide: each of them could cost a cloud its data."""

from tests.mutants.mutant import Mutant

MEMBERS = "tests/unit/charts/test_ovn_members.py"
NODES = "tests/unit/charts/mariadb"

MUTANTS = (
    Mutant(
        "a member that is killed while it makes a cluster of its data has no file",
        "charts/ovn/files/database.py",
        "        aside.hardlink_to(path)",
        "        path.rename(aside)",
        (f"{MEMBERS}::test_a_kill_while_a_cluster_is_made_of_data_never_leaves_a_member_without_a_file",),
    ),
    Mutant(
        "what a member put aside is overwritten by a file that never joined",
        "charts/ovn/files/member.py",
        "        if aside and self.file.cluster:",
        "        if aside:",
        (f"{MEMBERS}::test_what_was_put_aside_outlives_every_try_to_join",),
    ),
    Mutant(
        "a member is forced although there is a leader",
        "charts/ovn/files/member.py",
        "        if self.agreed.force and status.is_led:",
        "        if False:",
        (f"{MEMBERS}::test_who_has_a_leader_removes_force_whomever_it_names",),
    ),
    Mutant(
        "a leader of the former release takes the schema back",
        "charts/ovn/files/cluster.py",
        '    return [int(part) for part in version.split(".")] > [int(part) for part in than.split(".")]',
        "    return version != than",
        (f"{MEMBERS}::test_a_leader_of_the_former_release_takes_nothing_back",),
    ),
    Mutant(
        "the first member that starts says which cluster there is",
        "charts/ovn/files/member.py",
        "        if status.is_led and not self.agreed.cluster:",
        "        if not self.agreed.cluster:",
        (f"{MEMBERS}::test_an_old_file_does_not_become_the_agreement_by_starting_first",),
    ),
    Mutant(
        "a node waits for one whose machine is gone",
        "charts/mariadb/files/choice.py",
        "if name not in view}",
        "if False}",
        (f"{NODES}/test_living.py::test_a_node_whose_machine_is_gone_is_not_waited_for",),
    ),
    Mutant(
        "a node without data is forced, and the others copy its nothing",
        "charts/mariadb/files/choice.py",
        "    if record.empty and (others := _with_data(state)):",
        "    if False and (others := _with_data(state)):",
        (f"{NODES}/test_choice.py",),
    ),
    Mutant(
        "a node forms a cluster beside another that forms one",
        "charts/mariadb/files/choice.py",
        "    if running and not unheard:",
        "    if False and not unheard:",
        (f"{NODES}/test_choice.py",),
    ),
    Mutant(
        "a node forms a cluster although another was chosen since it read",
        "charts/mariadb/files/node.py",
        "self.map.write({self.name: record.text()}, checked=True)",
        "self.map.write({self.name: record.text()})",
        (f"{NODES}/test_waiting.py::test_a_node_forms_no_cluster_before_it_has_read_what_changed",),
    ),
    Mutant(
        "a node that was in the cluster is not waited for because what it said is gone",
        "charts/mariadb/files/choice.py",
        "    if unknown := [name for name in best.members if name in _never_there(state)]:",
        "    if unknown := [name for name in best.members if False]:",
        (f"{NODES}/test_choice.py::test_nobody_guesses",),
    ),
    Mutant(
        "the node that clients use fills another one first",
        "charts/mariadb/files/choice.py",
        " if name != state.active]",
        "]",
        (f"{NODES}/test_choice.py::test_the_clients_node_fills_another_only_if_it_must",),
    ),
    Mutant(
        "root that lost its rights does not get them back",
        "charts/mariadb/files/server.py",
        '        if self.ask(ROOT).strip() == f"{wanted}\\t1":',
        "        if self.ask(ROOT).strip().startswith(wanted):",
        (f"{NODES}/test_living.py::test_root_gets_its_rights_after_a_kill",),
    ),
)
