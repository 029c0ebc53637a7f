"""A second cell for a Nova that has one already."""

CELL2 = {
    "cellDatabaseInstance": "openstack",
    "cellDatabaseAccount": "nova-cell2",
    "messagingBus": {"cluster": "rabbitmq", "user": "nova-cell2", "vhost": "cell2"},
    "noVNCProxyServiceTemplate": {"enabled": False},
    "novaComputeTemplates": {"fake": {"computeDriver": "fake.FakeDriver"}},
}
