{{/* The Job that makes user and catalog entry in Keystone, and its script. */}}
{{- define "stackwright.identityJob" -}}
{{- $environment := include "stackwright.identityEnvironment" .values }}
{{- $script := dict "job" "identity-create" "script" "create_identity.py" "environment" $environment }}
{{- include "stackwright.scriptJob" (merge (dict "root" .root "user" .user "values" .values) $script) }}
{{- end }}

{{- define "stackwright.identityEnvironment" -}}
- name: KEYSTONE_URL
  value: {{ .url | quote }}
- name: REGION
  value: {{ .region | quote }}
- name: ADMIN_USERNAME
  value: {{ .admin.username | default "admin" | quote }}
- name: ADMIN_PROJECT
  value: {{ .admin.project | default "admin" | quote }}
{{ include "stackwright.secretVariable" (dict "name" "ADMIN_PASSWORD" "secret" .admin.secret "key" .admin.key) }}
- name: USER_NAME
  value: {{ .user.username | quote }}
{{ include "stackwright.secretVariable" (dict "name" "USER_PASSWORD" "secret" .user.secret "key" .user.key) }}
- name: SERVICE_NAME
  value: {{ .service.name | quote }}
- name: SERVICE_TYPE
  value: {{ .service.type | quote }}
- name: SERVICE_DESCRIPTION
  value: {{ .service.description | default "" | quote }}
- name: PUBLIC_URL
  value: {{ .endpoints.public | quote }}
- name: INTERNAL_URL
  value: {{ .endpoints.internal | quote }}
{{- end }}
