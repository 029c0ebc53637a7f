{{/* What the pod of every component says: no token, no variables for other Services, the restricted profile. */}}
{{- define "stackwright.podSettings" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  {{- include "stackwright.podSecurityContext" . | nindent 2 }}
{{- end }}

{{/* The pod's annotations: a changed hash rolls it. Empty where there are none. */}}
{{- define "stackwright.podAnnotations" -}}
{{- $annotations := deepCopy (.own | default dict) }}
{{- with .values.hash }}
{{- $_ := set $annotations "openstack.org/config-hash" (. | toString) }}
{{- end }}
{{- with mergeOverwrite $annotations (.values.annotations | default dict) }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{/* Where the pod runs: as the values say, else rather not two of a component on one host. */}}
{{- define "stackwright.placement" -}}
{{- $volume := .values.volume | default dict }}
{{- if .values.affinity }}
affinity:
  {{- toYaml .values.affinity | nindent 2 }}
{{- else if and $volume.claim (not $volume.shared) }}
affinity:
  {{- include "stackwright.together" (dict "root" .root "claim" $volume.claim) | nindent 2 }}
{{- else if ne (.shape | default dict).workload "DaemonSet" }}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "stackwright.selectorLabels" . | nindent 14 }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.topologySpreadConstraints }}
{{- /* One that selects no pods counts those of the component. */}}
{{- $own := dict "labelSelector" (dict "matchLabels" (include "stackwright.selectorLabels" $ | fromYaml)) }}
topologySpreadConstraints:
  {{- range . }}
  - {{- toYaml (hasKey . "labelSelector" | ternary . (merge (deepCopy .) $own)) | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* A volume that one node writes to holds all pods that mount it together on one node. */}}
{{- define "stackwright.together" -}}
{{- $components := list }}
{{- range $name, $values := .root.Values.components }}
{{- if eq (dig "volume" "claim" "" $values) $.claim }}
{{- $components = append $components $name }}
{{- end }}
{{- end -}}
podAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels:
          app.kubernetes.io/name: {{ .root.Values.name | default .root.Chart.Name }}
          app.kubernetes.io/instance: {{ .root.Release.Name }}
        matchExpressions:
          - key: app.kubernetes.io/component
            operator: In
            values: {{ $components | toJson }}
{{- end }}

{{/*
Resources: the chart's own, with the values' merged over them. Where the values limit something and ask for none of it,
the chart does not ask either: it might ask for more than the limit, and Kubernetes asks for just that much.
*/}}
{{- define "stackwright.resources" -}}
{{- $values := .values.resources | default dict }}
{{- $own := deepCopy .default }}
{{- range $name, $most := $values.limits }}
{{- if not (hasKey ($values.requests | default dict) $name) }}
{{- $_ := unset ($own.requests | default dict) $name }}
{{- end }}
{{- end }}
{{- toYaml (mergeOverwrite $own (deepCopy $values)) }}
{{- end }}

{{/*
A probe: what every API has (`default`), with what the blueprint says over it (`said`), and the values' over both. Another
way of probing replaces the one below; the values' own way also meets that of the default.
*/}}
{{- define "stackwright.probe" -}}
{{- $values := index (.values.probes | default dict) .name | default dict }}
{{- $said := include "stackwright.probeOver" (dict "below" (.said | default dict) "above" $values) | fromYaml }}
{{- include "stackwright.probeOver" (dict "below" .default "above" $said) }}
{{- end }}

{{- define "stackwright.probeOver" -}}
{{- $probe := deepCopy .below }}
{{- range $way := list "exec" "grpc" "httpGet" "tcpSocket" }}
{{- if and (hasKey $.above $way) (not (hasKey $.below $way)) }}
{{- $probe = omit $probe "exec" "grpc" "httpGet" "tcpSocket" }}
{{- end }}
{{- end }}
{{- toYaml (mergeOverwrite $probe (deepCopy .above)) }}
{{- end }}

{{/* The image's reference, as YAML. */}}
{{- define "stackwright.image" -}}
{{- required "image: name the image that runs, for example with --set image=REFERENCE" .root.Values.image | quote }}
{{- end }}
