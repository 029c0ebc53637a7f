{{/*
A component: its Deployment, StatefulSet or DaemonSet, the governing Service of a StatefulSet, and its budget.

No request is lost when an API rolls: a new pod is ready before an old one goes; the old one serves on while the Services
forget it (the pause before the signal), and then ends what it has begun. Pods with ports of the host cannot do that.
*/}}
{{- define "stackwright.component" -}}
{{- $shape := include "stackwright.shape" . | fromYaml }}
{{- $own := dict }}
{{- if .own }}
{{- $own = include .own (dict "root" .root "component" .component "values" .values "shape" $shape) | fromYaml }}
{{- if $own.Error }}{{ fail (printf "%s: %s" .own $own.Error) }}{{ end }}
{{- end }}
{{- $name := $shape.named | default (include "stackwright.named" (dict "root" .root "suffix" (dig "suffix" .component $shape))) }}
{{- $nodes := $shape.named | default (include "stackwright.named" (dict "root" .root "suffix" $shape.nodes)) }}
{{- $pod := merge (dict "root" .root "shape" $shape "own" $own "user" (dig "user" .blueprint.user $shape)) (omit . "root" "own" "user") -}}
apiVersion: apps/v1
kind: {{ $shape.workload }}
metadata:
  name: {{ $name }}
  labels:
    {{- include "stackwright.labels" . | nindent 4 }}
spec:
  {{- if ne $shape.workload "DaemonSet" }}
  replicas: {{ hasKey .values "replicas" | ternary .values.replicas 1 }}
  {{- end }}
  revisionHistoryLimit: 2
  {{- if eq $shape.workload "Deployment" }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      {{- $alone := not (empty ($shape.host | default dict).network) }}
      maxSurge: {{ $alone | ternary 0 1 }}
      maxUnavailable: {{ $alone | ternary 1 0 }}
  {{- else if eq $shape.workload "StatefulSet" }}
  serviceName: {{ $nodes }}
  # All at once: after the loss of all, nodes that wait for each other must not wait for each other's readiness.
  podManagementPolicy: Parallel
  {{- if $shape.data }}
  persistentVolumeClaimRetentionPolicy:
    whenDeleted: Retain
    whenScaled: Retain
  {{- end }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "stackwright.selectorLabels" . | nindent 6 }}
  template:
    {{- include "stackwright.componentPod" $pod | nindent 4 }}
  {{- if and $shape.data (eq $shape.workload "StatefulSet") }}
  volumeClaimTemplates:
    - metadata:
        name: data
        labels:
          {{- include "stackwright.selectorLabels" . | nindent 10 }}
      spec:
        accessModes: [ReadWriteOnce]
        {{- with .values.storage.class }}
        storageClassName: {{ . | quote }}
        {{- end }}
        resources:
          requests:
            storage: {{ .values.storage.request }}
  {{- end }}
{{- if and (eq $shape.workload "StatefulSet") $shape.ports }}
---
{{- /*
Nodes find each other before they are ready. Where it is named after the release, clients use it as well. Pods without a
port, which talk by a broker alone, are looked for by nobody.
*/}}
{{- $spec := dict "clusterIP" "None" "publishNotReadyAddresses" true }}
{{- $values := $shape.nodes | empty | not | ternary dict ((.root.Values.services | default dict).internal | default dict) }}
{{ include "stackwright.service" (dict "root" .root "name" $nodes "component" .component "ports" (include "stackwright.servicePorts" $shape | fromYamlArray) "spec" $spec "values" $values) }}
{{- end }}
{{- /* Pods that a volume holds together on one node can only leave it together. */}}
{{- $volume := .values.volume | default dict }}
{{- $held := and $volume.claim (not $volume.shared) }}
{{- if not (or $held (eq $shape.workload "DaemonSet")) }}
---
{{ include "stackwright.podDisruptionBudget" (dict "root" .root "name" $name "component" .component "replicas" (.values.replicas | default 1)) }}
{{- end }}
{{- end }}

{{/* The pod of a component. What the values do not configure starts by what the chart's own template says. */}}
{{- define "stackwright.componentPod" -}}
{{- $api := include "stackwright.servesApi" . | empty | not }}
{{- $stop := mergeOverwrite (dict "drain" (.shape.drain | default ($api | ternary 10 0)) "finish" .shape.finish) (.values.stop | default dict) }}
{{- $waits := include "stackwright.waits" (dict "root" .root "blueprint" .blueprint "after" .shape.after) | fromJsonArray }}
{{- $configured := or (not (empty .values.config)) (empty .own.args) }}
{{- $parts := merge (dict "root" .root "waits" $waits "configured" $configured "keyRings" true "host" (.shape.host | default dict)) (omit . "root") -}}
metadata:
  labels:
    {{- include "stackwright.podLabels" . | nindent 4 }}
  {{- with include "stackwright.podAnnotations" (dict "values" .values "own" .own.annotations) }}
  annotations:
    {{- . | nindent 4 }}
  {{- end }}
