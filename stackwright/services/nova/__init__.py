"""Nova runs servers: a control plane with cells, each with a database and a message bus of its own.

    nova.py, cell.py  the whole and a cell: they stand for the services, and hand Secrets down to them
    api.py, scheduler.py, conductor.py, metadata.py, novncproxy.py, compute.py
                      the services; each works alone, from Secrets
    facts.py          what the services need, and what they know once they have it
    settings.py       what nova.conf says
    node_services.py, outside_compute.py, migration.py
                      nova-compute on machines outside of the cluster

How a connection gets to a service, such as that of the superconductor (the conductor of cell0) to its database:
`cell_needs.py` asks for a database for each cell; once there is one, `handed_down.py` writes the Secret
`<nova>-<cell>-database`; `children.py` names it in the NovaCell, and `cell.py` in the NovaConductor, both as
`cellDatabaseSecret`; the conductor's need `CELL_DATABASE` (`facts.py`) reads it; `databases` in `settings.py` writes it
into nova.conf. The superconductor gets the API's database in the same way, as `apiDatabaseSecret`.
"""
