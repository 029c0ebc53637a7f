{{/* The Job that makes schema and account, and its script: the image has PyMySQL. One of several has a `name`. */}}
{{- define "stackwright.databaseJob" -}}
{{- $environment := include "stackwright.databaseEnvironment" .values }}
{{- $job := empty .name | ternary "db-create" (printf "db-create-%s" .name) }}
{{- $script := dict "job" $job "script" "create_database.py" "environment" $environment }}
{{- include "stackwright.scriptJob" (merge (dict "root" .root "user" .user "values" .values) $script) }}
{{- end }}

{{- define "stackwright.databaseEnvironment" -}}
- name: DATABASE_HOST
  value: {{ .host | quote }}
- name: DATABASE_PORT
  value: {{ .port | default 3306 | quote }}
- name: DATABASE_NAME
  value: {{ .name | quote }}
{{- $password := dict "secret" .admin.secret "key" (.admin.key | default "DatabasePassword") }}
{{- if .admin.usernameKey }}
{{ include "stackwright.secretVariable" (dict "name" "ADMIN_USERNAME" "secret" .admin.secret "key" .admin.usernameKey) }}
{{- else }}
- name: ADMIN_USERNAME
  value: {{ .admin.username | default "root" | quote }}
{{- end }}
{{ include "stackwright.secretVariable" (set $password "name" "ADMIN_PASSWORD") }}
- name: ACCOUNT_USERNAME
  value: {{ .account.username | quote }}
{{- $password = dict "secret" .account.secret "key" (.account.key | default "DatabasePassword") }}
{{ include "stackwright.secretVariable" (set $password "name" "ACCOUNT_PASSWORD") }}
{{- end }}
