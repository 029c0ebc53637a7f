{{/* What runs without a configuration Secret: memcached itself, which writes nowhere. */}}
{{- define "memcached.own" -}}
container: memcached
args:
  - memcached
  - --port={{ (first .shape.ports).port }}
  - --memory-limit={{ .root.Values.cacheSize }}
  - --conn-limit={{ .root.Values.maxConn }}
securityContext:
  readOnlyRootFilesystem: {{ empty .values.config }}
requests:
  cpu: 10m
  # What is kept, and what memcached itself needs.
  memory: {{ add .root.Values.cacheSize 32 }}Mi
{{- end }}
