"""What the collection for machines has in common with other parts of the product, and with itself."""

import re
import runpy
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.dataplane_parts import program, tasks
from stackwright import services
from stackwright.blueprint.dataplane.node_service import NodeService
from stackwright.controllers.node_services.removal import NODE_GOES
from stackwright.services.nova import migration, settings
from tests.unit.services.novas import FACTS

ROOT = Path(__file__).parents[2]
ROLES = sorted((ROOT / "ansible" / "roles").iterdir())


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text())
    return found


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_every_variable_with_a_default_is_described(role: Path) -> None:
    described = read(role / "meta" / "argument_specs.yml")["argument_specs"]["main"]["options"]
    assert set(read(role / "defaults" / "main.yml")) <= set(described)


@pytest.mark.parametrize("service", services.node_services(), ids=lambda service: service.name)
def test_every_service_takes_the_name_servers_back_if_its_node_goes(service: NodeService) -> None:
    name = service.playbook.rpartition(".")[2]
    (play,) = yaml.safe_load((ROOT / "ansible" / "playbooks" / f"{name}.yml").read_text())
    (task,) = play["tasks"]
    assert task["when"] == f"{NODE_GOES} | default(false)"
    # What cleanup does by hand.
    (cleanup,) = yaml.safe_load((ROOT / "ansible" / "playbooks" / "cleanup.yml").read_text())
    by_hand = next(each for each in cleanup["tasks"] if each["name"] == "Take the name servers back")
    parts = ("ansible.builtin.include_role", "vars")
    assert [task[part] for part in parts] == [by_hand[part] for part in parts]


def test_a_machine_and_a_gateway_of_one_name_would_be_the_same_chassis() -> None:
    chassis = runpy.run_path(str(ROOT / "charts" / "ovn" / "files" / "chassis.py"))
    said = read(ROOT / "ansible" / "roles" / "edpm_ovn" / "vars" / "main.yml")
    assert said["edpm_ovn_namespace"] == str(chassis["_NODES"])


def test_servers_run_as_the_user_that_nova_has_in_the_image() -> None:
    said = read(ROOT / "ansible" / "roles" / "edpm_nova" / "vars" / "main.yml")
    assert (
        f"uid = {said['edpm_nova_user']}\n" in (ROOT / "stackwright" / "services" / "nova" / "image.toml").read_text()
    )


def test_consoles_listen_on_the_address_of_the_machine_if_it_has_it() -> None:
    """The proxy asks for `my_ip`. Nova takes no name where it listens, and no server starts on another's address."""
    folder = ROOT / "ansible" / "roles" / "edpm_nova"
    said, tasks = read(folder / "vars" / "main.yml"), yaml.safe_load((folder / "tasks" / "started.yml").read_text())
    own = re.search(r"\{% if (.+) %\}\n\[vnc\]\n(?:#.*\n)*server_listen = (.+)\n\{% endif %\}", said["edpm_nova_own"])
    assert own is not None
    assert own.groups() == ("edpm_nova_my_ip in edpm_nova_addresses", "{{ edpm_nova_my_ip }}")
    assert "my_ip = {{ edpm_nova_my_ip }}\n" in said["edpm_nova_own"]
    for facts in ("all_ipv4_addresses", "all_ipv6_addresses"):
        assert f"ansible_facts.{facts}" in said["edpm_nova_addresses"]
    asked = [
        task["name"] for task in tasks if "network" in task.get("ansible.builtin.setup", {}).get("gather_subset", ())
    ]
    names = [task["name"] for task in tasks]
    assert names.index(*asked) < names.index("Run nova-compute")
    # Where the machine does not have it, it is as in the Secret of the cell.
    listening = settings.outside_compute(FACTS, "internal", None)["vnc"]
    assert listening["server_listen"] == "::"


