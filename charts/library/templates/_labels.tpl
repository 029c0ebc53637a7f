{{/* What selects the pods of a component; never changes while a release lives. */}}
{{- define "stackwright.selectorLabels" -}}
app.kubernetes.io/name: {{ .root.Values.name | default .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* The labels of a pod: those that select it, and what the values say beside them. */}}
{{- define "stackwright.podLabels" -}}
{{ include "stackwright.selectorLabels" . }}
{{- with .root.Values.podLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The labels of an object. */}}
{{- define "stackwright.labels" -}}
{{ include "stackwright.selectorLabels" . }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}
