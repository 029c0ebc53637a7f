"""Names that Kubernetes derives from ours, and the rules that follow from them."""

from stackwright.api.base import rule

# A StatefulSet's pods carry the label controller-revision-hash: its name, a dash and ten characters, 63 in all;
# its Service and the pods' host names are DNS labels.
STATEFUL_NAME = (
    rule(
        "size(self.metadata.name) <= 52",
        message="metadata.name must have at most 52 characters, because labels of the pods are made from it",
    ),
    rule(
        "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
        message="metadata.name must be a DNS label (lower case letters, digits and dashes, beginning with a letter)",
    ),
)
