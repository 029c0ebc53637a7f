{{/* Images, what is staged for an import, and what tasks write: on the API's volume, or the pod's own directory. */}}
{{- define "glance.volumes" -}}
- name: data
  {{- with .values.volume }}
  persistentVolumeClaim:
    claimName: {{ .claim | quote }}
  {{- else }}
  emptyDir: {}
  {{- end }}
{{- end }}

{{- define "glance.mounts" -}}
- name: data
  mountPath: /var/lib/glance
{{- end }}

{{/* A pod without a volume has what it staged for itself: others hand it the import under this URL. */}}
{{- define "glance.environment" -}}
{{- if not .values.volume }}
- name: POD_IP
  valueFrom:
    fieldRef:
      fieldPath: status.podIP
- name: OS_DEFAULT__WORKER_SELF_REFERENCE_URL
  value: http://$(POD_IP):9292
{{- end }}
{{- end }}

{{/* A volume that one node writes to holds all pods that mount it together on one node. */}}
{{- define "glance.together" -}}
{{- $components := list }}
{{- range $name, $values := .root.Values.components }}
{{- if eq (dig "volume" "claim" "" $values) $.claim }}
{{- $components = append $components $name }}
{{- end }}
{{- end }}
podAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels:
          app.kubernetes.io/name: {{ .root.Chart.Name }}
          app.kubernetes.io/instance: {{ .root.Release.Name }}
        matchExpressions:
          - key: app.kubernetes.io/component
            operator: In
            values: {{ $components | toJson }}
{{- end }}

{{/*
The values of a component with what they leave out: a transfer may end before a pod goes, and one that is busy with
transfers is not taken for dead.
*/}}
{{- define "glance.values" -}}
{{- $own := mergeOverwrite (dict "stop" (dict "finish" 600)) (deepCopy .values) }}
{{- $liveness := dig "probes" "liveness" dict $own }}
{{- if not (or $liveness.exec $liveness.grpc $liveness.httpGet) }}
{{- $own = merge $own (dict "probes" (dict "liveness" (dict "tcpSocket" (dict "port" "api")))) }}
{{- end }}
{{- with $own.volume }}
{{- if not (or .shared $own.affinity) }}
{{- $_ := set $own "affinity" (include "glance.together" (dict "root" $.root "claim" .claim) | fromYaml) }}
{{- end }}
{{- end }}
{{- toYaml $own }}
{{- end }}
