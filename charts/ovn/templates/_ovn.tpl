{{/* The programs of a component, by name: what it starts, and all that this imports. */}}
{{- define "ovn.programNames" -}}
{{- if eq . "ovs" }}switch programs tenure
{{- else if eq . "controller" }}controller controller_process bridges chassis kubernetes programs tenure tunnels
{{- else if or (eq . "nb") (eq . "sb") }}member cluster database kubernetes programs
{{- end }}
{{- end }}

{{/* The programs of some components, as the data of a ConfigMap. */}}
{{- define "ovn.programs" -}}
{{- $names := list }}
{{- range .components }}
{{- $names = concat $names (include "ovn.programNames" . | splitList " ") }}
{{- end }}
{{- range $names | uniq | sortAlpha }}
{{ . }}.py: |
  {{- $.root.Files.Get (printf "files/%s.py" .) | nindent 2 }}
{{- end }}
{{- end }}

{{/* Variables that say which pod this is. */}}
{{- define "ovn.field" -}}
- name: {{ .name }}
  valueFrom:
    fieldRef:
      fieldPath: {{ .path }}
{{- end }}

{{/* Whose the switch of a node is: a node has one, and OVNControllers of several namespaces may select it. */}}
{{- define "ovn.owner" -}}
- name: OWNER
  value: {{ .root.Release.Namespace }}/{{ .root.Release.Name }}
{{- end }}

{{/* What a component has beyond others. */}}
{{- define "ovn.own" -}}
{{- if eq .component "northd" }}
{{- include "ovn.northd" . }}
{{- else if eq .component "ovs" }}
{{- include "ovn.ovs" . }}
{{- else if eq .component "controller" }}
{{- include "ovn.controller" . }}
{{- else }}
{{- include "ovn.member" . }}
{{- end }}
{{- end }}

{{/* The annotation that rolls pods when their own programs change; other programs and settings do not roll them. */}}
{{- define "ovn.annotations" -}}
openstack.org/programs-hash: {{ include "ovn.programs" (dict "root" .root "components" (list .component)) | sha256sum | trunc 16 | quote }}
{{- end }}

{{/* What a pod mounts of its release. */}}
{{- define "ovn.mounts" -}}
- name: programs
  mountPath: /var/lib/stackwright/programs
  readOnly: true
- name: settings
  mountPath: /var/lib/stackwright/settings
  readOnly: true
{{- end }}

{{- define "ovn.volumes" -}}
- name: programs
  configMap:
    name: {{ .release }}-programs
- name: settings
  configMap:
    name: {{ .release }}-settings
{{- end }}

{{- define "ovn.token" -}}
- name: token
  mountPath: /var/run/secrets/kubernetes.io/serviceaccount
  readOnly: true
{{- end }}

{{/* A member of a database: a program that watches over its server, and agrees with the others. */}}
{{- define "ovn.member" -}}
{{- $release := .root.Release.Name -}}
account: {{ $release }}-members
container: ovsdbserver
args: [python3, /var/lib/stackwright/programs/member.py]
annotations:
  {{- include "ovn.annotations" . | nindent 2 }}
environment:
  {{- include "ovn.field" (dict "name" "POD_NAME" "path" "metadata.name") | nindent 2 }}
  {{- include "ovn.field" (dict "name" "POD_NAMESPACE" "path" "metadata.namespace") | nindent 2 }}
  - name: ROLE
    value: {{ .component }}
  - name: STATE
    value: {{ .shape.named }}-state
  - name: SETTINGS
    value: /var/lib/stackwright/settings/settings.json
mounts:
  {{- include "ovn.mounts" . | nindent 2 }}
  {{- include "ovn.token" . | nindent 2 }}
  - name: run
    mountPath: /run/ovn
volumes:
  {{- include "ovn.volumes" (dict "release" $release) | nindent 2 }}
  - name: run
    emptyDir: {}
  {{- include "stackwright.tokenVolume" (dict "name" "token" "namespace" true) | nindent 2 }}
{{- end }}

{{- define "ovn.northd" -}}
container: ovn-northd
args:
  - ovn-northd
  - -vfile:off
  - -vconsole:{{ .values.logLevel | default "info" }}
  - --n-threads={{ .values.threads | default 1 }}
  - --ovnnb-db={{ required "components.northd.northbound is missing; say where the NB database is" .values.northbound }}
  - --ovnsb-db={{ required "components.northd.southbound is missing; say where the SB database is" .values.southbound }}
  - --unixctl=/run/ovn/northd.ctl
  - --pidfile=/run/ovn/northd.pid
