"""CustomResourceDefinitions from types: the schema, the manifest, and its installation in a cluster.

The rule of this folder: `schema` and `generate` are pure and import no client, so that types can be
declared, and their definitions printed, without a cluster in sight. Only `install` talks to a server.
"""
