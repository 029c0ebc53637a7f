{{/*
The Deployment of an API that uwsgi serves. No request is lost when it rolls: a new pod is ready before an old one
goes; the old one serves on while the Services forget it (the pause before the signal), and then ends what it has begun.
Without a port it is a daemon: no Service has to forget it, and it is probed only where the values say how.
*/}}
{{- define "stackwright.apiDeployment" -}}
{{- $stop := mergeOverwrite (dict "drain" (hasKey . "port" | ternary 10 0) "finish" 30) (.values.stop | default dict) -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .name }}
  labels:
    {{- include "stackwright.labels" . | nindent 4 }}
spec:
  replicas: {{ hasKey .values "replicas" | ternary .values.replicas 1 }}
  revisionHistoryLimit: 2
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
  selector:
    matchLabels:
      {{- include "stackwright.selectorLabels" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "stackwright.podLabels" . | nindent 8 }}
      {{- with include "stackwright.podAnnotations" . }}
      annotations:
        {{- . | nindent 8 }}
      {{- end }}
    spec:
      {{- include "stackwright.podSettings" . | nindent 6 }}
      {{- include "stackwright.placement" . | nindent 6 }}
      serviceAccountName: {{ .root.Release.Name }}
      terminationGracePeriodSeconds: {{ add $stop.drain $stop.finish 5 }}
      {{- if .wait }}
      initContainers:
        {{- include "stackwright.waitContainer" (dict "root" .root "job" .wait) | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ .component }}
          image: {{ include "stackwright.image" (dict "root" .root) }}
          args: [kolla_start]
          env:
            {{- include "stackwright.kollaEnvironment" . | nindent 12 }}
            {{- if .port }}
            # uwsgi reads its options from here as well: SIGTERM lets requests end, and they have this long for it.
            - name: UWSGI_HOOK_MASTER_START
              value: unix_signal:15 gracefully_kill_them_all
            - name: UWSGI_WORKER_RELOAD_MERCY
              value: {{ $stop.finish | quote }}
            {{- end }}
            {{- with .environment }}
            {{- . | nindent 12 }}
            {{- end }}
          {{- if .port }}
          ports:
            - name: api
              containerPort: {{ .port }}
          lifecycle:
            preStop:
              sleep:
                seconds: {{ $stop.drain }}
          {{- $probe := dict "httpGet" (dict "path" .path "port" "api") }}
          {{- /* Some wait for their database; one that cannot work ends by itself, and need not be ended. */}}
          startupProbe:
            {{- $startup := merge (dict "periodSeconds" 1 "timeoutSeconds" 5 "failureThreshold" 600) $probe }}
            {{- include "stackwright.probe" (dict "name" "startup" "default" $startup "values" .values) | nindent 12 }}
          readinessProbe:
            {{- $readiness := merge (dict "periodSeconds" 10 "timeoutSeconds" 5 "failureThreshold" 3) $probe }}
            {{- include "stackwright.probe" (dict "name" "readiness" "default" $readiness "values" .values) | nindent 12 }}
          livenessProbe:
            {{- $liveness := merge (dict "periodSeconds" 20 "timeoutSeconds" 15 "failureThreshold" 6) $probe }}
            {{- include "stackwright.probe" (dict "name" "liveness" "default" $liveness "values" .values) | nindent 12 }}
          {{- else }}
          {{- if and .values.started (not (.values.probes | default dict).startup) }}
          # Before it has read its configuration it does no work: the old pod stays as long.
          startupProbe:
            exec:
              command: [test, -e, {{ .values.started }}]
            periodSeconds: 1
            failureThreshold: 600
          {{- end }}
          {{- range $name, $probe := .values.probes }}
          {{- with $probe }}
          {{ $name }}Probe:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- end }}
          {{- end }}
          securityContext:
            {{- include "stackwright.containerSecurityContext" . | nindent 12 }}
          resources:
            {{- $requests := dict "requests" (dict "cpu" "100m" "memory" "256Mi") }}
            {{- include "stackwright.resources" (dict "default" $requests "values" .values) | nindent 12 }}
          volumeMounts:
            {{- include "stackwright.kollaMounts" . | nindent 12 }}
            {{- with .mounts }}
            {{- . | nindent 12 }}
            {{- end }}
      volumes:
        {{- include "stackwright.kollaVolumes" . | nindent 8 }}
        {{- if .wait }}
        {{- include "stackwright.waitVolumes" . | nindent 8 }}
        {{- end }}
        {{- with .volumes }}
        {{- . | nindent 8 }}
        {{- end }}
{{- end }}
