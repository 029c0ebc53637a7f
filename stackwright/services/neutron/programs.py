"""How the programs of Neutron start, and which files each of them reads.

The API only serves requests. Agents call the RPC server; the periodic workers do what has to be done now and then; and
the maintenance worker repairs OVN's databases where they differ from Neutron's. Each has pods of its own.
"""

from dataclasses import replace

import msgspec

from stackwright.api.base import JsonObject
from stackwright.api.exposure import ApiOverride
from stackwright.blueprint import ini, oslo, serving
from stackwright.blueprint.configuration import oslo_files
from stackwright.blueprint.service import ConfigFile
from stackwright.services.neutron import settings
from stackwright.services.neutron.facts import NeutronFacts, has_ovn
from stackwright.services.neutron.kinds import NeutronAPI, NeutronAPISpec

PORT = 9696
PROCESSES = 2
DIRECTORY = "/etc/neutron/neutron.conf.d"
IMPORTS = (
    "neutron.server.api",
    "neutron.api.v2.router",
    "neutron.plugins.ml2.plugin",
    "keystonemiddleware.auth_token",
)
API, RPC, PERIODIC, MAINTENANCE = "api", "rpc", "periodic-workers", "ovn-maintenance-worker"
# What has no port waits most of the time.
REQUESTS = {"cpu": "50m", "memory": "256Mi"}
# Neutron looks for this file beside neutron.conf, and stops without it.
PLUGIN_FILE = ConfigFile("ml2_conf.ini", "", "/etc/neutron/plugins/ml2/ml2_conf.ini")
# It reads its tables, and OVN's, while it is loaded.
APPLICATION = serving.application("neutron", "neutron.wsgi.api", serving.policies("neutron"))
_DAEMON = """\
# By its name oslo.config finds files for it alone.
sys.argv[0] = "{program}"
from neutron import manager
from neutron.cmd import server as programs


def begin():
    check()
    meet(peers)
    # This loads the plugins, and with them the options that they have.
    manager.init()
    check()
    STARTED.touch()
    programs.{module}.{start}()


programs.server.boot_server(begin)
"""


def _daemon(component: str, program: str, module: str, start: str) -> ConfigFile:
    """Return the file from which a program without a port starts."""
    made = serving.daemon("neutron", _DAEMON.format(program=program, module=module, start=start))
    return replace(made, key=f"{component}-daemon.py")


DAEMONS = {
    RPC: _daemon(RPC, "neutron-rpc-server", "rpc", "rpc_server"),
    PERIODIC: _daemon(PERIODIC, "neutron-periodic-workers", "periodic", "periodic_workers"),
    MAINTENANCE: _daemon(MAINTENANCE, "neutron-ovn-maintenance-worker", "ovn_maintenance", "ovn_maintenance_worker"),
}


def names(resource: NeutronAPI) -> tuple[str, ...]:
    """Return the names of the components that a resource has."""
    rpc = (RPC,) if settings.rpc_workers(resource) else ()
    maintenance = (MAINTENANCE,) if has_ovn(resource) else ()
    return (API, *rpc, PERIODIC, *maintenance)


def template(component: str, resource: NeutronAPI) -> NeutronAPISpec:
    """Return what is said of a component's pods; probes and start of the API's own are not for the others.

    One pod of those that work by the clock is enough: a second one would wait, or do the same work again.
    """
    spec = resource.spec
    if component == API:
        return spec
    replicas = spec.replicas if component == RPC else min(spec.replicas, 1)
    return msgspec.structs.replace(spec, replicas=replicas, kollaConfig=None, override=ApiOverride())


def common_files(resource: NeutronAPI, facts: NeutronFacts) -> tuple[ConfigFile, ...]:
    """Return what every program of Neutron reads: our settings, and the user's after them."""
    said = settings.common(resource, facts)
    return (*oslo_files("neutron", said, custom=resource.spec.customServiceConfig, overwrite={}), PLUGIN_FILE)


def files(component: str, resource: NeutronAPI, facts: NeutronFacts) -> tuple[ConfigFile, ...]:
    """Return the files that a component reads."""
    shared = common_files(resource, facts)
    if component != API:
        return (*shared, DAEMONS[component])
    name = "01-neutron-api.conf"
    policies = resource.spec.defaultConfigOverwrite
    return (
        *shared,
        ConfigFile(name, ini.render(settings.api(facts)), f"{DIRECTORY}/{name}"),
        *(ConfigFile(file, text, f"/etc/neutron/{file}") for file, text in sorted(policies.items())),
        APPLICATION,
    )


def serve(resource: NeutronAPI) -> str:
    """Return the command of the API."""
    timeout = resource.spec.apiTimeout
    return oslo.uwsgi(serving.place("neutron"), PORT, processes=PROCESSES, timeout=timeout, imports=IMPORTS)


def started(component: str, resource: NeutronAPI, facts: NeutronFacts) -> JsonObject:
    """Return what the chart looks for once a program without a port has started."""
    return serving.started(template(component, resource))
