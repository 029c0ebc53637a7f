"""CustomResourceDefinitions from types: markers on fields, the schema, the manifest, and putting it into a cluster.

The rule of this folder: `markers`, `schema` and `generate` are pure and import no client, so that types can be
declared, and their definitions printed, without a cluster in sight. Only `install` talks to a server.
"""
