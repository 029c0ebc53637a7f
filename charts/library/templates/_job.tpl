{{/* The name of a Job ends in the hash of its inputs: the one that the values say, else of the values themselves. */}}
{{- define "stackwright.jobName" -}}
{{- $inputs := list .root.Chart.Version (pick .root.Values "image" "sudo" "podLabels" "keyRings" "provision") .values | toJson }}
{{- $hash := .values.hash | default ($inputs | sha256sum | trunc 8) }}
{{- /* It becomes a label of its pods, which has 63 characters at most. */}}
{{- printf "%s-%s" (include "stackwright.shortened" (dict "name" (printf "%s-%s" .root.Release.Name .job) "most" (sub 62 (len $hash)))) $hash }}
{{- end }}

{{/* A name that is not longer than `most`: one that was too long ends in a hash of the whole. */}}
{{- define "stackwright.shortened" -}}
{{- if le (len .name) (int .most) }}{{ .name }}
{{- else }}{{ .name | trunc (sub .most 9 | int) | trimSuffix "-" }}-{{ .name | sha256sum | trunc 8 }}
{{- end }}
{{- end }}

{{/* The pod of a Job: one container that runs what the start contract says for the component, after what it waits for. */}}
{{- define "stackwright.jobPod" -}}
{{- $known := merge (dict) (.blueprint.jobs | default dict) (.blueprint.schedules | default dict) }}
{{- $job := include "stackwright.shape" (dict "blueprint" .blueprint "parts" $known "component" .component) | fromYaml }}
{{- $waits := include "stackwright.waits" (dict "root" .root "blueprint" .blueprint "after" $job.after) | fromJsonArray }}
{{- $parts := merge (dict "root" .root "waits" $waits "configured" true "keyRings" $job.keyRings) (omit . "root" "own") -}}
metadata:
  labels:
    {{- include "stackwright.podLabels" . | nindent 4 }}
  {{- with .values.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- include "stackwright.podSettings" . | nindent 2 }}
  {{- with .values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  restartPolicy: Never
  {{- with $job.after }}
  serviceAccountName: {{ $.root.Release.Name }}
  {{- end }}
  {{- with $waits }}
  initContainers:
    {{- range . }}
    {{- include "stackwright.waitContainer" (dict "root" $.root "job" .) | nindent 4 }}
    {{- end }}
  {{- end }}
  containers:
    - name: {{ .component }}
      image: {{ .values.image | empty | ternary (include "stackwright.image" (dict "root" .root)) (.values.image | quote) }}
      args: [kolla_start]
      env:
        {{- include "stackwright.kollaEnvironment" . | nindent 8 }}
        {{- range $name, $value := .values.environment }}
        - name: {{ $name }}
          value: {{ $value | quote }}
        {{- end }}
        {{- if and $job.password .values.passwordSecret }}
        {{- include "stackwright.secretVariable" (dict "name" $job.password "secret" .values.passwordSecret.name "key" .values.passwordSecret.key) | nindent 8 }}
        {{- end }}
      securityContext:
        {{- include "stackwright.containerSecurityContext" . | nindent 8 }}
      resources:
        {{- $requests := dict "requests" (dict "cpu" "100m" "memory" "128Mi") }}
        {{- include "stackwright.resources" (dict "default" $requests "values" .values) | nindent 8 }}
      volumeMounts:
        {{- include "stackwright.mounts" $parts | trim | nindent 8 }}
  volumes:
    {{- include "stackwright.volumes" $parts | trim | nindent 4 }}
{{- end }}

{{/* A Job. A failed pod stays, with its log, and another is tried, later each time. */}}
{{- define "stackwright.job" -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .name }}
  labels:
    {{- include "stackwright.labels" . | nindent 4 }}
spec:
  backoffLimit: {{ hasKey .values "backoffLimit" | ternary .values.backoffLimit 6 }}
  template:
    {{- include "stackwright.jobPod" . | nindent 4 }}
{{- end }}

{{/* A CronJob; it never runs twice at a time. */}}
{{- define "stackwright.cronJob" -}}
apiVersion: batch/v1
kind: CronJob
metadata:
  name: {{ .name }}
  labels:
    {{- include "stackwright.labels" . | nindent 4 }}
spec:
  schedule: {{ .values.schedule | quote }}
  suspend: {{ .values.suspend | default false }}
  concurrencyPolicy: Forbid
  successfulJobsHistoryLimit: 1
  failedJobsHistoryLimit: 1
  jobTemplate:
    metadata:
      labels:
        {{- include "stackwright.labels" . | nindent 8 }}
    spec:
      backoffLimit: 2
      template:
        {{- include "stackwright.jobPod" . | nindent 8 }}
{{- end }}
