{{/* The pod's part of the restricted profile; volumes belong to the service's own group. */}}
{{- define "stackwright.podSecurityContext" -}}
runAsNonRoot: {{ ne (int .user) 0 }}
runAsUser: {{ .user }}
runAsGroup: {{ .user }}
fsGroup: {{ .user }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/*
The container's part of it, and what the component takes of the host beyond it (`host`). Kolla's own images copy their
configuration with sudo, and get what that needs.
*/}}
{{- define "stackwright.containerSecurityContext" -}}
{{- $host := .host | default dict }}
{{- $added := $host.capabilities | default list }}
{{- if .root.Values.sudo }}
{{- $added = concat (list "AUDIT_WRITE" "CHOWN" "DAC_OVERRIDE" "FOWNER" "SETGID" "SETUID") $added | uniq }}
{{- end -}}
allowPrivilegeEscalation: {{ or $host.privileged (gt (len (without $added "NET_BIND_SERVICE")) 0) | default false }}
{{- if $host.privileged }}
privileged: true
{{- else }}
capabilities:
  drop: [ALL]
  {{- with $added }}
  add: {{ toJson . }}
  {{- end }}
{{- end }}
{{- end }}
