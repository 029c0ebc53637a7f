#!/usr/bin/env bash
# From plain manifests to all services with their networks, by hand. What waits in an init container is applied at once;
# Nova, whose pods and Jobs do not wait for each other, is applied in its order. Three things go on side by side: the
# broker's virtual host, the networks, Nova. The manifests are written before the clock starts; see
# services_parts/networks.py.
#
#   services_networks_script.sh KUBECTL KUBECONFIG NAMESPACE FOLDER
set -euo pipefail
kubectl=("$1" "--kubeconfig=$2" "--namespace=$3")
folder=$4
wait=600s

apply() { "${kubectl[@]}" apply --server-side --filename="$folder/$1.yaml" >/dev/null; }
done_with() { "${kubectl[@]}" wait --for=condition=Complete "--timeout=$wait" "${@/#/job/}" >/dev/null; }
started() { "${kubectl[@]}" rollout status "--timeout=$wait" "$1" >/dev/null; }
jobs_in() { "${kubectl[@]}" create --dry-run=client --filename="$folder/$1.yaml" --output=name | sed -n 's|^job[^/]*/||p'; }
address() { "${kubectl[@]}" get service "$1" --output=jsonpath='{.spec.clusterIP}'; }
broker() { "${kubectl[@]}" exec rabbitmq-server-0 --container=server -- rabbitmqctl --quiet "$@" >/dev/null; }

# Clients of OVN's databases know numbers, not names: they are written in when the Services have them.
networks() {
  sed -i "s|tcp:192.0.2.1:6641|tcp:$(address ovsdbserver-nb-0):6641|; s|tcp:192.0.2.1:6642|tcp:$(address ovsdbserver-sb-0):6642|" \
    "$folder/networks.yaml"
  apply networks
}

virtual_host() {
  started statefulset/rabbitmq-server
  broker add_vhost cell1 --default-queue-type quorum
  broker set_permissions --vhost cell1 default_user '.*' '.*' '.*'
}

nova() {
  for stage in nova-databases nova-tables nova-cells; do
    apply $stage
    done_with $(jobs_in $stage)
  done
  apply nova-services
  for set in nova-scheduler nova-cell0-conductor nova-cell1-conductor nova-cell1-fake-compute; do
    started statefulset/$set
  done
  apply nova-hosts
  done_with $(jobs_in nova-hosts)
}

apply everything
networks & first=$!
virtual_host & second=$!
nova & third=$!
wait $first && wait $second && wait $third
"${kubectl[@]}" wait --for=condition=Available "--timeout=$wait" deployment --all >/dev/null
"${kubectl[@]}" wait --for=condition=Complete "--timeout=$wait" job \
  --selector='app.kubernetes.io/component in (bootstrap, identity-create)' >/dev/null
