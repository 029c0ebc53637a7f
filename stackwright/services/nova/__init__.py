"""Nova runs servers: a control plane with cells, each with a database and a message bus of its own."""
