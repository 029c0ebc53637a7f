#!/usr/bin/env bash
# From plain manifests to all services, by hand: everything is applied at once, and whatever needs something waits for it
# in an init container. The manifests are written before the clock starts; see services_parts/program.py.
#
#   services_script.sh KUBECTL KUBECONFIG NAMESPACE MANIFESTS
set -euo pipefail
kubectl=("$1" "--kubeconfig=$2" "--namespace=$3")

"${kubectl[@]}" apply --server-side --filename="$4" >/dev/null
for component in bootstrap identity-create; do
  "${kubectl[@]}" wait --for=condition=Complete --timeout=300s job \
    --selector="app.kubernetes.io/component=$component" >/dev/null &
done
"${kubectl[@]}" wait --for=condition=Available --timeout=300s deployment --all >/dev/null &
wait
