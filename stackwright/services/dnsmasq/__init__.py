"""dnsmasq tells machines outside of the cluster the addresses of names."""
