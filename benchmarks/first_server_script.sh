#!/usr/bin/env bash
# From a cluster to a server that is active on a machine outside of it, by hand: with the manifests of the same charts,
# the same playbooks in the same image, and the same program that creates the server. What waits in an init container is
# applied at once. Side by side go the broker's virtual host, the networks, Nova, the machines, and the server's creation,
# which waits for a machine. The manifests are written before the clock starts; see first_server_parts/manifests.py.
#
#   first_server_script.sh KUBECTL KUBECONFIG NAMESPACE FOLDER CLUSTER KEY MACHINE...
#
# STACKWRIGHT is the program that starts machines beside the cluster.
set -euo pipefail
kubectl=("$1" "--kubeconfig=$2" "--namespace=$3")
folder=$4 cluster=$5 key=$6
shift 6
machines=("$@")
source "$(dirname "$0")/services_parts/by_hand.sh"

# The machines are prepared while the control plane comes up.
prepare() {
  local number=0
  for machine in "${machines[@]}"; do
    "$STACKWRIGHT" local node add "$machine" --cluster "$cluster" --yes > "$folder/$machine.txt"
    sed -i "s|@ADDRESS_$number@|$(grep --only-matching --max-count=1 --extended-regexp '([0-9]+\.){3}[0-9]+' "$folder/$machine.txt")|" "$folder/inventory.json"
    number=$((number + 1))
  done
  "${kubectl[@]}" create secret generic machines --from-file=ssh-privatekey="$key" --from-file=hosts.json="$folder/inventory.json" >/dev/null
  apply play-prepare
  done_with play-prepare
}

# They become computes when there are networks, and a cell that takes them; then Nova is told of its hosts.
join() {
  apply play-services
  done_with play-services
  hosts
}

apply everything
networks & first=$!
virtual_host & second=$!
nova & third=$!
prepare & fourth=$!
wait $first && wait $second && wait $third
available & fifth=$!
wait $fourth
join & sixth=$!
wait $fifth
# It waits itself until there is a machine.
apply first-server
wait $sixth
done_with first-server
