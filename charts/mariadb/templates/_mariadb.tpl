{{/* The programs of a node, which its pod mounts. */}}
{{- define "mariadb.programs" -}}
{{- range $path, $_ := .Files.Glob "files/*.py" }}
{{ base $path }}: |
  {{- $.Files.Get $path | nindent 2 }}
{{- end }}
{{- end }}

{{/* The name of what belongs to the nodes. */}}
{{- define "mariadb.nodes" -}}
{{ .Release.Name }}-galera
{{- end }}
