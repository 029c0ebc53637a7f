{{/* What all objects are known by. */}}
{{- define "stackwright.labels" -}}
{{ include "stackwright.selector" . }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | quote }}
{{- end }}

{{/* What the pods of one operator are found by. */}}
{{- define "stackwright.selector" -}}
app.kubernetes.io/name: stackwright
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: operator
{{- with .namespace }}
openstack.org/namespace: {{ . }}
{{- end }}
{{- end }}

{{/* Several operators of one release differ by their namespace; the name of a Service has room for a short one. */}}
{{- define "stackwright.suffix" -}}
{{- with .namespace }}
{{- if gt (len .) 20 }}-{{ trunc 11 . | trimSuffix "-" }}-{{ sha256sum . | trunc 8 }}{{ else }}-{{ . }}{{ end }}
{{- end }}
{{- end }}

{{- define "stackwright.operator" -}}
{{ .root.Release.Name }}-operator{{ include "stackwright.suffix" . }}
{{- end }}

{{/* The Service of the webhooks, and the Secret with their certificates. */}}
{{- define "stackwright.webhook" -}}
{{ .root.Release.Name }}-webhook{{ include "stackwright.suffix" . }}
{{- end }}

{{/* The registration of the webhooks: a cluster has one for each operator, and the operator knows it by this name. */}}
{{- define "stackwright.registration" -}}
{{ include "stackwright.webhook" . }}.{{ .root.Release.Namespace }}
{{- end }}

{{/* The lease, as `stackwright operator` calls it. */}}
{{- define "stackwright.lease" -}}
stackwright-operator{{ range .root.Values.services | default list | sortAlpha }}-{{ . }}{{ end }}{{ with .namespace }}-{{ . }}{{ end }}
{{- end }}

{{/* Objects outside of all namespaces carry that of the release in their name. */}}
{{- define "stackwright.clusterName" -}}
{{ .Release.Namespace }}-{{ .Release.Name }}-operator
{{- end }}

{{- define "stackwright.account" -}}
{{ .Release.Name }}-operator
{{- end }}
