"""The annotations by which a person steers an operator."""

# Stops the work on a resource and on what it stands for: "true".
PAUSED = "openstack.org/paused"
# Who owns a service's release: "operator", or "helm" for who works by hand.
RELEASE_OWNER = "openstack.org/release-owner"
# Accepts that Secrets which were deleted are made anew: the words that the condition named, with commas between them.
ACCEPT_LOSS = "openstack.org/accept-loss"

# By which operators know again what they made: on every Secret that was generated, for which resource.
GENERATED_FOR = "openstack.org/generated-for"
