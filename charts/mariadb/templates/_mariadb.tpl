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

{{/* What a node has beyond other components: a program that watches over its server, and asks the cluster. */}}
{{- define "mariadb.own" -}}
{{- $nodes := include "mariadb.nodes" .root -}}
account: {{ $nodes }}
annotations:
  openstack.org/programs-hash: {{ include "mariadb.programs" .root | sha256sum | trunc 16 | quote }}
args: [python3, /var/lib/stackwright/node/node.py]
environment:
  - name: POD_NAME
    valueFrom:
      fieldRef:
        fieldPath: metadata.name
  - name: POD_UID
    valueFrom:
      fieldRef:
        fieldPath: metadata.uid
  - name: POD_IP
    valueFrom:
      fieldRef:
        fieldPath: status.podIP
  - name: SERVICE
    value: {{ $nodes }}
  - name: SST_METHOD
    value: {{ .root.Values.sst }}
  - name: INCLUDED
    value: /etc/mysql/stackwright.d
  - name: ROOT_PASSWORD_FILE
    value: /var/lib/stackwright/root/password
mounts:
  - name: programs
    mountPath: /var/lib/stackwright/node
    readOnly: true
  - name: root
    mountPath: /var/lib/stackwright/root
    readOnly: true
  - name: token
    mountPath: /var/run/secrets/kubernetes.io/serviceaccount
    readOnly: true
volumes:
  - name: programs
    configMap:
      name: {{ $nodes }}-programs
  - name: root
    secret:
      secretName: {{ .root.Values.rootSecret.name | required "rootSecret.name is missing; name the Secret with root's password" | quote }}
      defaultMode: 0440
      items:
        - key: {{ .root.Values.rootSecret.key | quote }}
          path: password
  {{- include "stackwright.tokenVolume" (dict "name" "token" "namespace" true) | nindent 2 }}
{{- end }}