mounts:
  - name: run
    mountPath: /run/ovn
volumes:
  - name: run
    emptyDir: {}
{{- end }}

{{/* The switch of a node: the daemon, and beside it the server of its database. Flows are saved before both stop. */}}
{{- define "ovn.ovs" -}}
{{- $release := .root.Release.Name -}}
container: ovs-vswitchd
args: [python3, /var/lib/stackwright/programs/switch.py, switch]
annotations:
  {{- include "ovn.annotations" . | nindent 2 }}
environment:
  {{- include "ovn.owner" . | nindent 2 }}
  - name: SETTINGS
    value: /var/lib/stackwright/settings/settings.json
lifecycle:
  preStop:
    exec:
      command: [python3, /var/lib/stackwright/programs/switch.py, save]
containers:
  - name: ovsdb-server
    image: {{ .values.image | empty | ternary (include "stackwright.image" (dict "root" .root)) (.values.image | quote) }}
    args: [python3, /var/lib/stackwright/programs/switch.py, database]
    env:
      {{- include "ovn.owner" . | nindent 6 }}
    lifecycle:
      preStop:
        exec:
          command: [python3, /var/lib/stackwright/programs/switch.py, wait]
    securityContext:
      {{- include "stackwright.containerSecurityContext" (dict "root" .root "host" .shape.host) | nindent 6 }}
    resources:
      requests:
        cpu: 10m
        memory: 32Mi
    volumeMounts:
      {{- range .shape.host.paths }}
      - name: {{ include "stackwright.hostVolume" . }}
        mountPath: {{ .mount }}
        {{- if .readOnly }}
        readOnly: true
        {{- end }}
      {{- end }}
      {{- include "ovn.mounts" . | nindent 6 }}
mounts:
  {{- include "ovn.mounts" . | nindent 2 }}
volumes:
  {{- include "ovn.volumes" (dict "release" $release) | nindent 2 }}
{{- end }}

{{- define "ovn.controller" -}}
{{- $release := .root.Release.Name -}}
account: {{ $release }}-pods
container: ovn-controller
args: [python3, /var/lib/stackwright/programs/controller.py]
annotations:
  {{- include "ovn.annotations" . | nindent 2 }}
environment:
  {{- include "ovn.field" (dict "name" "NODE_NAME" "path" "spec.nodeName") | nindent 2 }}
  {{- include "ovn.field" (dict "name" "NODE_IP" "path" "status.hostIP") | nindent 2 }}
  - name: STATE
    value: {{ $release }}-chassis
  {{- include "ovn.owner" . | nindent 2 }}
  - name: DAEMON_SET
    value: {{ .shape.named }}
  - name: SETTINGS
    value: /var/lib/stackwright/settings/settings.json
mounts:
  {{- include "ovn.mounts" . | nindent 2 }}
  {{- include "ovn.token" . | nindent 2 }}
volumes:
  {{- include "ovn.volumes" (dict "release" $release) | nindent 2 }}
  {{- include "stackwright.tokenVolume" (dict "name" "token" "namespace" true) | nindent 2 }}
{{- end }}

{{/* An account of pods that may read and change one ConfigMap, and read one workload. */}}
{{- define "ovn.account" -}}
{{- $labels := include "stackwright.labels" (dict "root" .root "component" .component) -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  labels:
    {{- $labels | nindent 4 }}
automountServiceAccountToken: false
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name }}
  labels:
    {{- $labels | nindent 4 }}
rules:
  - apiGroups: [""]
    resources: [configmaps]
    resourceNames: [{{ .state }}]
    verbs: [get, patch]
  - apiGroups: [apps]
    resources: [{{ .kind }}]
    resourceNames: [{{ .workload }}]
    verbs: [get]
  {{- with .lists }}
  - apiGroups: [""]
    resources: [{{ . }}]
    verbs: [list]
  {{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name }}
  labels:
    {{- $labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ .name }}
    namespace: {{ .root.Release.Namespace }}
---
# The pods write all that is in it.
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .state }}
  labels:
    {{- $labels | nindent 4 }}
{{- end }}
