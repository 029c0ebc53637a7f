{{/*
The Deployment of one operator. `root`, `namespace`, `word` and `first` say which (see "stackwright.crew"); `operators` is
what the first one can start, as text, where it does.
*/}}
{{- define "stackwright.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "stackwright.operator" . }}
  labels:
    {{- include "stackwright.labels" . | nindent 4 }}
  {{- if not .first }}
  # Who starts it fills in the identity; with its owner it goes.
  ownerReferences:
    - apiVersion: apps/v1
      kind: Deployment
      name: {{ include "stackwright.operator" (dict "root" .root "namespace" .namespace "word" "core") }}
      uid: ""
  {{- end }}
spec:
  replicas: {{ .root.Values.replicas }}
  # The new one fills its caches beside the old one, which then gives its lease up: nobody is missed for long.
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
  selector:
    matchLabels:
      {{- include "stackwright.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "stackwright.labels" . | nindent 8 }}
      annotations:
        openstack.org/images-hash: {{ toJson .root.Values.images | sha256sum | trunc 16 | quote }}
        {{- with .operators }}
        openstack.org/operators-hash: {{ . | sha256sum | trunc 16 | quote }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "stackwright.account" . }}
      # The token below is the operators' only one, and is renewed.
      automountServiceAccountToken: false
      enableServiceLinks: false
      # Longer than an operator waits for the work that is in its hands.
      terminationGracePeriodSeconds: 45
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: operator
          image: {{ required "image: name the operators' image, for example with --set image=REFERENCE" .root.Values.image | quote }}
          args:
            - stackwright
            - operator
            {{- if .word }}
            - --services={{ .word }}
            {{- else if .root.Values.services }}
            - --services={{ join "," .root.Values.services }}
            {{- end }}
            {{- with .namespace }}
            - --namespace={{ . }}
            {{- end }}
            - --images=/etc/stackwright/images.yaml
            {{- if .operators }}
            - --operators=/etc/stackwright-operators
            {{- end }}
            - --webhooks={{ ternary "on" "off" (and .first .root.Values.webhooks) }}
            {{- if .first }}
            - --webhook-service={{ include "stackwright.webhook" . }}
            {{- end }}
            {{- if .root.Values.networkPolicies.enabled }}
            {{- range .root.Values.networkPolicies.apiServerPorts }}
            - --api-server-port={{ . }}
            {{- end }}
            {{- else }}
            - --network-policies=off
            {{- end }}
            {{- if .root.Values.verbose }}
            - --verbose
            {{- end }}
          {{- with .root.Values.nodePorts }}
          env:
            - name: STACKWRIGHT_NODE_PORTS
              value: {{ . | quote }}
          {{- end }}
          ports:
            - name: health
              containerPort: 8080
            {{- if .first }}
            - name: webhook
              containerPort: 9443
            {{- end }}
          startupProbe:
            httpGet:
              path: /healthz
              port: health
            periodSeconds: 2
            failureThreshold: 60
          livenessProbe:
            httpGet:
              path: /healthz
              port: health
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet:
              path: /readyz
              port: health
            periodSeconds: 5
            timeoutSeconds: 5
          resources:
            {{- toYaml .root.Values.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            capabilities:
              drop: [ALL]
            readOnlyRootFilesystem: true
          volumeMounts:
            - name: images
              mountPath: /etc/stackwright
              readOnly: true
            {{- if .operators }}
            - name: operators
              mountPath: /etc/stackwright-operators
              readOnly: true
            {{- end }}
            - name: token
              mountPath: /var/run/secrets/kubernetes.io/serviceaccount
              readOnly: true
            - name: temporary
              mountPath: /tmp
      {{- with .root.Values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .root.Values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .root.Values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumes:
        - name: images
          configMap:
            name: {{ .root.Release.Name }}-images
        {{- if .operators }}
        - name: operators
          configMap:
            name: {{ include "stackwright.operators" . }}
        {{- end }}
        - name: token
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
              - downwardAPI:
                  items:
                    - path: namespace
                      fieldRef:
                        fieldPath: metadata.namespace
        # In memory: the webhooks' key passes through it.
        - name: temporary
          emptyDir:
            medium: Memory
            sizeLimit: 16Mi
{{- end }}
