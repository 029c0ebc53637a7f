{{/*
All of a service: what the values ask for, shaped as `blueprint.yaml` of the chart says. The charts of services are this
one line. `own` may name a template of the chart, which says what its components have beyond others (README.md).
*/}}
{{- define "stackwright.release" -}}
{{- $blueprint := required "the chart has no blueprint.yaml; `make crds` writes it" (.root.Files.Get "blueprint.yaml") | fromYaml }}
{{- $context := dict "blueprint" $blueprint "own" (.own | default "") "user" $blueprint.user }}
{{- range $component, $values := .root.Values.components }}
{{- if $values }}
---
{{ include "stackwright.component" (merge (dict "root" $.root "component" $component "values" $values) $context) }}
{{- end }}
{{- end }}
{{- range $part := list "services" "jobs" "schedules" "provision" "waiting" "networkPolicies" }}
---
{{ include (printf "stackwright.%s" $part) (merge (dict "root" $.root) $context) }}
{{- end }}
{{- end }}

{{/* How a part runs, as the blueprint says it: by its name, else by the longest beginning of it that has a `*`. */}}
{{- define "stackwright.shape" -}}
{{- $found := dict }}
{{- $parts := .parts | default .blueprint.components | default dict }}
{{- range $name, $shape := $parts }}
{{- if or (eq $name $.component) (and (hasSuffix "*" $name) (hasPrefix (trimSuffix "*" $name) $.component) (not (hasKey $parts $.component))) }}
{{- $found = $shape }}
{{- end }}
{{- end }}
{{- toYaml $found }}
{{- end }}

{{/* The Services <release>-<endpoint>, each before the component that its values name, else `api`. */}}
{{- define "stackwright.services" -}}
{{- if .blueprint.endpoints }}
{{- range $endpoint, $values := .root.Values.services }}
{{- if not (kindIs "invalid" $values) }}
{{- $component := $values.component | default "api" }}
{{- $shape := include "stackwright.shape" (dict "blueprint" $.blueprint "component" $component) | fromYaml }}
---
{{ include "stackwright.service" (dict "root" $.root "name" (printf "%s-%s" $.root.Release.Name $endpoint) "component" $component "ports" (include "stackwright.servicePorts" $shape | fromYamlArray) "values" $values) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The ports of a Service before a component: all but those that only the probes use. */}}
{{- define "stackwright.servicePorts" -}}
{{- $ports := list }}
{{- range .ports }}
{{- if not .probed }}
{{- $protocol := .protocol | empty | ternary dict (dict "protocol" .protocol) }}
{{- $ports = append $ports (merge (dict "name" .name "port" .port "targetPort" .name) $protocol) }}
{{- end }}
{{- end }}
{{- toYaml $ports }}
{{- end }}

{{/* All Jobs of `jobs`, and those of `actions`: these run what a Job runs, under a name of their own, once for each hash. */}}
{{- define "stackwright.jobs" -}}
{{- range $job, $values := .root.Values.jobs }}
{{- $name := include "stackwright.jobName" (dict "root" $.root "job" $job "values" $values) }}
---
{{ include "stackwright.job" (merge (dict "root" $.root "name" $name "component" $job "values" $values) (omit $ "root")) }}
{{- end }}
{{- range $action, $own := .root.Values.actions }}
{{- $base := index ($.root.Values.jobs | default dict) $own.job | default (index ($.root.Values.schedules | default dict) $own.job) | default dict }}
{{- /* Its own nodes are instead of those of the job, and not beside them. */}}
{{- $base = hasKey $own "nodeSelector" | ternary (omit $base "nodeSelector") $base }}
{{- $values := mergeOverwrite (deepCopy $base) (omit $own "job") }}
{{- $name := include "stackwright.jobName" (dict "root" $.root "job" (printf "action-%s" $action) "values" $own) }}
---
{{ include "stackwright.job" (merge (dict "root" $.root "name" $name "component" $own.job "values" $values) (omit $ "root")) }}
{{- end }}
{{- end }}

{{/* The CronJobs <release>-<schedule>. The Jobs that Kubernetes makes of one have eleven characters more. */}}
{{- define "stackwright.schedules" -}}
{{- range $schedule, $values := .root.Values.schedules }}
{{- $name := include "stackwright.shortened" (dict "name" (printf "%s-%s" $.root.Release.Name $schedule) "most" 52) }}
---
{{ include "stackwright.cronJob" (merge (dict "root" $.root "name" $name "component" $schedule "values" $values) (omit $ "root")) }}
{{- end }}
{{- end }}

{{/* A name behind that of the release; an empty one is the release's own. */}}
{{- define "stackwright.named" -}}
{{- if .suffix }}{{ .root.Release.Name }}-{{ .suffix }}{{ else }}{{ .root.Release.Name }}{{ end }}
{{- end }}
