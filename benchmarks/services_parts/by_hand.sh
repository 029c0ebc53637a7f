# What both scripts with networks do by hand; they set `kubectl` and `folder`.
# shellcheck shell=bash
wait=900s

apply() { "${kubectl[@]}" apply --server-side --filename="$folder/$1.yaml" >/dev/null; }
done_with() { "${kubectl[@]}" wait --for=condition=Complete "--timeout=$wait" "${@/#/job/}" >/dev/null; }
started() { "${kubectl[@]}" rollout status "--timeout=$wait" "$1" >/dev/null; }
available() { "${kubectl[@]}" wait --for=condition=Available "--timeout=$wait" deployment --all >/dev/null; }
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

# Nova's pods and Jobs do not wait for each other, so it is applied in its order.
nova() {
  for stage in nova-databases nova-tables nova-cells; do
    apply $stage
    done_with $(jobs_in $stage)
  done
  apply nova-services
  for set in $(sed -n '/^kind: StatefulSet/,/^spec:/s/^  name: //p' "$folder/nova-services.yaml"); do
    started statefulset/$set
  done
}

hosts() {
  apply nova-hosts
  done_with $(jobs_in nova-hosts)
}
