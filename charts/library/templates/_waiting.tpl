{{/* A file of the library; a chart's own .Files does not have it, the sub-chart that the library is does. */}}
{{- define "stackwright.file" -}}
{{- (index .root.Subcharts "stackwright-library").Files.Get (printf "files/%s" .name) }}
{{- end }}

{{/* An init container that waits until a Job is complete. Its full name is not here: it changes, pods and Jobs need not. */}}
{{- define "stackwright.waitContainer" -}}
- name: wait-for-{{ .job }}
  image: {{ include "stackwright.image" (dict "root" .root) }}
  args: [python3, /var/lib/stackwright/wait_for_job.py]
  env:
    - name: CONFIG_MAP
      value: {{ .root.Release.Name }}-wait
    - name: JOB
      value: {{ .job }}
  securityContext:
    allowPrivilegeEscalation: false
    capabilities:
      drop: [ALL]
    readOnlyRootFilesystem: true
  resources:
    requests:
      cpu: 10m
      memory: 32Mi
  volumeMounts:
    - name: wait-script
      mountPath: /var/lib/stackwright
      readOnly: true
    - name: wait-token
      mountPath: /var/run/secrets/kubernetes.io/serviceaccount
      readOnly: true
{{- end }}

{{/* The volumes of that container: the script, and a token that no other container mounts. */}}
{{- define "stackwright.waitVolumes" -}}
- name: wait-script
  configMap:
    name: {{ .root.Release.Name }}-wait
    items:
      - key: wait_for_job.py
        path: wait_for_job.py
{{ include "stackwright.tokenVolume" (dict "name" "wait-token" "namespace" true) }}
{{- end }}

{{/* The full names of the Jobs that something may have to wait for, by their short ones, where the values ask for them. */}}
{{- define "stackwright.awaited" -}}
{{- $jobs := dict }}
{{- range $parts := list .blueprint.components .blueprint.jobs .blueprint.schedules }}
{{- range $part := $parts }}
{{- range $job := $part.after }}
{{- $provision := dict "db-create" "database" "identity-create" "identity" }}
{{- if hasKey $provision $job }}
{{- with index ($.root.Values.provision | default dict) (index $provision $job) }}
{{- $_ := set $jobs $job (include "stackwright.jobName" (dict "root" $.root "job" $job "values" .)) }}
{{- end }}
{{- range $name, $values := eq $job "db-create" | ternary ($.root.Values.provision | default dict).databases dict }}
{{- $named := printf "db-create-%s" $name }}
{{- $_ := set $jobs $named (include "stackwright.jobName" (dict "root" $.root "job" $named "values" $values)) }}
{{- end }}
{{- else }}
{{- with index ($.root.Values.jobs | default dict) $job }}
{{- $_ := set $jobs $job (include "stackwright.jobName" (dict "root" $.root "job" $job "values" .)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml $jobs }}
{{- end }}

{{/*
Those of the Jobs in `after` that there are, as JSON: nobody waits for what was not asked for. What comes after db-create
comes after all schemas.
*/}}
{{- define "stackwright.waits" -}}
{{- $awaited := include "stackwright.awaited" . | fromYaml }}
{{- $waits := list }}
{{- range $wanted := .after }}
{{- range $job, $_ := $awaited }}
{{- if or (eq $job $wanted) (and (eq $wanted "db-create") (hasPrefix "db-create-" $job)) }}
{{- $waits = append $waits $job }}
{{- end }}
{{- end }}
{{- end }}
{{- $waits | toJson }}
{{- end }}

{{/* Whether something that the values ask for may have to wait for Jobs: "true", or nothing. */}}
{{- define "stackwright.hasWaiting" -}}
{{- range $part := list "components" "jobs" "schedules" }}
{{- range $name, $values := index $.root.Values $part }}
{{- $shape := include "stackwright.shape" (dict "blueprint" $.blueprint "parts" (index $.blueprint $part) "component" $name) | fromYaml }}
{{- if and $values $shape.after }}true{{ end }}
{{- end }}
{{- end }}
{{- end }}

{{/*
The account of the pods that wait, and what waiting needs: script, names of the Jobs, and the right to see these alone.
Pods that wait for nothing have no rights, and need no account of their own.
*/}}
{{- define "stackwright.waiting" -}}
{{- if include "stackwright.hasWaiting" . }}
{{- $jobs := include "stackwright.awaited" . | fromYaml }}
{{- $labels := include "stackwright.labels" (dict "root" .root "component" "wait") -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .root.Release.Name }}
  labels:
    {{- $labels | nindent 4 }}
automountServiceAccountToken: false
{{- if $jobs }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .root.Release.Name }}-wait
  labels:
    {{- $labels | nindent 4 }}
data:
  {{- toYaml $jobs | nindent 2 }}
  wait_for_job.py: |
    {{- include "stackwright.file" (dict "root" .root "name" "wait_for_job.py") | nindent 4 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .root.Release.Name }}-wait
  labels:
    {{- $labels | nindent 4 }}
rules:
  - apiGroups: [""]
    resources: [configmaps]
    resourceNames: [{{ .root.Release.Name }}-wait]
    verbs: [get]
  - apiGroups: [batch]
    resources: [jobs]
    resourceNames: {{ values $jobs | sortAlpha | toJson }}
    verbs: [get, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .root.Release.Name }}-wait
  labels:
    {{- $labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ .root.Release.Name }}-wait
subjects:
  - kind: ServiceAccount
    name: {{ .root.Release.Name }}
    namespace: {{ .root.Release.Namespace }}
{{- end }}
{{- end }}
{{- end }}
