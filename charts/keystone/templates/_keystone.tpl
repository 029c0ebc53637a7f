{{/* The key rings are mounted as the repositories themselves, so that a rotation reaches running pods. */}}
{{- define "keystone.keyRingVolumes" -}}
{{- range $ring, $secret := .Values.keyRings }}
- name: {{ $ring }}
  secret:
    secretName: {{ $secret | quote }}
    defaultMode: 0440
{{- end }}
{{- end }}

{{- define "keystone.keyRingMounts" -}}
{{- range $ring, $secret := .Values.keyRings }}
- name: {{ $ring }}
  mountPath: /etc/keystone/{{ $ring }}
  readOnly: true
{{- end }}
{{- end }}

{{/* What a Job of Keystone has beyond others: all but db-sync read the keys, and bootstrap gets a password. */}}
{{- define "keystone.jobArguments" -}}
{{- $arguments := dict }}
{{- if ne .job "db-sync" }}
{{- $_ := set $arguments "volumes" (include "keystone.keyRingVolumes" .root | trim) }}
{{- $_ := set $arguments "mounts" (include "keystone.keyRingMounts" .root | trim) }}
{{- end }}
{{- with .values.passwordSecret }}
{{- $_ := set $arguments "environment" (include "stackwright.secretVariable" (dict "name" "OS_BOOTSTRAP_PASSWORD" "secret" .name "key" .key)) }}
{{- end }}
{{- toYaml $arguments }}
{{- end }}
