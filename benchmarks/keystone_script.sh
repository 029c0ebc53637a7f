#!/usr/bin/env bash
# From plain manifests to a token, by hand: everything is applied at once, and whatever needs something waits for it in
# an init container. The manifests are written before the clock starts; see keystone_parts/script.py.
#
#   keystone_script.sh KUBECTL KUBECONFIG NAMESPACE MANIFESTS LOGIN
set -euo pipefail
kubectl=("$1" "--kubeconfig=$2" "--namespace=$3")
manifests=$4
login=$5

"${kubectl[@]}" apply --server-side --filename="$manifests" >/dev/null
"${kubectl[@]}" wait --for=condition=Complete --timeout=300s job --selector=app.kubernetes.io/component=bootstrap >/dev/null &
"${kubectl[@]}" wait --for=condition=Available --timeout=300s deployment/keystone >/dev/null &
wait
address=$("${kubectl[@]}" get service keystone-internal --output=jsonpath='{.spec.clusterIP}')
until curl --silent --fail --output /dev/null --header 'Content-Type: application/json' --data "@$login" \
    "http://$address:5000/v3/auth/tokens"; do
  sleep 0.1
done
