{{/* What a pod mounts: its configuration, its data, what it takes of the host, key rings, and what the chart says. */}}
{{- define "stackwright.mounts" -}}
{{- $shape := .shape | default dict }}
{{- $own := (.own | default dict).mounts }}
{{- if .configured }}
{{ include "stackwright.kollaMounts" . }}
{{- end }}
{{- /* A chart that lists it among its own has it at another place of the list. */}}
{{- $mounted := false }}
{{- range $own }}{{ if eq .name "data" }}{{ $mounted = true }}{{ end }}{{ end }}
{{- if and $shape.data (not $mounted) }}
- name: data
  mountPath: {{ $shape.data }}
{{- end }}
{{- range (.host | default dict).paths }}
- name: {{ include "stackwright.hostVolume" . }}
  mountPath: {{ .mount }}
  {{- if .readOnly }}
  readOnly: true
  {{- end }}
  {{- with .propagation }}
  mountPropagation: {{ . }}
  {{- end }}
{{- end }}
{{- if .keyRings }}
{{- range $ring, $secret := .root.Values.keyRings }}
- name: {{ $ring }}
  mountPath: {{ index $.blueprint.keyRings $ring }}
  readOnly: true
{{- end }}
{{- end }}
{{- with $own }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/*
The volumes for these. The key rings are mounted as the repositories themselves, so that a rotation reaches running pods.
Data are on the volume that the values name, or in the pod's own directory; a StatefulSet claims its own.
*/}}
{{- define "stackwright.volumes" -}}
{{- $shape := .shape | default dict }}
{{- if .configured }}
{{ include "stackwright.kollaVolumes" . }}
{{- end }}
{{- if .waits }}
{{ include "stackwright.waitVolumes" . }}
{{- end }}
{{- if and $shape.data (ne $shape.workload "StatefulSet") }}
- name: data
  {{- with .values.volume }}
  persistentVolumeClaim:
    claimName: {{ .claim | quote }}
  {{- else }}
  emptyDir: {}
  {{- end }}
{{- end }}
{{- range (.host | default dict).paths }}
- name: {{ include "stackwright.hostVolume" . }}
  hostPath:
    path: {{ .path }}
    {{- with .type }}
    type: {{ . }}
    {{- end }}
{{- end }}
{{- if .keyRings }}
{{- range $ring, $secret := .root.Values.keyRings }}
- name: {{ $ring }}
  secret:
    secretName: {{ $secret | quote }}
    defaultMode: 0440
{{- end }}
{{- end }}
{{- with (.own | default dict).volumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* What the volume of a path of the host is called. */}}
{{- define "stackwright.hostVolume" -}}
host-{{ regexReplaceAll "[^a-z0-9]+" (lower .path) "-" | trimAll "-" | trunc 50 | trimSuffix "-" }}
{{- end }}

{{/* A volume with a token of the pod's account, of which other containers need not know. */}}
{{- define "stackwright.tokenVolume" -}}
- name: {{ .name }}
  projected:
    defaultMode: 0440
    sources:
      - serviceAccountToken:
          path: token
          expirationSeconds: 3600
      - configMap:
          name: kube-root-ca.crt
          items:
            - key: ca.crt
              path: ca.crt
      {{- if .namespace }}
      - downwardAPI:
          items:
            - path: namespace
              fieldRef:
                fieldPath: metadata.namespace
      {{- end }}
{{- end }}
