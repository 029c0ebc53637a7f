#!/bin/bash
# Brings up a Kubernetes with one node by hand: the same programs, namespaces and manifests as `stackwright local up`,
# and nothing that would look after them. Certificates, kubeconfigs, configuration files, manifests and image archives
# are in $FOLDER before it begins. Each step runs as soon as what it needs is there, beside the others.
#
#   local_script.sh up     start everything, and a Deployment; return when it is Available
#   local_script.sh down   end everything, and remove what was made outside of $FOLDER
#   local_script.sh node   (inside of the namespaces) run the node's programs
#
# Needs in its environment: FOLDER, BINARIES, NAME, HOST, NODE, PREFIX, PODS, SERVICES
set -euo pipefail

certificates=$FOLDER/certificates
configuration=$FOLDER/configuration
kubectl=(kubectl "--kubeconfig=$FOLDER/kubeconfig")
PATH=$BINARIES:$PATH:/usr/sbin:/sbin

hierarchies() {
    awk '$3 == "cgroup" || $3 == "cgroup2" { print $2 }' /proc/mounts
}

# Waits until something answers on a port of the node.
listening() {
    until (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; do sleep 0.02; done
}

ready() {
    until curl --silent --fail --output /dev/null --cacert "$certificates/ca.crt" --cert "$certificates/etcd-client.crt" \
        --key "$certificates/etcd-client.key" https://127.0.0.1:6443/readyz; do sleep 0.05; done
}

groups() {
    local tree file controller
    for tree in $(hierarchies); do
        mkdir -p "$tree/stackwright-$NAME/system"
        for file in cpuset.cpus cpuset.mems; do
            [ -e "$tree/$file" ] || continue
            cat "$tree/$file" >"$tree/stackwright-$NAME/$file"
            cat "$tree/$file" >"$tree/stackwright-$NAME/system/$file"
        done
        [ -e "$tree/cgroup.controllers" ] && for controller in $(<"$tree/cgroup.controllers"); do
            if ! grep --quiet --word-regexp "$controller" "$tree/cgroup.subtree_control"; then
                echo "+$controller" >"$tree/cgroup.subtree_control"
                echo "-$controller" >>"$FOLDER/controllers"
            fi
            echo "+$controller" >"$tree/stackwright-$NAME/cgroup.subtree_control"
        done
        # Whoever is in it takes all its children along.
        echo 0 >"$tree/stackwright-$NAME/system/cgroup.procs"
    done
}

node() {
    groups
    read -r first _ </proc/self/stat
    echo "$first" >"$FOLDER/first"
    mount --types tmpfs --options mode=755 run /run
    mount --bind "$FOLDER/var" /var
    mount --types proc proc /proc
    mount --make-rshared /
    hostname node-1
    ip link set lo up
    echo 1 >/proc/sys/net/ipv4/ip_forward

    containerd --config "$configuration/containerd.toml" &>"$FOLDER/logs/containerd.log" &
    etcd --data-dir="$FOLDER/etcd" --log-level=warn --heartbeat-interval=10 --election-timeout=100 \
        --listen-client-urls=https://127.0.0.1:2379 --advertise-client-urls=https://127.0.0.1:2379 \
        --listen-peer-urls=http://127.0.0.1:0 \
        --cert-file="$certificates/server.crt" --key-file="$certificates/server.key" \
        --trusted-ca-file="$certificates/ca.crt" --client-cert-auth &>"$FOLDER/logs/etcd.log" &
    listening 2379
    kube-apiserver --advertise-address="$NODE" --secure-port=6443 \
        --etcd-servers=https://127.0.0.1:2379 --etcd-cafile="$certificates/ca.crt" \
        --etcd-certfile="$certificates/etcd-client.crt" --etcd-keyfile="$certificates/etcd-client.key" \
        --cert-dir="$certificates" --client-ca-file="$certificates/ca.crt" \
        --tls-cert-file="$certificates/server.crt" --tls-private-key-file="$certificates/server.key" \
        --kubelet-certificate-authority="$certificates/ca.crt" \
        --kubelet-client-certificate="$certificates/kubelet-client.crt" \
        --kubelet-client-key="$certificates/kubelet-client.key" --kubelet-preferred-address-types=InternalIP \
        --service-account-issuer=https://kubernetes.default.svc.cluster.local \
        --service-account-key-file="$certificates/service-accounts.pub" \
        --service-account-signing-key-file="$certificates/service-accounts.key" \
        --service-cluster-ip-range="$SERVICES" --authorization-mode=Node,RBAC \
        --enable-admission-plugins=NodeRestriction --allow-privileged=true --profiling=false \
        &>"$FOLDER/logs/kube-apiserver.log" &
    ready
    kube-controller-manager --kubeconfig="$configuration/kube-controller-manager.kubeconfig" --leader-elect=false \
        --use-service-account-credentials --service-account-private-key-file="$certificates/service-accounts.key" \
        --root-ca-file="$certificates/ca.crt" --cluster-signing-cert-file="$certificates/ca.crt" \
        --cluster-signing-key-file="$certificates/ca.key" --bind-address=127.0.0.1 \
        --tls-cert-file="$certificates/server.crt" --tls-private-key-file="$certificates/server.key" \
        --kube-api-qps=200 --kube-api-burst=400 --profiling=false &>"$FOLDER/logs/kube-controller-manager.log" &
    kube-scheduler --kubeconfig="$configuration/kube-scheduler.kubeconfig" --leader-elect=false \
        --authentication-kubeconfig="$configuration/kube-scheduler.kubeconfig" \
        --authorization-kubeconfig="$configuration/kube-scheduler.kubeconfig" --bind-address=127.0.0.1 \
        --tls-cert-file="$certificates/server.crt" --tls-private-key-file="$certificates/server.key" \
        --kube-api-qps=200 --kube-api-burst=400 --profiling=false &>"$FOLDER/logs/kube-scheduler.log" &
    kubelet --config="$configuration/kubelet.yaml" --kubeconfig="$configuration/kubelet.kubeconfig" \
        --hostname-override=node-1 --node-ip="$NODE" &>"$FOLDER/logs/kubelet.log" &
    kube-proxy --proxy-mode=iptables --kubeconfig="$configuration/kube-proxy.kubeconfig" --hostname-override=node-1 \
        --cluster-cidr="$PODS" --conntrack-max-per-core=0 --conntrack-tcp-timeout-established=0 \
        --conntrack-tcp-timeout-close-wait=0 &>"$FOLDER/logs/kube-proxy.log" &
    kube-router --run-firewall --run-router=false --run-service-proxy=false --run-loadbalancer=false \
        --kubeconfig="$configuration/kube-router.kubeconfig" --hostname-override=node-1 --enable-ipv6=false \
        --service-cluster-ip-range="$SERVICES" --metrics-port=0 &>"$FOLDER/logs/kube-router.log" &
    "${kubectl[@]}" apply --server-side --validate=false --filename="$FOLDER/manifests.json" >/dev/null
    : >"$FOLDER/applied"
    wait
}

connect() {
    local first=$1
    ip link add "sw-$NAME" type veth peer name eth0 netns "$first"
    ip address add "$HOST/$PREFIX" dev "sw-$NAME"
    ip link set "sw-$NAME" up
    nsenter --net --target "$first" ip address add "$NODE/$PREFIX" dev eth0
    nsenter --net --target "$first" ip link set eth0 up
    nsenter --net --target "$first" ip route add default via "$HOST"
    ip route add "$SERVICES" via "$NODE" dev "sw-$NAME"
    ip route add "$PODS" via "$NODE" dev "sw-$NAME"
}

load() {
    local socket=/proc/$1/root/run/containerd/containerd.sock archive
    until [ -S "$socket" ] && ctr --address "$socket" version &>/dev/null; do sleep 0.05; done
    for archive in "$FOLDER"/images/*.tar; do
        ctr --address "$socket" --namespace k8s.io images import "$archive" >/dev/null
    done
}

up() {
    local first
    unshare --net --mount --pid --ipc --uts --fork --kill-child --propagation=private -- "$0" node \
        </dev/null &>"$FOLDER/logs/node.log" &
    echo $! >"$FOLDER/keeper"
    until [ -s "$FOLDER/first" ]; do sleep 0.01; done
    first=$(<"$FOLDER/first")
    connect "$first"
    load "$first" &
    until [ -e "$FOLDER/applied" ]; do
        kill -0 "$(<"$FOLDER/keeper")"
        sleep 0.05
    done
    "${kubectl[@]}" wait --for=create node/node-1 --timeout=120s >/dev/null
    "${kubectl[@]}" wait --for=condition=Ready node/node-1 --timeout=120s >/dev/null
    "${kubectl[@]}" wait --for=condition=Available --namespace=kube-system deployment/coredns --timeout=120s >/dev/null
    "${kubectl[@]}" wait --for=condition=Available deployment/web --timeout=120s >/dev/null
}

down() {
    local tree change
    if [ -s "$FOLDER/keeper" ]; then
        kill -9 "$(<"$FOLDER/keeper")" 2>/dev/null || true
        while [ -s "$FOLDER/first" ] && kill -0 "$(<"$FOLDER/first")" 2>/dev/null; do sleep 0.05; done
    fi
    # The kernel takes the cable away with the node, a moment later.
    ip link delete "sw-$NAME" 2>/dev/null || true
    for tree in $(hierarchies); do
        until [ ! -d "$tree/stackwright-$NAME" ] ||
            find "$tree/stackwright-$NAME" -depth -type d -exec rmdir {} + 2>/dev/null; do sleep 0.05; done
        if [ -e "$tree/cgroup.controllers" ] && [ -e "$FOLDER/controllers" ]; then
            # Others may use it by now; then it stays.
            while read -r change; do
                echo "$change" 2>/dev/null >"$tree/cgroup.subtree_control" || true
            done <"$FOLDER/controllers"
        fi
    done
}

"$1"