def test_libvirt_and_nova_compute_log_in_the_same_way() -> None:
    said = read(ROOT / "ansible" / "roles" / "edpm_nova" / "vars" / "main.yml")
    tasks: Any = yaml.safe_load((ROOT / "ansible" / "roles" / "edpm_libvirt" / "tasks" / "started.yml").read_text())
    (libvirt,) = (task["vars"]["edpm_container_files"] for task in tasks if task["name"] == "Run libvirt")
    assert libvirt["ssh_config"] == said["edpm_nova_ssh_include"]
    # The role writes this file, and the key that nova.conf names, into the folder that both containers have.
    assert said["edpm_nova_ssh_include"] == "Include /var/lib/nova/.ssh/config\n"
    key = settings.outside_compute(FACTS, "internal", None)["libvirt"]["live_migration_uri"]
    assert str(key).endswith("keyfile=/var/lib/nova/.ssh/ssh-privatekey")
    files = {"ssh-privatekey", "known_hosts", "config"}
    assert set(said["edpm_nova_login"]) == files


def test_the_role_reads_the_keys_that_a_cell_writes() -> None:
    folder = ROOT / "ansible" / "roles" / "edpm_nova"
    texts = "".join(path.read_text() for path in folder.rglob("*.yml"))
    names = (migration.PRIVATE_KEY, migration.PUBLIC_KEY, migration.AUTHORITY, migration.AUTHORITY_PUBLIC)
    for name in names:
        assert re.search(rf"/{re.escape(name)}[\'\"]", texts), name


def test_a_service_that_is_stopped_has_not_failed_and_needs_no_restart_for_it() -> None:
    folder = ROOT / "ansible" / "roles" / "edpm_container"
    tasks: Any = yaml.safe_load((folder / "tasks" / "started.yml").read_text())
    (written,) = (task for task in tasks if task.get("ansible.builtin.template", {}).get("src") == "stopped.conf.j2")
    said = (folder / "templates" / "stopped.conf.j2").read_text()
    assert "[Service]\nSuccessExitStatus=143\n" in said
    # The text of the unit is as it was on machines that have it, so that their services go on.
    assert "SuccessExitStatus" not in (folder / "templates" / "service.container.j2").read_text()
    effect = tasks[-1]["stackwright.edpm.take_effect"]
    assert effect["besides"] == [written["ansible.builtin.template"]["dest"]]
    (removed,) = (task for task in yaml.safe_load((folder / "tasks" / "absent.yml").read_text()) if "loop" in task)
    assert {written["ansible.builtin.template"]["dest"], effect["note"], *effect["files"]} <= set(removed["loop"])


def test_a_service_whose_unit_was_written_by_a_run_that_ended_then_is_restarted_by_the_next_one() -> None:
    """So nothing may follow from what this run has changed."""
    folder = ROOT / "ansible" / "roles" / "edpm_container"
    tasks: Any = yaml.safe_load((folder / "tasks" / "started.yml").read_text())
    units = [task["ansible.builtin.template"] for task in tasks if "ansible.builtin.template" in task]
    (unit,) = (each["dest"] for each in units if each["src"] == "service.container.j2")
    effect = tasks[-1]["stackwright.edpm.take_effect"]
    assert effect["files"] == [unit]
    assert set(effect) == {"service", "files", "besides", "note"}
    assert not {"when", "failed_when"} & set(tasks[-1])
    # Files of its configuration that are no part of it are removed, and the note must not be one of them.
    (stale,) = (task["ansible.builtin.find"] for task in tasks if "ansible.builtin.find" in task)
    assert not effect["note"].startswith(f"{stale['paths']}/")


def test_a_service_that_systemd_never_read_can_be_removed() -> None:
    tasks: Any = yaml.safe_load((ROOT / "ansible/roles/edpm_container/tasks/absent.yml").read_text())
    (stop,) = (task for task in tasks if "ansible.builtin.systemd_service" in task)
    assert stop["ansible.builtin.systemd_service"]["daemon_reload"] is True
    assert "'Could not find the requested service' not in" in stop["failed_when"]


def test_packages_are_installed_in_one_place_after_their_lists_were_renewed() -> None:
    """A machine may come without lists, and one that has all packages is not to need their archive."""
    place = ROOT / "ansible" / "roles" / "edpm_packages" / "tasks" / "main.yml"
    programs = ("ansible.builtin.package:", "ansible.builtin.apt:", "ansible.builtin.dnf:")
    users = [
        path for path in (ROOT / "ansible").rglob("tasks/*.yml") if any(name in path.read_text() for name in programs)
    ]
    assert users == [place]
    asked, seen, renewed, installed = yaml.safe_load(place.read_text())
    assert "pkg_mgr" in asked["ansible.builtin.setup"]["gather_subset"]
    assert (seen["check_mode"], seen["failed_when"]) == (True, False)
    assert renewed["ansible.builtin.apt"] == {"update_cache": True}
    conditions = [
        "ansible_facts.pkg_mgr == 'apt'",
        f"{seen['register']} is changed or {seen['register']}.msg is defined",
    ]
    assert renewed["when"] == conditions
    assert seen["ansible.builtin.apt"] == installed["ansible.builtin.package"]


