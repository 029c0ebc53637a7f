#!/usr/bin/env bash
# From plain manifests to all services with their networks, by hand. What waits in an init container is applied at once.
# Three things go on side by side: the broker's virtual host, the networks, Nova. The manifests are written before the
# clock starts; see services_parts/networks.py.
#
#   services_networks_script.sh KUBECTL KUBECONFIG NAMESPACE FOLDER
set -euo pipefail
kubectl=("$1" "--kubeconfig=$2" "--namespace=$3")
folder=$4
source "$(dirname "$0")/services_parts/by_hand.sh"

compute() {
  nova
  hosts
}

apply everything
networks & first=$!
virtual_host & second=$!
compute & third=$!
wait $first && wait $second && wait $third
available
"${kubectl[@]}" wait --for=condition=Complete "--timeout=$wait" job \
  --selector='app.kubernetes.io/component in (bootstrap, identity-create)' >/dev/null
