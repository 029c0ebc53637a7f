"""What a process asks its peers before it serves: whether they let it in with what the user has configured.

Operators keep accounts, schemas and logins as their own file says, though not always before a pod starts: Keystone gets
a new password when pods are ready with it. So what is asked is what the user says otherwise, and a refusal counts where
the same peer lets in what operators say. The same holds where nobody answers: an address that the user says is wrong if
the one that operators say is right. Of a login that comes from a Secret of the user's, operators only pass on what it
says, so that any refusal counts; there is nobody to compare with, and who does not answer has refused nothing.

This text runs in the service's own Python, behind that of serving.py. What it says has no value in it.
"""

import contextlib
import gc
import glob
import importlib
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from oslo_config import cfg  # type: ignore[import-not-found]  # only the service's Python has it

# A peer that takes longer is away.
PATIENCE = 3
AWAY = "nobody answers there as this has to be, though somebody does where the operator says"
# What a database's library calls it if there is no database, or none that answers.
UNREACHED = frozenset({2002, 2003, 2005, 2013})
# What the library that checks tokens looks up; other sections are called like the catalog's entry that they are for.
LOOKED_UP = {"keystone_authtoken": "identity"}
DENIED = "the database does not accept this user with this password"
# What the numbers of a database's refusals mean.
DENIALS = {
    1044: "the database does not let this user into this schema",
    1045: DENIED,
    1049: "the database has no such schema",
    1698: DENIED,
}


class Copy(cfg.ConfigOpts):  # type: ignore[misc]  # likewise
    """A configuration in which options are registered that the service registers later, or not at all."""


def copy_values(namespace: Any = None, files: tuple[str, ...] = ()) -> Any:
    """Return a configuration with the values of another one, or with those of some files."""
    made = Copy()
    made([], default_config_files=list(files), default_config_dirs=[])
    if namespace is not None:
        made._namespace = namespace  # noqa: SLF001  it has all files that the service reads, in their order
    return made


def find_schema(configuration: Any, section: str) -> Any:
    """Return what tells a section's database from others."""
    configuration.register_opt(cfg.StrOpt("connection"), section)
    return configuration[section].connection


def connect(configuration: Any, section: str) -> str:
    """Log in to a database; return why it refuses, or nothing. Whatever else goes wrong is raised."""
    engine = importlib.import_module("sqlalchemy").create_engine(configuration[section].connection)
    if engine.dialect.name not in {"mysql", "mariadb"}:
        return ""
    words, named = engine.dialect.create_connect_args(engine.url)
    times = dict.fromkeys(("connect_timeout", "read_timeout", "write_timeout"), PATIENCE)
    try:
        engine.dialect.connect(*words, **{**named, **times}).close()
    except engine.dialect.loaded_dbapi.Error as error:
        reason = DENIALS.get(next(iter(error.args), 0), "")
        if not reason:
            raise
        return reason
    return ""


def find_broker(configuration: Any, _: str) -> Any:
    """Return what tells the broker from others through which a service's parts call each other."""
    configuration.register_opt(cfg.StrOpt("transport_url"))
    return configuration.transport_url


def greet(configuration: Any, _: str) -> str:
    """Log in to a broker, at any of its nodes, likewise."""
    # The library registers the same option in its own words.
    own = copy_values(configuration._namespace)  # noqa: SLF001  likewise
    url = importlib.import_module("oslo_messaging").TransportURL.parse(own, configuration.transport_url)
    refused, away = "", None
    for host in url.hosts if url.transport == "rabbit" else ():
        try:
            refused = dial(own, host, url.virtual_host or "/")
        except Exception as error:  # noqa: BLE001  another node may answer
            away = error
        else:
            if not refused:
                return ""
    if away is not None and not refused:
        raise away
    return refused


def dial(configuration: Any, host: Any, virtual_host: str) -> str:
    """Log in to one node of a broker, as the service's own library does."""
    amqp = importlib.import_module("amqp")
    driver = importlib.import_module("oslo_messaging._drivers.impl_rabbit")
    configuration.register_opts(driver.rabbit_opts, "oslo_messaging_rabbit")
    said = configuration.oslo_messaging_rabbit
    files = {"ca_certs": said.ssl_ca_file, "certfile": said.ssl_cert_file, "keyfile": said.ssl_key_file}
    secured = {name: value for name, value in files.items() if value}
    if said.ssl_ca_file:
        secured |= {"cert_reqs": ssl.CERT_REQUIRED, "server_hostname": host.hostname}
    name = f"[{host.hostname}]" if ":" in host.hostname else host.hostname
    connection = amqp.Connection(
        host=f"{name}:{host.port}" if host.port else name,
        userid=host.username,
        password=host.password,
        virtual_host=virtual_host,
        login_method=said.rabbit_login_method,
        ssl=(secured or True) if said.ssl else False,
        **dict.fromkeys(("connect_timeout", "read_timeout", "write_timeout"), PATIENCE),
    )
    try:
        connection.connect()
    except amqp.exceptions.AccessRefused:
        return "the broker does not accept this user with this password"
    except amqp.exceptions.NotAllowed as error:
        # A limit of connections is reached by others.
        if "limit" in str(error):
            raise
        return "the broker has no such virtual host, or does not let this user into it"
    with contextlib.suppress(Exception):
        connection.close()
    return ""


