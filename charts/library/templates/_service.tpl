{{/* A Service; what the values say in `spec` is merged over the chart's. Its `nodePort` is that of the first port. */}}
{{- define "stackwright.service" -}}
{{- $own := deepCopy (.values.spec | default dict) }}
{{- $ports := deepCopy .ports }}
{{- with $own.nodePort }}
{{- $_ := set (first $ports) "nodePort" . }}
{{- end }}
{{- $spec := dict "type" (.values.type | default "ClusterIP") }}
{{- with $ports }}{{ $_ := set $spec "ports" . }}{{ end }}
{{- $_ := set $spec "selector" (include "stackwright.selectorLabels" . | fromYaml) }}
{{- $spec = mergeOverwrite $spec (deepCopy (.spec | default dict)) (omit $own "nodePort") -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ .name }}
  labels:
    {{- include "stackwright.labels" . | nindent 4 }}
    {{- with .values.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .values.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- toYaml $spec | nindent 2 }}
{{- end }}

{{/* A PodDisruptionBudget, where there is more than one replica: with one it would only forbid to drain a node. */}}
{{- define "stackwright.podDisruptionBudget" -}}
{{- if gt (.replicas | int) 1 -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .name }}
  labels:
    {{- include "stackwright.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "stackwright.selectorLabels" . | nindent 6 }}
{{- end }}
{{- end }}
