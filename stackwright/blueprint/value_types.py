"""The values that the charts of all services have alike, described in JSON Schema. Data alone."""

from collections.abc import Iterable

from stackwright.api.base import JsonObject


def closed(properties: JsonObject, required: Iterable[str] = ()) -> JsonObject:
    """Return the schema of a map that has these keys and no others."""
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "additionalProperties": False, **needed, "properties": properties}


def described(words: str, schema: JsonObject) -> JsonObject:
    """Return a schema with what people read of it."""
    return {"description": words, **schema}


def refer(name: str) -> JsonObject:
    """Return the schema that a definition has."""
    return {"$ref": f"#/$defs/{name}"}


def name_of() -> JsonObject:
    """Return the schema of an object's name."""
    return refer("name")


def client_service(*types: str) -> JsonObject:
    """Return the value `services` of a chart that has one Service for clients, of these types."""
    service = DEFINITIONS["service"]["properties"]
    reached = {"type": {**service["type"], "enum": list(types)}} if types else {}
    ours = {**reached, **{name: service[name] for name in ("annotations", "labels", "spec")}}
    internal = described("The Service for clients within the cluster.", closed(ours))
    return {"services": described("The Services of the release.", closed({"internal": internal}))}


_TEXT = {"type": "string", "minLength": 1}
_OBJECTS = {"type": "array", "items": {"type": "object"}}
_LABEL = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"

CONFIG = described(
    "The Secret with the configuration, and with Kolla's config.json of each component, job and schedule.", name_of()
)
_CONTENT = "Anything that stands for the content of the Secret: another one rolls the pods, or makes another Job."
HASH = described(_CONTENT, refer("hash"))

# Of every pod.
POD: JsonObject = {
    "nodeSelector": described("Labels that a node must have for the pods to run there.", refer("texts")),
    "annotations": described("Further annotations.", refer("texts")),
    "resources": described(
        "What the containers request, and their limits; merged over the chart's own.", refer("resources")
    ),
    "extraVolumes": described(
        "Further volumes of the pods.", {"type": "array", "items": {"type": "object", "required": ["name"]}}
    ),
    "extraMounts": described(
        "Where the further volumes are mounted.",
        {"type": "array", "items": {"type": "object", "required": ["name", "mountPath"]}},
    ),
}

OWN_IMAGE = described("The image of these pods, where it is another one than that of the chart.", {"type": "string"})

# Of every component beside its configuration.
WORKLOAD: JsonObject = {
    "replicas": described("How many pods run; 0 stops them and keeps the data.", {"type": "integer", "minimum": 0}),
    "hash": described(_CONTENT, {"type": "string"}),
    "image": OWN_IMAGE,
    **POD,
    "affinity": described(
        "Where the pods go, instead of the chart's own rule, which rather takes different hosts.", {"type": "object"}
    ),
    "topologySpreadConstraints": described("How the pods spread over the nodes.", _OBJECTS),
    "probes": described("Merged over the chart's probes.", refer("probes")),
}

JOB: JsonObject = {
    "config": CONFIG,
    "hash": HASH,
    "backoffLimit": described(
        "How often a Job is tried again before it counts as failed.", {"type": "integer", "minimum": 0}
    ),
    "image": OWN_IMAGE,
    **POD,
}

# Of every chart.
EVERY: JsonObject = {
    "global": described("What helm hands to every chart; nothing is read from it.", {"type": "object"}),
    "stackwright-library": described(
        "What helm hands to the library chart; nothing is read from it.", {"type": "object"}
    ),
    "image": described("The reference of the image that the pods run. Required.", {"type": "string"}),
    "sudo": described(
        "Whether the image is one of Kolla's own, which start through sudo: the pods then get what that needs.",
        {"type": "boolean"},
    ),
    "podLabels": described(
        "Further labels of all pods of the release.", {"type": "object", "additionalProperties": {"type": "string"}}
    ),
    "networkPolicies": described(
        "With whom the pods talk, in NetworkPolicy's own words; all else is then closed. Empty: no NetworkPolicy.",
        closed(
            {
                "egress": described("Whom the pods of the release, Jobs among them, may talk to.", _OBJECTS),
                "ingress": described(
                    "Who may talk to the pods, by component; `*` stands for all pods of the release.",
                    {"type": "object", "additionalProperties": _OBJECTS},
                ),
            }
        ),
    ),
}

