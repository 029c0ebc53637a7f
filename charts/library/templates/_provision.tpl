{{/*
A Job that makes what a service needs elsewhere, and its script: an image with Python runs it. Passwords come from
Secrets alone, as variables.
*/}}
{{- define "stackwright.scriptJob" -}}
{{- $labels := dict "root" .root "component" .job -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .root.Release.Name }}-{{ .job }}
  labels:
    {{- include "stackwright.labels" $labels | nindent 4 }}
data:
  {{ .script }}: |
    {{- include "stackwright.file" (dict "root" .root "name" .script) | nindent 4 }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "stackwright.jobName" . }}
  labels:
    {{- include "stackwright.labels" $labels | nindent 4 }}
spec:
  backoffLimit: 6
  template:
    metadata:
      labels:
        {{- include "stackwright.podLabels" $labels | nindent 8 }}
    spec:
      {{- include "stackwright.podSettings" . | nindent 6 }}
      {{- with .values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      restartPolicy: Never
      containers:
        - name: {{ .job }}
          image: {{ include "stackwright.image" (dict "root" .root) }}
          args: [python3, /var/lib/stackwright/{{ .script }}]
          env:
            {{- .environment | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            capabilities:
              drop: [ALL]
            readOnlyRootFilesystem: true
          resources:
            requests:
              cpu: 50m
              memory: 64Mi
          volumeMounts:
            - name: script
              mountPath: /var/lib/stackwright
              readOnly: true
      volumes:
        - name: script
          configMap:
            name: {{ .root.Release.Name }}-{{ .job }}
{{- end }}

{{/* A variable whose value is in a Secret. */}}
{{- define "stackwright.secretVariable" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret | quote }}
      key: {{ .key | quote }}
{{- end }}

{{/* The Jobs that make what the values say in `provision`: schemas with their accounts, a place in Keystone. */}}
{{- define "stackwright.provision" -}}
{{- with (.root.Values.provision | default dict).database }}
---
{{ include "stackwright.databaseJob" (dict "root" $.root "user" $.user "values" .) }}
{{- end }}
{{- range $name, $values := (.root.Values.provision | default dict).databases }}
---
{{ include "stackwright.databaseJob" (dict "root" $.root "user" $.user "values" $values "name" $name) }}
{{- end }}
{{- with (.root.Values.provision | default dict).identity }}
---
{{ include "stackwright.identityJob" (dict "root" $.root "user" $.user "values" .) }}
{{- end }}
{{- end }}
