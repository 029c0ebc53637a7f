"""How the programs of Nova start: each reads and checks its configuration before it takes work. And their scripts."""

from typing import Any

import msgspec

from stackwright.api.base import JsonObject
from stackwright.blueprint import serving
from stackwright.blueprint.look import Look
from stackwright.blueprint.service import ConfigFile, Told
from stackwright.services.nova.facts import NovaFacts

# Each cell has several of them, and most of the time they wait.
REQUESTS = {"cpu": "50m", "memory": "256Mi"}
API = serving.application("nova", "nova.wsgi.osapi_compute", serving.policies("nova"))
METADATA = serving.application("nova", "nova.wsgi.metadata")

_TRIAL = "STACKWRIGHT_TRIAL"
_DAEMON = """\
import os

# By its name oslo.config finds files for it alone.
sys.argv[0] = "nova-{name}"
from nova.cmd import {name}

{prepare}{name}.config.parse_args(sys.argv)
check()
meet(peers)
# What was read is not read again: options of the command line cannot be registered twice.
{name}.config.parse_args = lambda *_: None
# A trial in a Job ends here: the pods that serve are replaced once it has succeeded.
if "{trial}" in os.environ:
    {rehearse}sys.exit()
{before}STARTED.touch()
attempt({name}.main)
"""
# A trial does not wait for a database that is away.
_PREPARE = """\
if "{trial}" in os.environ:
    for group in ("api_database", "database"):
        {name}.CONF.set_override("max_retries", 3, group)
        {name}.CONF.set_override("retry_interval", 1, group)
"""
# A trial goes as far as the program does before it takes work: it makes what its options name, such as filters. What
# others do not answer is not the configuration's fault; the program itself waits for them.
_REHEARSE = """\
from keystoneauth1.exceptions import auth_plugins
    from sqlalchemy.exc import DBAPIError

    OTHERS = ("amqp", "keystoneauth1", "kombu", "openstack", "oslo_db", "oslo_messaging", "pymysql")

    def is_of_others(error):
        module = type(error).__module__
        known = module.partition(".")[0] in OTHERS and module != auth_plugins.__name__
        return known or isinstance(error, (OSError, DBAPIError))

    def end(_=None, workers=None, **__):
        if workers is not None and workers < 1:
            raise ValueError(workers)
        # Threads that were started meanwhile are not waited for.
        os._exit(0)

    def rehearse():
        try:
            {name}.main()
        except Exception as error:
            if not is_of_others(error):
                raise
            end()

    {name}.service.serve = end
    attempt(rehearse)
    """
# A conductor waits until its tables are those of its own code, or newer, so that its pod needs no right to see the Job
# that makes them. Older ones it knows by the revisions in its code.
_TABLES = """\
from alembic.script import ScriptDirectory
from nova.db import migration

scripts = ScriptDirectory.from_config(migration._find_alembic_conf("main"))
older = {None, *(script.revision for script in scripts.walk_revisions())} - {scripts.get_current_head()}


def version():
    found = []
    reach(lambda: found.append(migration.db_version("main")))
    return found[-1]


while version() in older:
    tell("The tables of the cell are not made or upgraded yet")
    time.sleep(SECONDS)
"""
# A compute keeps the identity of its node in a file. Pods keep none, so it follows from the pod's name, which stays.
_IDENTITY = """\
import socket
import uuid

place = Path(compute.CONF.state_path) / "compute_id"
if not place.exists():
    place.write_text(str(uuid.uuid5(uuid.NAMESPACE_DNS, socket.gethostname())), encoding="utf-8")
"""


def daemon(name: str, before: str = "", *, rehearsed: bool = True) -> ConfigFile:
    """Return the file from which a program of Nova without a port starts; if `rehearsed`, a trial starts it too."""
    prepare, rehearse = (_PREPARE, _REHEARSE) if rehearsed else ("", "")
    parts = {"prepare": prepare.format(name=name, trial=_TRIAL), "rehearse": rehearse.format(name=name)}
    return serving.daemon("nova", _DAEMON.format(name=name, before=before, trial=_TRIAL, **parts))


SCHEDULER = daemon("scheduler")
CONDUCTOR = daemon("conductor", _TABLES)
# A compute asks a conductor before it makes anything, so a trial of its start would try that one.
COMPUTE = daemon("compute", _IDENTITY, rehearsed=False)
# It has a port, and pods beside the old ones, so that nothing of it is tried.
NOVNCPROXY = daemon("novncproxy", rehearsed=False)


def command(program: ConfigFile) -> str:
    """Return the command of a program without a port."""
    return f"python3 {program.destination}"


def trial(program: ConfigFile) -> str:
    """Return what a shell runs to try the configuration of a program without a port.

    A command of the user's own need not end, so it is not tried.
    """
    ours = f'"command": "{command(program)}'
    return f"grep -q '{ours}' /var/lib/kolla/config_files/config.json || exit 0\n{_TRIAL}=true exec kolla_start\n"


def cells(resource: Any) -> ConfigFile:
    """Return the list of mapped cells: processes read the mappings once, so that another list restarts them."""
    known = "".join(f"{cell} {mapping}\n" for cell, mapping in sorted(resource.spec.registeredCells.items()))
    return ConfigFile("cells", known, "/etc/nova/cells")


def given(facts: NovaFacts) -> ConfigFile:
    """Return which logins come from Secrets.

    The accounts of databases and brokers are there before their Secrets, whoever wrote these. The password that a
    Nova hands down is not: Keystone gets it when pods are ready with it.
    """
    return serving.given("nova", ("connection", "transport_url", *(("auth_type",) if facts.identity.by_user else ())))


def started(resource: Any, facts: Any) -> JsonObject:
    """Return what the chart looks for once a program without a port has started."""
    return serving.started(resource.spec)


def tell(resource: Any, facts: Any, look: Look) -> Told[Any]:
    """Return where a service that is reached by others is."""
    if facts is None or facts.endpoints is None:
        return Told(resource.status)
    return Told(msgspec.structs.replace(resource.status, apiEndpoints=facts.endpoints.by_interface))


def script(name: str, text: str) -> ConfigFile:
    """Return a script of a job."""
    return ConfigFile(name, f"#!/bin/bash\nset -e -o pipefail\n{text}", f"/etc/nova/{name}", "0700")


DB_SYNC = {
    # The tables of the API are made with those of cell0.
    True: script("dbsync.sh", "nova-manage api_db sync\nnova-manage db sync --local_cell\n"),
    False: script("dbsync.sh", "nova-manage db sync --local_cell\n"),
}
# 1 says that rows were moved, 3 that there was nothing to remove.
PURGE = script(
    "dbpurge.sh",
    """\
days_ago() { date --utc --date "-$1 days" '+%Y-%m-%d %H:%M:%S'; }
status=0
nova-manage db archive_deleted_rows --until-complete --task-log --before "$(days_ago "$1")" || status=$?
[ "$status" -le 1 ] || exit "$status"
status=0
nova-manage db purge --before "$(days_ago "$2")" || status=$?
[ "$status" -eq 0 ] || [ "$status" -eq 3 ] || exit "$status"
""",
)
# What a cell is called in the API's database, by its name.
FIND_CELL = (
    "uuid=$(nova-manage cell_v2 list_cells | awk -F '|' -v name=\"$CELL_NAME\" "
    '\'{ gsub(/ /, "", $2); gsub(/ /, "", $3) } $2 == name { print $3 }\')\n'
)
