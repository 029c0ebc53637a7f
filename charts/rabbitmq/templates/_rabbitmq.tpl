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
  mountPath: {{ .shape.data }}
- name: configuration
  mountPath: /etc/rabbitmq/conf.d
{{- end }}

{{/* What a node has beyond other components: its configuration is prepared before it starts, and it leaves in good order. */}}
{{- define "rabbitmq.own" -}}
{{- $release := .root.Release.Name -}}
account: {{ $release }}
environment:
  {{- include "rabbitmq.environment" .root | nindent 2 }}
initContainers:
  - name: prepare
    image: {{ include "stackwright.image" (dict "root" .root) }}
    args: [python3, /var/lib/stackwright/scripts/prepare.py]
    env:
      {{- include "rabbitmq.environment" .root | nindent 6 }}
      - name: MEMORY_LIMIT
        valueFrom:
          resourceFieldRef:
            containerName: server
            resource: limits.memory
    securityContext:
      allowPrivilegeEscalation: false
      capabilities:
        drop: [ALL]
    resources:
      requests:
        cpu: 50m
        memory: 128Mi
    volumeMounts:
      {{- include "rabbitmq.mounts" . | nindent 6 }}
      - name: secrets
        mountPath: /var/lib/stackwright/secrets
        readOnly: true
lifecycle:
  postStart:
    exec:
      # In the background: a hook that is not over keeps the pod from getting ready.
      command: [sh, -c, "python3 /var/lib/stackwright/scripts/flags.py </dev/null >/dev/null 2>&1 &"]
  preStop:
    exec:
      command: [python3, /var/lib/stackwright/scripts/stop.py, {{ .values.terminationGracePeriodSeconds | quote }}]
mounts:
  {{- include "rabbitmq.mounts" . | nindent 2 }}
volumes:
  - name: home
    emptyDir: {}
  - name: configuration
    emptyDir: {}
  - name: scripts
    configMap:
      name: {{ $release }}-scripts
  - name: secrets
    projected:
      defaultMode: 0440
      sources:
        - secret:
            name: {{ .root.Values.secrets.defaultUser | default (printf "%s-default-user" $release) }}
            items:
              - key: default_user.conf
                path: default_user.conf
        - secret:
            name: {{ .root.Values.secrets.erlangCookie | default (printf "%s-erlang-cookie" $release) }}
            items:
              - key: .erlang.cookie
                path: .erlang.cookie
  {{- include "stackwright.tokenVolume" (dict "name" "token") | nindent 2 }}
{{- end }}