spec:
  {{- include "stackwright.podSettings" . | nindent 2 }}
  {{- include "stackwright.placement" . | nindent 2 }}
  {{- if $parts.host.network }}
  hostNetwork: true
  dnsPolicy: ClusterFirstWithHostNet
  {{- end }}
  {{- if $parts.host.pid }}
  hostPID: true
  {{- end }}
  {{- if $parts.host.ipc }}
  hostIPC: true
  {{- end }}
  {{- with .own.account | default (.shape.after | empty | ternary "" .root.Release.Name) }}
  serviceAccountName: {{ . }}
  {{- end }}
  terminationGracePeriodSeconds: {{ .values.terminationGracePeriodSeconds | default (add $stop.drain $stop.finish 5) }}
  {{- if or $waits .own.initContainers }}
  initContainers:
    {{- range $waits }}
    {{- include "stackwright.waitContainer" (dict "root" $.root "job" .) | nindent 4 }}
    {{- end }}
    {{- with .own.initContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
  containers:
    - name: {{ .own.container | default .component }}
      image: {{ .values.image | empty | ternary (include "stackwright.image" (dict "root" .root)) (.values.image | quote) }}
      args: {{ $configured | ternary (list "kolla_start") .own.args | toJson }}
      {{- if or $configured $api .own.environment }}
      env:
        {{- if $configured }}
        {{- include "stackwright.kollaEnvironment" . | nindent 8 }}
        {{- end }}
        {{- if $api }}
        # uwsgi reads its options from here as well: SIGTERM lets requests end, and they have this long for it.
        - name: UWSGI_HOOK_MASTER_START
          value: unix_signal:15 gracefully_kill_them_all
        - name: UWSGI_WORKER_RELOAD_MERCY
          value: {{ $stop.finish | quote }}
        {{- end }}
        {{- with .own.environment }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
      {{- with .shape.ports }}
      ports:
        {{- range . }}
        - name: {{ .name }}
          containerPort: {{ .port }}
          {{- with .protocol }}
          protocol: {{ . }}
          {{- end }}
        {{- end }}
      {{- end }}
      {{- if .own.lifecycle }}
      lifecycle:
        {{- toYaml .own.lifecycle | nindent 8 }}
      {{- else if $stop.drain }}
      lifecycle:
        preStop:
          sleep:
            seconds: {{ $stop.drain }}
      {{- end }}
      {{- include "stackwright.probes" . | nindent 6 }}
      securityContext:
        {{- include "stackwright.containerSecurityContext" $parts | nindent 8 }}
        {{- with .own.securityContext }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      resources:
        {{- include "stackwright.resources" (dict "default" (dict "requests" (.own.requests | default .shape.requests)) "values" .values) | nindent 8 }}
      {{- with include "stackwright.mounts" $parts | trim }}
      volumeMounts:
        {{- . | nindent 8 }}
      {{- end }}
    {{- with .own.containers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with include "stackwright.volumes" $parts | trim }}
  volumes:
    {{- . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* Whether uwsgi serves an API here: "true", or nothing. */}}
{{- define "stackwright.servesApi" -}}
{{- range .shape.ports }}{{ if eq .name "api" }}true{{ end }}{{ end }}
{{- end }}

{{/*
The probes of a container: those that every API has, the blueprint's over them, the values' over both. All patience is in
the first one: some wait for their database; one that cannot work ends by itself, and need not be ended.
*/}}
{{- define "stackwright.probes" -}}
{{- $usual := dict }}
{{- if include "stackwright.servesApi" . }}
{{- range $name, $probe := dict "startup" (dict "periodSeconds" 1 "timeoutSeconds" 5 "failureThreshold" 600) "readiness" (dict "periodSeconds" 10 "timeoutSeconds" 5 "failureThreshold" 3) "liveness" (dict "periodSeconds" 20 "timeoutSeconds" 15 "failureThreshold" 6) }}
{{- $_ := set $usual $name (merge (dict "httpGet" (dict "path" $.shape.probe "port" "api")) $probe) }}
{{- end }}
{{- else if and .values.started (not (.values.probes | default dict).startup) }}
{{- /* Before it has read its configuration it does no work: the old pod stays as long. */}}
{{- $_ := set $usual "startup" (dict "exec" (dict "command" (list "test" "-e" .values.started)) "periodSeconds" 1 "failureThreshold" 600) }}
{{- end }}
{{- range $name := list "startup" "readiness" "liveness" }}
{{- with include "stackwright.probe" (dict "name" $name "default" (index $usual $name | default dict) "said" (index ($.shape.probes | default dict) $name | default dict) "values" $.values) | fromYaml }}
{{ $name }}Probe:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}
