{{/* The pod's part of the restricted profile; volumes belong to the service's own group. */}}
{{- define "stackwright.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: {{ .user }}
runAsGroup: {{ .user }}
fsGroup: {{ .user }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* The container's part of it. Kolla's own images copy their configuration with sudo, and get what that needs. */}}
{{- define "stackwright.containerSecurityContext" -}}
allowPrivilegeEscalation: {{ .root.Values.sudo | default false }}
capabilities:
  drop: [ALL]
{{- if .root.Values.sudo }}
  add: [AUDIT_WRITE, CHOWN, DAC_OVERRIDE, FOWNER, SETGID, SETUID]
{{- end }}
{{- end }}
