{{/* What the pod of every component says: no token, no variables for other Services, the restricted profile. */}}
{{- define "stackwright.podSettings" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  {{- include "stackwright.podSecurityContext" . | nindent 2 }}
{{- end }}

{{/* The pod's annotations: a changed hash rolls it. Empty where there are none. */}}
{{- define "stackwright.podAnnotations" -}}
{{- $annotations := dict }}
{{- with .values.hash }}
{{- $_ := set $annotations "openstack.org/config-hash" (. | toString) }}
{{- end }}
{{- with mergeOverwrite $annotations (.values.annotations | default dict) }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{/* Where the pod runs: as the values say, else rather not two of a component on one host. */}}
{{- define "stackwright.placement" -}}
affinity:
{{- if .values.affinity }}
  {{- toYaml .values.affinity | nindent 2 }}
{{- else }}
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
{{- with .values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
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

{{/* A probe: the chart's own, with the values' merged over it; another way of probing replaces the chart's. */}}
{{- define "stackwright.probe" -}}
{{- $ways := list "exec" "grpc" "httpGet" "tcpSocket" }}
{{- $values := index (.values.probes | default dict) .name | default dict }}
{{- $probe := deepCopy .default }}
{{- range $way := $ways }}
{{- if and (hasKey $values $way) (not (hasKey $.default $way)) }}
{{- $probe = omit $probe "exec" "grpc" "httpGet" "tcpSocket" }}
{{- end }}
{{- end }}
{{- toYaml (mergeOverwrite $probe (deepCopy $values)) }}
{{- end }}

{{/* The image's reference, as YAML. */}}
{{- define "stackwright.image" -}}
{{- required "image: name the image that runs, for example with --set image=REFERENCE" .root.Values.image | quote }}
{{- end }}
