{{/* What all objects are known by. */}}
{{- define "stackwright.labels" -}}
{{ include "stackwright.selector" . }}
app.kubernetes.io/managed-by: {{ eq (toString .first) "false" | ternary "stackwright" .root.Release.Service }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | quote }}
{{- end }}

{{/* What the pods of one operator are found by: one of a namespace, one of a service. */}}
{{- define "stackwright.selector" -}}
app.kubernetes.io/name: stackwright
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: operator
{{- with .namespace }}
openstack.org/namespace: {{ . }}
{{- end }}
{{- with .word }}
openstack.org/service: {{ . }}
{{- end }}
{{- end }}

{{/* Several operators of one release differ by their namespace; the name of a Service has room for a short one. */}}
{{- define "stackwright.suffix" -}}
{{- with .namespace }}
{{- if gt (len .) 20 }}-{{ trunc 11 . | trimSuffix "-" }}-{{ sha256sum . | trunc 8 }}{{ else }}-{{ . }}{{ end }}
{{- end }}
{{- end }}

{{/* An operator's account; each service's own operator has one of its own. */}}
{{- define "stackwright.account" -}}
{{ .root.Release.Name }}-operator{{ with .word }}-{{ . }}{{ end }}
{{- end }}

{{- define "stackwright.operator" -}}
{{ include "stackwright.account" . }}{{ include "stackwright.suffix" . }}
{{- end }}

{{/* The Deployments of the services' operators, for the one that starts them. */}}
{{- define "stackwright.operators" -}}
{{ .root.Release.Name }}-operators{{ include "stackwright.suffix" . }}
{{- end }}

{{/* The Service of the webhooks, and the Secret with their certificates. */}}
{{- define "stackwright.webhook" -}}
{{ .root.Release.Name }}-webhook{{ include "stackwright.suffix" . }}
{{- end }}

{{/* The registration of the webhooks: a cluster has one for each operator, and the operator knows it by this name. */}}
{{- define "stackwright.registration" -}}
{{ include "stackwright.webhook" . }}.{{ .root.Release.Namespace }}
{{- end }}

{{/* The lease of a service, as `stackwright operator` calls it. */}}
{{- define "stackwright.lease" -}}
stackwright-operator-{{ .service }}{{ with .namespace }}-{{ . }}{{ end }}
{{- end }}

{{/* Objects outside of all namespaces carry that of the release in their name. */}}
{{- define "stackwright.clusterName" -}}
{{ .root.Release.Namespace }}-{{ include "stackwright.account" . }}
{{- end }}

{{/* The namespaces that operators work on, as JSON; one empty name stands for all of them. */}}
{{- define "stackwright.namespaces" -}}
{{ .Values.namespaces | default (list "") | toJson }}
{{- end }}

{{/*
The operators, as a JSON list: the word that tells one from the others (none where one serves all), the services that it
keeps, and whether it is the one that answers webhooks. The first is deployed by this chart, the others by the first.
*/}}
{{- define "stackwright.crew" -}}
{{- $known := keys (.Files.Get "files/permissions.yaml" | fromYaml).services | sortAlpha }}
{{- if eq .Values.operatorMode "perService" }}
{{- if .Values.services }}
{{- fail "services: leave it empty with operatorMode=perService; the control planes say which operators run" }}
{{- end }}
{{- $crew := list (dict "word" "core" "services" (list "core") "first" true) }}
{{- range without $known "core" }}
{{- $crew = append $crew (dict "word" . "services" (list .) "first" false) }}
{{- end }}
{{- toJson $crew }}
{{- else }}
{{- range .Values.services }}
{{- if not (has . $known) }}
{{- fail (printf "services: there is no service %s; there are %s" . (join ", " $known)) }}
{{- end }}
{{- end }}
{{- list (dict "word" "" "services" (.Values.services | default $known) "first" true) | toJson }}
{{- end }}
{{- end }}

{{/* Gives a role to an operator's account: `kind` and `name` of the role, and the namespace that it is `in`. */}}
{{- define "stackwright.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ .name }}
  {{- with .in }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "stackwright.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "stackwright.account" . }}
    namespace: {{ .root.Release.Namespace }}
{{- end }}
