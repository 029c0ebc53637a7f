{{/*
With whom the pods of a release talk: the values say it in NetworkPolicy's own words, and all else is closed. One policy
is for all pods, Jobs among them; what is open to others is said for each component, or for `*`, all pods. Without such
values there is none.
*/}}
{{- define "stackwright.networkPolicies" -}}
{{- $root := .root }}
{{- with .root.Values.networkPolicies }}
{{- $all := dict "app.kubernetes.io/name" ($root.Values.name | default $root.Chart.Name) "app.kubernetes.io/instance" $root.Release.Name -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ $root.Release.Name }}
  labels:
    {{- toYaml $all | nindent 4 }}
    app.kubernetes.io/managed-by: {{ $root.Release.Service }}
spec:
  podSelector:
    matchLabels:
      {{- toYaml $all | nindent 6 }}
  policyTypes: [Ingress, Egress]
  {{- with .egress }}
  egress:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with index (.ingress | default dict) "*" }}
  ingress:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- range $component, $rules := omit (.ingress | default dict) "*" }}
---
{{- $which := dict "root" $root "component" $component }}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ $root.Release.Name }}-{{ $component }}
  labels:
    {{- include "stackwright.labels" $which | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "stackwright.selectorLabels" $which | nindent 6 }}
  policyTypes: [Ingress]
  ingress:
    {{- toYaml $rules | nindent 4 }}
{{- end }}
{{- end }}
{{- end }}
