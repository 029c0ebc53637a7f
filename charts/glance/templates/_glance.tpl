{{/* A pod without a volume has what it staged for itself: others hand it the import under this URL. */}}
{{- define "glance.own" -}}
{{- if not .values.volume }}
environment:
  - name: POD_IP
    valueFrom:
      fieldRef:
        fieldPath: status.podIP
  - name: OS_DEFAULT__WORKER_SELF_REFERENCE_URL
    value: http://$(POD_IP):{{ (first .shape.ports).port }}
{{- end }}
{{- end }}
