"""The annotations with which a person controls an operator, and those by which operators know things again."""

# Pauses the work on a resource and on everything that belongs to it: "true".
PAUSED = "openstack.org/paused"
# On a service of a node that is being deleted: "true" says that its machine is lost, and not waited for.
MACHINE_LOST = "openstack.org/machine-lost"
# Who owns a service's release: "operator", or "helm" if somebody uses helm by hand.
RELEASE_OWNER = "openstack.org/release-owner"
# Accepts that deleted Secrets are created again: the words that the condition named, separated by commas.
ACCEPT_LOSS = "openstack.org/accept-loss"
# On a claim that a service keeps: "true" says that nobody needs what is on it, so that the service may leave it.
NOT_NEEDED = "openstack.org/not-needed"

# On a node, before the name of a kind: the playbook and the roles of Ansible that its operator runs there.
DEPLOYED_BY = "dataplane.openstack.org/deployed-by-"
# On a service of a node: a digest of the images that its webhook would fill in, as they were at the last write.
DEFAULT_IMAGES = "dataplane.openstack.org/default-images"
# On a KeystoneService or a MariaDBAccount: the version of the Secret with which its service works.
# At a KeystoneService, that is when new pods are ready with it; at a MariaDBAccount, when no pod has another one.
CONFIGURED_WITH = "openstack.org/configured-with"
# On a Secret that a resource writes for others: the digest of its content. One that a user wrote has none.
EXPORTED = "openstack.org/content"
# By which operators know again what they made: on every Secret that was generated, for which resource.
GENERATED_FOR = "openstack.org/generated-for"
# On a generated Secret that took the place of a lost one: "true". What was set up with the old one is told the new.
GENERATED_AGAIN = "openstack.org/generated-again"
