{{/* What all objects are known by. */}}
{{- define "stackwright.labels" -}}
{{ include "stackwright.selector" . }}
app.kubernetes.io/managed-by: {{ eq (toString .first) "false" | ternary "stackwright" .root.Release.Service }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | quote }}
{{- end }}

{{/* What the pods of one operator are found by; each service's own has its word. */}}
{{- define "stackwright.selector" -}}
app.kubernetes.io/name: stackwright
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: operator
{{- with .word }}
openstack.org/service: {{ . }}
{{- end }}
{{- end }}

{{/* An operator and its account; each service's own operator has one of its own. */}}
{{- define "stackwright.operator" -}}
{{ .root.Release.Name }}-operator{{ with .word }}-{{ . }}{{ end }}
{{- end }}

{{/* The Deployments of the services' operators, for the one that starts them. */}}
{{- define "stackwright.operators" -}}
{{ .root.Release.Name }}-operators
{{- end }}

{{/* The Service of the webhooks, and the Secret with their certificates. */}}
{{- define "stackwright.webhook" -}}
{{ .root.Release.Name }}-webhook
{{- end }}

{{/* The registration of the webhooks: a cluster has one for each operator, and the operator knows it by this name. */}}
{{- define "stackwright.registration" -}}
{{ include "stackwright.webhook" . }}.{{ .root.Release.Namespace }}
{{- end }}

{{/* The lease of a service, as `stackwright operator` calls it. */}}
{{- define "stackwright.lease" -}}
stackwright-operator-{{ .service }}
{{- end }}

{{/* Objects outside of all namespaces carry that of the release in their name. */}}
{{- define "stackwright.clusterName" -}}
{{ .root.Release.Namespace }}-{{ include "stackwright.operator" . }}
{{- end }}

{{/* The namespaces that the operators work on, as a JSON list; none stands for all, which somebody must have chosen. */}}
{{- define "stackwright.namespaces" -}}
{{- if not (or .Values.namespaces .Values.clusterWide) }}
{{- fail "namespaces: name the namespaces of your clouds, for example with --set namespaces={openstack}; they must exist. Or set clusterWide=true, which lets the operators read the Secrets of all namespaces" }}
{{- end }}
{{- if .Values.clusterWide }}
{{- list | toJson }}
{{- else }}
{{- .Values.namespaces | toJson }}
{{- end }}
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
    name: {{ include "stackwright.operator" . }}
    namespace: {{ .root.Release.Namespace }}
{{- end }}
