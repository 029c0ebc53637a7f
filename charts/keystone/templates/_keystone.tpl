{{/* The key rings are mounted as the repositories themselves, so that a rotation reaches running pods. */}}
{{- define "keystone.keyRingVolumes" -}}
{{- range $ring, $secret := .Values.keyRings }}
- name: {{ $ring }}
  secret:
    secretName: {{ $secret }}
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

{{/* What a Job of Keystone waits for, mounts and gets: db-sync alone needs no keys, and all others need its schema. */}}
{{- define "keystone.jobArguments" -}}
{{- $arguments := dict "user" 42425 "component" .job }}
{{- if eq .job "db-sync" }}
{{- $_ := set $arguments "wait" (hasKey (.root.Values.provision | default dict) "database" | ternary "db-create" "") }}
{{- else }}
{{- $_ := set $arguments "wait" (hasKey (.root.Values.jobs | default dict) "db-sync" | ternary "db-sync" "") }}
{{- $_ := set $arguments "volumes" (include "keystone.keyRingVolumes" .root | trim) }}
{{- $_ := set $arguments "mounts" (include "keystone.keyRingMounts" .root | trim) }}
{{- end }}
{{- with .values.passwordSecret }}
{{- $reference := dict "secretKeyRef" (dict "name" .name "key" .key) }}
{{- $_ := set $arguments "environment" (list (dict "name" "OS_BOOTSTRAP_PASSWORD" "valueFrom" $reference) | toYaml) }}
{{- end }}
{{- toYaml $arguments }}
{{- end }}
