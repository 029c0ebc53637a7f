{{/* What the programs of the pod need to know: who this node is, and where its peers are. */}}
{{- define "rabbitmq.environment" -}}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: STATEFUL_SET
  value: {{ .Release.Name }}-server
- name: NODES_SERVICE
  value: {{ .Release.Name }}-nodes
- name: RABBITMQ_USE_LONGNAME
  value: "true"
- name: RABBITMQ_NODENAME
  value: rabbit@$(POD_NAME).{{ .Release.Name }}-nodes.$(POD_NAMESPACE).svc
- name: HOME
  value: /var/lib/rabbitmq
{{- end }}

{{/* What both containers mount. */}}
{{- define "rabbitmq.mounts" -}}
- name: scripts
  mountPath: /var/lib/stackwright/scripts
  readOnly: true
- name: token
  mountPath: /var/run/secrets/kubernetes.io/serviceaccount
  readOnly: true
- name: home
  mountPath: /var/lib/rabbitmq
- name: data
  mountPath: /var/lib/rabbitmq/mnesia
- name: configuration
  mountPath: /etc/rabbitmq/conf.d
{{- end }}
