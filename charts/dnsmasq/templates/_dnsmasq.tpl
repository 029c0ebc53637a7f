{{/* The names. They are mounted as a folder, because a file alone would stay as it was when the pod started. */}}
{{- define "dnsmasq.own" -}}
mounts:
  - name: hosts
    mountPath: /var/lib/dnsmasq/hosts
    readOnly: true
volumes:
  - name: hosts
    configMap:
      name: {{ required "hosts: name the ConfigMap with the names" .root.Values.hosts | quote }}
{{- end }}