@pytest.mark.parametrize("code", [0, 1, 125, 127])
def test_what_is_no_answer_about_kvm_fails_and_says_what_to_set(code: int, tmp_path: Path) -> None:
    """An image may have no try-kvm, and podman may fail: the machine would emulate the processor for good."""
    folder = ROOT / "ansible" / "roles" / "edpm_libvirt"
    podman = tmp_path / "podman"
    podman.write_text(f'#!/bin/sh\necho "$@"\nexit {code}\n')
    podman.chmod(0o755)
    command = ["sh", "-c", read(folder / "vars" / "main.yml")["edpm_libvirt_ask"]]
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(command, env=path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (code, "exec libvirtd try-kvm\n")
    assert ("Set edpm_libvirt_virt_type to kvm or qemu" in done.stderr) == (code > 1)
    _, tried, kept = yaml.safe_load((folder / "tasks" / "virt_type.yml").read_text())
    # A Python that cannot start the guest ends with 1, too, but says nothing.
    name = tried["register"]
    assert tried["failed_when"] == f"{name}.rc not in [0, 1] or {name}.stdout | trim | length == 0"
    # Who has chosen is not asked, and what is no answer is not kept.
    assert "edpm_libvirt_virt_type | length == 0" in tried["when"]
    assert kept["when"] == [f"{tried['register']} is not skipped", "not edpm_libvirt_late"]


def test_nova_uses_the_choice_and_then_what_was_found_on_the_machine() -> None:
    """Also if the role is run alone."""
    folder = ROOT / "ansible" / "roles" / "edpm_nova"
    chosen = read(folder / "defaults" / "main.yml")["edpm_nova_virt_type"]
    assert chosen.index("edpm_libvirt_virt_type") < chosen.index("edpm_nova_found.virt_type")
    tasks: Any = yaml.safe_load((folder / "tasks" / "started.yml").read_text())
    (seen,) = (task for task in tasks if "ansible.builtin.slurp" in task)
    assert f"{seen['register']}.content" in read(folder / "vars" / "main.yml")["edpm_nova_found"]
    (kept,) = (task for _, task in flatten_role("edpm_libvirt", "virt_type.yml") if "ansible.builtin.copy" in task)
    assert seen["ansible.builtin.slurp"]["src"] == kept["ansible.builtin.copy"]["dest"]


def test_a_bridge_with_an_address_of_the_machine_stays(tmp_path: Path) -> None:
    """Who removes it is connected through it, perhaps."""
    for name, said in (
        ("podman", 'echo "br-ex br-int br-tunnel"'),
        ("ip", 'case "$*" in *br-int*) ;; *) echo "inet 192.0.2.1/24" ;; esac'),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{said}\n")
        (tmp_path / name).chmod(0o755)
    told = read(ROOT / "ansible" / "roles" / "edpm_ovs" / "vars" / "main.yml")["edpm_ovs_removable"]
    command = told.replace("{{ edpm_ovn_encap_bridge | default('br-tunnel') }}", "br-tunnel")
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(["sh", "-c", command], env=path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["br-int", "br-tunnel"]


# What may follow from what this very run has done, by the file in which it stands.
AT_ONCE = {
    "edpm_container/tasks/absent.yml": "systemd forgets a unit of which nothing is left at any later reload",
    "edpm_network_config/tasks/main.yml": "a file that a former version wrote is removed, which no note tells; "
    "and a look at the machine after a reload",
    "edpm_network_config/tasks/resolver.yml": "settings that a former version wrote are removed, which no note tells",
    "edpm_ovn/tasks/absent.yml": "files that a former version wrote are removed, which no note tells",
    "edpm_ovs/tasks/configured.yml": "the database has a mark, too",
    "edpm_packages/tasks/main.yml": "a dry run",
}


def test_nothing_follows_from_what_one_run_has_changed() -> None:
    """It may end before that, and for the next one nothing is changed any more."""
    roles = ROOT / "ansible" / "roles"
    found = {
        str(path.relative_to(roles))
        for path in roles.rglob("tasks/*.yml")
        if re.search(r"^ *notify:|^[^#]*\bis changed\b", path.read_text(), re.MULTILINE)
    }
    assert found == set(AT_ONCE)
    handlers = {path.parent.parent.name for path in roles.rglob("handlers/*.yml")}
    assert handlers == {"edpm_container"}


def test_what_takes_effect_has_a_note_of_its_own() -> None:
    places: dict[str, set[str]] = {}
    for path in (ROOT / "ansible" / "roles").rglob("tasks/*.yml"):
        for text in re.findall(r"take_effect:\n((?: {4,}.*\n)+)", path.read_text()):
            said = yaml.safe_load(textwrap.dedent(text))
            places.setdefault(said["note"], set()).add(str(said.get("command") or said["service"]) + str(said["files"]))
    assert len(places) > 4
    assert all(len(reasons) == 1 for reasons in places.values())


def test_a_setting_of_the_switch_is_written_with_the_mark_of_a_restart() -> None:
    folder = ROOT / "ansible" / "roles" / "edpm_ovs"
    _, written, restart, *_ = yaml.safe_load((folder / "tasks" / "configured.yml").read_text())
    # One transaction of the database.
    argv = written["ansible.builtin.command"]["argv"]
    assert argv[-1] == "external_ids:{{ edpm_ovs_mark }}=true"
    assert argv[-2].startswith("other_config:")
    assert "edpm_ovs_mark in edpm_ovs_present.external_ids" in restart["when"]
    again, forget = restart["block"]
    assert again["ansible.builtin.systemd_service"]["state"] == "restarted"
    assert "remove Open_vSwitch . external_ids {{ edpm_ovs_mark }}" in forget["ansible.builtin.command"]


def test_the_command_of_the_users_own_is_in_no_list_of_processes() -> None:
    """It may log in somewhere."""
    texts = {path: path.read_text() for path in (ROOT / "ansible" / "roles").rglob("tasks/*.yml")}
    assert not [path for path, text in texts.items() if re.search(r"(argv|cmd):.*edpm_bootstrap_command", text)]
    tasks: Any = yaml.safe_load(texts[ROOT / "ansible/roles/edpm_bootstrap/tasks/main.yml"])
    (block,) = (task["block"] for task in tasks if "block" in task)
    (said,) = (task["ansible.builtin.command"] for task in block if "ansible.builtin.command" in task)
    # What it runs must not read the rest of it.
    own = "cat; # a comment at its end\nps -o args= $$; exit 3 # this, too"
    given = said["stdin"].replace("{{ edpm_bootstrap_command }}", own)
    done = subprocess.run([said["cmd"]], input=f"{given}\n", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "sh\n"), done.stderr


def test_nobody_takes_the_network_of_servers_without_asking_for_them() -> None:
    (cleanup,) = yaml.safe_load((ROOT / "ansible" / "playbooks" / "cleanup.yml").read_text())
    refusing = [entry["service"] for entry in cleanup["vars"]["edpm_cleanup_roles"] if "refuses" in entry]
    assert f"({refusing} if 'ovn' in edpm_cleanup_services | default([])" in cleanup["vars"]["edpm_cleanup_asked"]
    assert "selectattr('service', 'in', edpm_cleanup_asked)" in cleanup["tasks"][0]["loop"]


# What only looks at a machine, or at what was seen.
LOOKS = {"ansible.builtin.find", "ansible.builtin.assert", "ansible.builtin.stat", "ansible.builtin.slurp"}


def flatten(tasks: Any, folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tasks that remove everything, as they run, with the role that has them."""
    for task in tasks:
        if "== 'started'" in str(task.get("when", "")):
            continue
        if "ansible.builtin.include_tasks" in task:
            # Some are named by the state in which the service is wanted.
            file = re.sub(r"\{\{ \w+_state \}\}", "absent", task["ansible.builtin.include_tasks"])
            yield from flatten(yaml.safe_load((folder / "tasks" / file).read_text()), folder)
        elif "ansible.builtin.include_role" in task:
            included = task["ansible.builtin.include_role"]
            for name in named_roles(included["name"], str(task.get("loop", ""))):
                yield from flatten_role(name, included.get("tasks_from", "main.yml"))
        elif "block" in task:
            yield from flatten(task["block"], folder)
        else:
            yield folder.name, task


def named_roles(name: str, loop: str) -> list[str]:
    if "{{" not in name:
        return [name]
    (cleanup,) = yaml.safe_load((ROOT / "ansible" / "playbooks" / "cleanup.yml").read_text())
    entries = cleanup["vars"]["edpm_cleanup_roles"]
    return [entry["role"] for entry in entries if "'refuses', 'defined'" not in loop or "refuses" in entry]


def flatten_role(name: str, file: str = "main.yml") -> Iterator[tuple[str, dict[str, Any]]]:
    folder = ROOT / "ansible" / "roles" / name.rpartition(".")[2]
    yield from flatten(yaml.safe_load((folder / "tasks" / file).read_text()), folder)


def flatten_play(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    (play,) = yaml.safe_load((ROOT / "ansible" / "playbooks" / f"{name}.yml").read_text())
    yield from flatten(play.get("pre_tasks", ()), ROOT)
    for role in play.get("roles", ()):
        yield from flatten_role(role["role"])
    yield from flatten(play.get("tasks", ()), ROOT)


@pytest.mark.parametrize("name", ["nova", "cleanup"])
def test_a_machine_is_asked_for_all_that_could_keep_it_before_anything_changes(name: str) -> None:
    """A server that is shut off has no process, but a directory: libvirt lets go, and then nova-compute would not."""
    tasks = list(flatten_play(name))
    first = next(number for number, (_, task) in enumerate(tasks) if not LOOKS & set(task) and "check_mode" not in task)
    asked = {(role, task["name"]) for role, task in tasks[:first] if "ansible.builtin.assert" in task}
    # Who takes no name servers, but gives them back, is never refused.
    others = [(role, task) for role, task in tasks if role != "edpm_network_config"]
    every = {(role, task["name"]) for role, task in others if "ansible.builtin.assert" in task}
    assert asked == every
    assert {role for role, _ in asked} == {"edpm_nova", "edpm_libvirt"}


@pytest.mark.parametrize("name", ["neutron_metadata", "ovn", "cleanup"])
def test_ovn_leaves_a_machine_by_a_switch_that_runs(name: str) -> None:
    """What the switch has in the kernel outlives it, and only the switch can remove it."""
    tasks = [(role, task["name"]) for role, task in flatten_play(name)]
    last = tasks.index(("edpm_ovs", "Remove the bridges"))
    # The services of the switch, in whose containers the others run their commands, are stopped after that.
    stopped = next(at for at, (role, named) in enumerate(tasks) if at > last and role == "edpm_container")
    assert last < stopped < tasks.index(("edpm_ovs", "Remove the database, and what loads the kernel's switch"))
    before = {("edpm_ovn", task["name"]) for _, task in flatten_role("edpm_ovn") if "command" in str(list(task))}
    if name == "neutron_metadata":
        before |= {("edpm_neutron_metadata", "Remove them")}
    # It is the container's own.
    before -= {("edpm_ovn", "Remove a container that is left")}
    assert ("edpm_ovn", "Remove its bridges, and what OVN was told") in before
    assert before <= set(tasks[:last])


@pytest.mark.parametrize("name", ["neutron_metadata", "ovn"])
def test_a_machine_is_removed_also_without_its_switch_and_its_cloud(name: str) -> None:
    """A run may have been cut off after the switch was removed, and a cloud may go before its machines."""
    asked = [task for _, task in flatten_play(name) if "podman exec ovs_vswitchd" in str(task)]
    looks = [task for task in asked if task.get("changed_when") is False]
    assert len(looks) > 1
    assert all(task["failed_when"] is False for task in looks)
    (chassis,) = {task["register"]: task for _, task in flatten_play(name) if "chassis-del" in str(task)}.values()
    assert chassis["failed_when"] is False


@pytest.mark.parametrize("role", ["edpm_nova", "edpm_libvirt"])
def test_a_role_that_is_used_alone_asks_for_itself(role: str) -> None:
    tasks = [task for name, task in flatten_role(role) if name == role]
    asked = max(number for number, task in enumerate(tasks) if "ansible.builtin.assert" in task)
    assert all(LOOKS & set(task) or task.get("check_mode") for task in tasks[:asked])


def test_a_directory_that_nova_does_not_know_is_said_to_be_one() -> None:
    folder, directories, refusal, *_ = [task for _, task in flatten_role("edpm_nova", "refuse.yml")]
    assert folder["stackwright.edpm.remove_folders"]["paths"] == [directories["ansible.builtin.find"]["paths"]]
    said = refusal["ansible.builtin.assert"]["fail_msg"]
    for part in (directories["ansible.builtin.find"]["paths"], "`openstack server show`", "delete the directory"):
        assert part in said


def test_servers_in_a_folder_that_other_machines_have_too_are_those_that_libvirt_knows() -> None:
    """Whoever deletes the directory of a server that runs elsewhere deletes its disk."""
    folder, *own, domains, refusal = [task for _, task in flatten_role("edpm_nova", "refuse.yml")]
    assert folder["check_mode"] is True
    shared = f"{folder['register']}.shared | length"
    assert {task["when"] for task in own} == {f"{shared} == 0"}
    assert {domains["when"], refusal["when"]} == {f"{shared} > 0"}
    assert "delete the directory" not in refusal["ansible.builtin.assert"]["fail_msg"]
    said = read(ROOT / "ansible" / "roles" / "edpm_libvirt" / "vars" / "main.yml")
    assert domains["ansible.builtin.find"]["paths"] in said["edpm_libvirt_folders"]


def test_no_folder_that_people_mount_is_removed_with_what_is_mounted_in_it() -> None:
    """It cannot be removed itself, and what is mounted below may be other machines' too."""
    tasks = [task for name in ("nova", "neutron_metadata", "cleanup") for _, task in flatten_play(name)]
    removed = [str(task) for task in tasks if task.get("ansible.builtin.file", {}).get("state") == "absent"]
    assert len(removed) > 2
    mine = re.compile(r"/var/lib/(nova|libvirt|openvswitch)|/var/log/|edpm_\w+_folders")
    assert not [text for text in removed if mine.search(text)]
    paths = str([task for task in tasks if "stackwright.edpm.remove_folders" in task])
    for part in ("/var/lib/nova/instances", "edpm_libvirt_folders", "/var/lib/openvswitch"):
        assert part in paths


def test_a_change_of_nova_costs_a_tenth_of_the_tasks_of_upstream() -> None:
    assert program.UPSTREAM_TASKS / 20 < tasks.count(program.OF_COLLECTION) <= program.UPSTREAM_TASKS / 10


def test_the_last_task_of_a_playbook_says_that_nothing_more_runs() -> None:
    """What `run_ansible.py` takes for the end of a host has to be that. A play of another strategy waits for others."""
    said = runpy.run_path(str(ROOT / "images" / "ansible-runner" / "run_ansible.py"))["LAST_TASK"]
    for path in sorted((ROOT / "ansible" / "playbooks").glob("*.yml")):
        (play,) = yaml.safe_load(path.read_text())
        if path.name == "cleanup.yml":
            assert "post_tasks" not in play
            continue
        assert play["strategy"] == "ansible.builtin.free", path
        (last,) = play["post_tasks"]
        assert set(last) == {"name", "ansible.builtin.debug"}, path
        assert last["name"] == said, path
        assert not {"serial", "force_handlers", "ignore_unreachable"} & set(play), path
    everywhere = [path for path in (ROOT / "ansible").rglob("*.yml") if path.parent.name in ("tasks", "handlers")]
    for path in everywhere:
        for words in re.findall(
            r"^ *(?:- )?(rescue|always|ignore_unreachable|run_once|async):", path.read_text(), re.MULTILINE
        ):
            raise AssertionError(f"{path}: after `{words}` a host that failed, or another one, may go on")
    # A handler that notifies an earlier one would run after the last task.
    for path in (path for path in everywhere if path.parent.name == "handlers"):
        names = [task["name"] for task in yaml.safe_load(path.read_text())]
        for number, task in enumerate(yaml.safe_load(path.read_text())):
            assert task.get("notify", names[-1]) in names[number + 1 :] or "notify" not in task, path
