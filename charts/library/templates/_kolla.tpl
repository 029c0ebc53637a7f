{{/* The variables of the start contract. */}}
{{- define "stackwright.kollaEnvironment" -}}
- name: KOLLA_CONFIG_STRATEGY
  value: COPY_ALWAYS
{{- end }}

{{/* The configuration Secret as a volume, and the values' own volumes. */}}
{{- define "stackwright.kollaVolumes" -}}
- name: config
  secret:
    secretName: {{ required (printf "%s: name the configuration Secret in config" .component) .values.config | quote }}
    defaultMode: 0440
{{- with .values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The Secret whole, its <component>.json where the start contract looks for it, and the values' own mounts. */}}
{{- define "stackwright.kollaMounts" -}}
- name: config
  mountPath: /var/lib/openstack/config
  readOnly: true
- name: config
  mountPath: /var/lib/kolla/config_files/config.json
  subPath: {{ .component }}.json
  readOnly: true
{{- with .values.extraMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}
