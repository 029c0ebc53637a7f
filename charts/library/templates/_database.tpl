{{/* The full name of the Job that makes schema and account. */}}
{{- define "stackwright.databaseJobName" -}}
{{- include "stackwright.jobName" (dict "root" .root "job" "db-create" "values" .values) }}
{{- end }}

{{/* That Job, and its script: an image with Python and PyMySQL runs it. Passwords come from Secrets alone. */}}
{{- define "stackwright.databaseJob" -}}
{{- $labels := dict "root" .root "component" "db-create" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .root.Release.Name }}-db-create
  labels:
    {{- include "stackwright.labels" $labels | nindent 4 }}
data:
  create_database.py: |
    {{- include "stackwright.file" (dict "root" .root "name" "create_database.py") | nindent 4 }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "stackwright.databaseJobName" . }}
  labels:
    {{- include "stackwright.labels" $labels | nindent 4 }}
spec:
  backoffLimit: 6
  template:
    metadata:
      labels:
        {{- include "stackwright.selectorLabels" $labels | nindent 8 }}
    spec:
      {{- include "stackwright.podSettings" . | nindent 6 }}
      restartPolicy: Never
      serviceAccountName: {{ .root.Release.Name }}
      containers:
        - name: db-create
          image: {{ include "stackwright.image" (dict "root" .root) }}
          args: [python3, /var/lib/stackwright/create_database.py]
          env:
            - name: DATABASE_HOST
              value: {{ .values.host | quote }}
            - name: DATABASE_PORT
              value: {{ .values.port | default 3306 | quote }}
            - name: DATABASE_NAME
              value: {{ .values.name | quote }}
            - name: ADMIN_USERNAME
              {{- if .values.admin.usernameKey }}
              valueFrom:
                secretKeyRef:
                  name: {{ .values.admin.secret }}
                  key: {{ .values.admin.usernameKey }}
              {{- else }}
              value: {{ .values.admin.username | default "root" | quote }}
              {{- end }}
            - name: ADMIN_PASSWORD
              valueFrom:
                secretKeyRef:
                  name: {{ .values.admin.secret }}
                  key: {{ .values.admin.key | default "DatabasePassword" }}
            - name: ACCOUNT_USERNAME
              value: {{ .values.account.username | quote }}
            - name: ACCOUNT_PASSWORD
              valueFrom:
                secretKeyRef:
                  name: {{ .values.account.secret }}
                  key: {{ .values.account.key | default "DatabasePassword" }}
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
            name: {{ .root.Release.Name }}-db-create
{{- end }}
