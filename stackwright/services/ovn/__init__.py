"""OVN builds virtual networks: two databases, the daemon that translates between them, and gateways on nodes."""
