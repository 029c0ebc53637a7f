#!/bin/bash
# Creates a first server, with all that it needs: an image, a flavor, a network with a router to the outside, and a
# floating IP at which this machine would reach it. Before it: source <(stackwright openrc)
set -euo pipefail
quietly() { openstack "$@" --column id --format value >/dev/null; }

prepare() {
  # The network that the node's spare interface leads to: SPARE_RANGE and more.
  source <(stackwright local network "$@")
  echo "The network outside is $SPARE_RANGE; floating IPs are $SPARE_FIRST to $SPARE_LAST."
  quietly network create --external --provider-network-type flat --provider-physical-network datacentre outside
  quietly subnet create --network outside --no-dhcp --subnet-range "$SPARE_RANGE" --gateway "$SPARE_HOST" \
    --allocation-pool "start=$SPARE_FIRST,end=$SPARE_LAST" outside
  quietly network create inside
  quietly subnet create --network inside --subnet-range 192.168.0.0/24 inside
  quietly router create --external-gateway outside way-out
  openstack router add subnet way-out inside
  quietly security group create open
  quietly security group rule create --protocol icmp open
  quietly security group rule create --protocol tcp --dst-port 22 open
  quietly flavor create --vcpus 1 --ram 64 --disk 0 tiny
  # The compute only pretends to run servers, so the image may be anything.
  quietly image create --disk-format raw --container-format bare --file "$0" tiny
  quietly port create --network inside --security-group open first
  quietly floating ip create --port first outside
}

quietly port show first 2>/dev/null || prepare "$@"
quietly server show first 2>/dev/null || quietly server create --flavor tiny --image tiny --port first --wait first
openstack server list