DEFINITIONS: JsonObject = {
    "url": {"type": "string", "pattern": "^https?://[^\\s]+$"},
    "name": {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", "maxLength": 253},
    "label": {"type": "string", "pattern": _LABEL, "maxLength": 63},
    "hash": {"type": "string", "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$", "maxLength": 40},
    "resources": closed(
        {
            "requests": described("What is set aside for the containers.", {"type": "object"}),
            "limits": described("What the containers may use at most.", {"type": "object"}),
            "claims": described("Claims of the pod that the containers use.", {"type": "array"}),
        }
    ),
    "texts": {"type": "object", "additionalProperties": {"type": "string"}},
    "secretKey": closed(
        {
            "name": described("The name of the Secret.", name_of()),
            "key": described("The key in it.", _TEXT),
        },
        required=["name", "key"],
    ),
    "probes": closed(
        {
            "liveness": described("Merged over the probe that restarts a container.", {"type": "object"}),
            "readiness": described("Merged over the probe that takes a pod out of its Services.", {"type": "object"}),
            "startup": described("Merged over the probe that a container has to pass first.", {"type": "object"}),
        }
    ),
    "service": {
        **closed(
            {
                "type": described(
                    "How the Service is reached.", {"enum": ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]}
                ),
                "annotations": described("Further annotations.", refer("texts")),
                "labels": described("Further labels.", refer("texts")),
                "spec": described("Merged over the Service's spec.", {"type": "object"}),
            }
        ),
        "type": ["object", "null"],
    },
    "job": closed(JOB, required=["config"]),
}

_KEY = described("The key of the password in it.", _TEXT)

DATABASE = described(
    "A Job <release>-db-create-<hash> makes schema and account, and db-sync waits for it.",
    closed(
        {
            "host": described("The host of the database server.", _TEXT),
            "port": described("Its port.", {"type": "integer", "minimum": 1, "maximum": 65535}),
            "name": described("The name of the schema.", {**_TEXT, "maxLength": 64}),
            "hash": HASH,
            "nodeSelector": POD["nodeSelector"],
            "admin": described(
                "Who may make schemas and accounts.",
                closed(
                    {
                        "username": described("The name of the one who may.", _TEXT),
                        "usernameKey": described(
                            "The key of the Secret that has his name, in place of username.", _TEXT
                        ),
                        "secret": described("The Secret with his password.", name_of()),
                        "key": _KEY,
                    },
                    required=["secret"],
                ),
            ),
            "account": described(
                "The account that the service uses.",
                closed(
                    {
                        "username": described("The name of the account.", _TEXT),
                        "secret": described("The Secret with its password.", name_of()),
                        "key": _KEY,
                    },
                    required=["username", "secret"],
                ),
            ),
        },
        required=["host", "name", "admin", "account"],
    ),
)

IDENTITY = described(
    "A Job <release>-identity-create-<hash> makes user, service and endpoints in Keystone.",
    closed(
        {
            "url": described("Where Keystone is.", refer("url")),
            "region": described("The region of the endpoints.", _TEXT),
            "hash": HASH,
            "nodeSelector": POD["nodeSelector"],
            "admin": described(
                "Who may make users and services.",
                closed(
                    {
                        "username": described("The name of the one who may.", _TEXT),
                        "project": described("The project that he logs in to.", _TEXT),
                        "secret": described("The Secret with his password.", name_of()),
                        "key": _KEY,
                    },
                    required=["secret", "key"],
                ),
            ),
            "user": described(
                "The user of the service.",
                closed(
                    {
                        "username": described("The user's name.", _TEXT),
                        "secret": described("The Secret with the user's password.", name_of()),
                        "key": _KEY,
                    },
                    required=["username", "secret", "key"],
                ),
            ),
            "service": described(
                "The service in the catalog.",
                closed(
                    {
                        "name": described("Its name.", _TEXT),
                        "type": described("Its type.", _TEXT),
                        "description": described("What people read of it.", {"type": "string"}),
                    },
                    required=["name", "type"],
                ),
            ),
            "endpoints": described(
                "The URLs of the service, by interface.",
                closed(
                    {
                        "public": described("The URL for everybody.", refer("url")),
                        "internal": described("The URL for clients in the cluster.", refer("url")),
                    },
                    required=["public", "internal"],
                ),
            ),
        },
        required=["url", "region", "admin", "user", "service", "endpoints"],
    ),
)
