{{/*
A whole service with one API, from the values that every such chart has: components.api, services, jobs, actions,
schedules, provision, networkPolicies. `arguments` may name a template that says what a job has beyond others.
*/}}
{{- define "stackwright.apiService" -}}
{{- with (.root.Values.components | default dict).api }}
{{ include "stackwright.apiComponent" (merge (dict "root" $.root "name" $.root.Release.Name "component" "api" "values" .) (omit $ "root")) }}
{{- end }}
---
{{ include "stackwright.services" . }}
---
{{ include "stackwright.jobs" . }}
---
{{ include "stackwright.schedules" . }}
---
{{ include "stackwright.provision" . }}
---
{{ include "stackwright.waiting" . }}
---
{{ include "stackwright.networkPolicies" . }}
{{- end }}

{{/* A component that serves an API: its Deployment, which waits for db-sync, and its budget. */}}
{{- define "stackwright.apiComponent" -}}
{{- $wait := include "stackwright.waitsFor" (dict "root" .root "job" .component) }}
{{ include "stackwright.apiDeployment" (merge (dict "root" .root "wait" $wait) (omit . "root" "arguments")) }}
---
{{ include "stackwright.podDisruptionBudget" (dict "root" .root "name" .name "component" .component "replicas" (.values.replicas | default 1)) }}
{{- end }}

{{/* A component that serves nothing, such as a worker: the same without a port. */}}
{{- define "stackwright.daemonComponent" -}}
{{ include "stackwright.apiComponent" (omit . "port" "path") }}
{{- end }}

{{/* The Services <release>-<endpoint> on one port, before the component that their values name, else `api`. */}}
{{- define "stackwright.services" -}}
{{- $ports := list (dict "name" "api" "port" .port "targetPort" "api") }}
{{- range $endpoint, $values := .root.Values.services }}
{{- if not (kindIs "invalid" $values) }}
---
{{ include "stackwright.service" (dict "root" $.root "name" (printf "%s-%s" $.root.Release.Name $endpoint) "component" ($values.component | default "api") "ports" $ports "values" $values) }}
{{- end }}
{{- end }}
{{- end }}

{{/* All Jobs of `jobs`, and those of `actions`: these run what a Job runs, under a name of their own, once for each hash. */}}
{{- define "stackwright.jobs" -}}
{{- range $job, $values := .root.Values.jobs }}
{{- $name := include "stackwright.jobName" (dict "root" $.root "job" $job "values" $values) }}
{{- $arguments := include "stackwright.jobArguments" (merge (dict "root" $.root "job" $job "values" $values) (omit $ "root")) | fromYaml }}
---
{{ include "stackwright.job" (merge (dict "root" $.root "name" $name "values" $values) $arguments) }}
{{- end }}
{{- range $action, $own := .root.Values.actions }}
{{- $base := index ($.root.Values.jobs | default dict) $own.job | default (index ($.root.Values.schedules | default dict) $own.job) | default dict }}
{{- $values := mergeOverwrite (deepCopy $base) (omit $own "job") }}
{{- $name := printf "%s-action-%s-%s" $.root.Release.Name $action $own.hash }}
{{- $arguments := include "stackwright.jobArguments" (merge (dict "root" $.root "job" $own.job "values" $values) (omit $ "root")) | fromYaml }}
---
{{ include "stackwright.job" (merge (dict "root" $.root "name" $name "values" $values) $arguments) }}
{{- end }}
{{- end }}

{{/* The CronJobs <release>-<schedule>. */}}
{{- define "stackwright.schedules" -}}
{{- range $schedule, $values := .root.Values.schedules }}
{{- $arguments := include "stackwright.jobArguments" (merge (dict "root" $.root "job" $schedule "values" $values) (omit $ "root")) | fromYaml }}
---
{{ include "stackwright.cronJob" (merge (dict "root" $.root "name" (printf "%s-%s" $.root.Release.Name $schedule) "values" $values) $arguments) }}
{{- end }}
{{- end }}

{{/* What `stackwright.job` takes for a job: who it is, what it waits for, and what the chart's own template adds. */}}
{{- define "stackwright.jobArguments" -}}
{{- $own := dict "user" .user "component" .job "wait" (include "stackwright.waitsFor" .) }}
{{- if .arguments }}
{{- $own = mergeOverwrite $own (include .arguments . | fromYaml) }}
{{- end }}
{{- toYaml $own }}
{{- end }}

{{/* Which Job a part waits for: db-sync for the one that makes the schema, all others for db-sync; nothing without it. */}}
{{- define "stackwright.waitsFor" -}}
{{- if eq .job "db-sync" }}
{{- hasKey (.root.Values.provision | default dict) "database" | ternary "db-create" "" }}
{{- else }}
{{- hasKey (.root.Values.jobs | default dict) "db-sync" | ternary "db-sync" "" }}
{{- end }}
{{- end }}

{{/* The account of all pods, and what those who wait for a Job need. */}}
{{- define "stackwright.waiting" -}}
{{- $jobs := dict }}
{{- with index (.root.Values.jobs | default dict) "db-sync" }}
{{- $_ := set $jobs "db-sync" (include "stackwright.jobName" (dict "root" $.root "job" "db-sync" "values" .)) }}
{{- end }}
{{- with (.root.Values.provision | default dict).database }}
{{- $_ := set $jobs "db-create" (include "stackwright.databaseJobName" (dict "root" $.root "values" .)) }}
{{- end }}
{{ include "stackwright.waitObjects" (dict "root" .root "jobs" $jobs) }}
{{- end }}