def find_login(configuration: Any, section: str) -> Any:
    """Return what tells a section's login to Keystone from others, with what is looked up in the catalog by it."""
    loading = importlib.import_module("keystoneauth1.loading")
    loading.register_auth_conf_options(configuration, section)
    plugin = loading.load_auth_from_conf_options(configuration, section)
    return (plugin.get_cache_id(), find_place(configuration, section)) if plugin is not None else None


def find_place(configuration: Any, section: str) -> tuple[bool, tuple[str, ...], str | None]:
    """Return whether a section's service is looked up in the catalog, by which interfaces, and in which region."""
    for option in ("endpoint_override", "interface", "region_name"):
        configuration.register_opt(cfg.StrOpt(option), section)
    configuration.register_opt(cfg.ListOpt("valid_interfaces"), section)
    said = configuration[section]
    interfaces = said.valid_interfaces or ([said.interface] if said.interface else ["internal", "public"])
    # Who is told the URL looks nothing up.
    return not said.endpoint_override, tuple(interfaces), said.region_name


def log_in(configuration: Any, section: str) -> str:
    """Ask Keystone for a token, and the catalog that comes with it for the service, likewise."""
    loading = importlib.import_module("keystoneauth1.loading")
    errors = importlib.import_module("keystoneauth1.exceptions")
    loading.register_session_conf_options(configuration, section)
    session = loading.load_session_from_conf_options(configuration, section, timeout=PATIENCE)
    plugin = loading.load_auth_from_conf_options(configuration, section)
    try:
        plugin.get_token(session)
    except errors.Unauthorized:
        return "Keystone does not accept this user with this password in this project"
    looks_up, interfaces, region = find_place(configuration, section)
    entries = plugin.get_access(session).service_catalog.catalog or () if looks_up else ()
    called = (entry["type"] for entry in entries if section in {entry["type"], entry.get("name")})
    of = LOOKED_UP.get(section) or next(called, "")
    if not looks_up or not of:
        return ""
    try:
        found = plugin.get_endpoint(session, service_type=of, interface=interfaces, region_name=region)
    except errors.CatalogException:
        found = None
    return "" if found else f"the catalog has no service of the type {of} in this region, by these interfaces"


def is_unreached(error: Exception) -> bool:
    """Return whether an error says that nobody is there, or nobody who speaks as the peer has to."""
    keystone: Any = sys.modules.get("keystoneauth1.exceptions")
    kinds = (keystone.ConnectionError, keystone.DiscoveryFailure, keystone.NotFound) if keystone is not None else ()
    return isinstance(error, (OSError, *kinds)) or next(iter(error.args), 0) in UNREACHED


QUESTIONS = {
    "connection": (find_schema, connect),
    "transport_url": (find_broker, greet),
    "auth_type": (find_login, log_in),
}


def refuses(option: str, section: str, theirs: Any, ours: Any) -> str:
    """Return why a peer refuses what the user says, where it lets in what operators say; or nothing."""
    find, ask = QUESTIONS[option]
    try:
        if find(ours, section) is None or find(theirs, section) in {None, find(ours, section)}:
            return ""
        try:
            reason = ask(theirs, section)
        except Exception as error:
            if not is_unreached(error):
                raise
            reason = AWAY
        return reason if reason and not ask(ours, section) else ""
    except Exception as error:  # noqa: BLE001  the peer is away, or that is not for it to say
        sys.stderr.write(f"Of [{section}] nobody says whether it is right: {type(error).__name__}\n")
        return ""


def refuses_given(option: str, section: str, theirs: Any, ours: Any, asked: set[Any]) -> str:
    """Return why a peer refuses what operators pass on, if it applies and was not asked about yet; or nothing."""
    find, ask = QUESTIONS[option]
    try:
        said = find(theirs, section)
        # Several sections may have one login, and look up different services.
        login = said[0] if isinstance(said, tuple) else said
        if login is None or said != find(ours, section) or login in asked:
            return ""
        asked.add(login)
        return ask(theirs, section)
    except Exception as error:  # noqa: BLE001  likewise
        sys.stderr.write(f"Of [{section}] nobody says whether it is right: {type(error).__name__}\n")
        return ""


def list_refusals(pattern: str, given: str) -> Iterator[str]:
    """Yield what peers refuse of the configurations that were read; operators write the files of a pattern.

    The file `given` lists the options whose values come from Secrets of the user's, if there are any.
    """
    files = tuple(sorted(glob.glob(pattern)))  # noqa: PTH207  it is the pattern of a whole path
    if not files:
        return
    passed_on = Path(given).read_text(encoding="utf-8").split() if Path(given).exists() else []
    asked: set[Any] = set()
    for each in gc.get_objects():
        if not issubclass(type(each), cfg.ConfigOpts) or type(each) is Copy or each._namespace is None:  # noqa: SLF001  None where no file was read
            continue
        try:
            theirs, ours = copy_values(each._namespace), copy_values(files=files)  # noqa: SLF001  likewise
        except cfg.Error:
            continue  # The service says so itself, if it matters to it.
        for section in ours.list_all_sections():
            for option in ("transport_url",) if section == "DEFAULT" else ("connection", "auth_type"):
                # A login has many options.
                place = f"[{section}]{'' if option == 'auth_type' else f' {option}'}"
                if reason := refuses(option, section, theirs, ours):
                    yield f"{place}: {reason}"
                elif option in passed_on and (reason := refuses_given(option, section, theirs, ours, asked)):
                    yield f"{place}, which comes from a Secret: {reason}"
