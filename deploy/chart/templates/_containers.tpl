{{/* A container that meets Pod Security "restricted". */}}
{{- define "berth.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "berth.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{/* A token of the pod's ServiceAccount, where programs look for it. It is no part of the pod unless a container
     mounts it. */}}
{{- define "berth.tokenVolume" -}}
- name: api-access
  projected:
    defaultMode: 0440
    sources:
      - serviceAccountToken: {path: token, expirationSeconds: 3600}
      - configMap:
          name: kube-root-ca.crt
          items: [{key: ca.crt, path: ca.crt}]
      - downwardAPI:
          items: [{path: namespace, fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}}]
{{- end }}

{{- define "berth.tokenMount" -}}
- {name: api-access, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
{{- end }}

{{/* Recorded decisions: a restarted container finds them again, a new pod does not. */}}
{{- define "berth.stateMount" -}}
{{- if .Values.state.enabled }}
- {name: state, mountPath: /var/lib/berth}
{{- end }}
{{- end }}

{{- define "berth.stateVolume" -}}
{{- if .Values.state.enabled }}
- name: state
  emptyDir: {}
{{- end }}
{{- end }}

{{/* Flags that are the same in all modes. */}}
{{- define "berth.commonArgs" -}}
{{- $v := .Values -}}
{{- if $v.bind.enabled }}
- --bind
- --lease={{ .Release.Namespace }}/{{ include "berth.leaseName" . }}
{{- end }}
{{- if $v.wakeUp.enabled }}
- --wake-up
{{- end }}
{{- if $v.publish.enabled }}
- --publish
- --publish-lease={{ .Release.Namespace }}/{{ include "berth.fullname" . }}-publish
{{- end }}
{{- if $v.policiesFromCluster.enabled }}
- --policies-from-cluster
- --policies-lease={{ .Release.Namespace }}/{{ include "berth.fullname" . }}-policies
{{- end }}
{{- if $v.nominate.enabled }}
- --nominate
- --nominate-weight={{ int $v.extender.weight }}
- --nominate-lease={{ .Release.Namespace }}/{{ include "berth.fullname" . }}-nominate
{{- end }}
{{- if $v.events.enabled }}
- --events
{{- end }}
{{- range $v.extender.managedResources }}
- --managed-resource={{ .name }}
{{- end }}
{{- range $v.exempt }}
- --exempt={{ . }}
{{- end }}
{{- with $v.prometheus.url }}
- --prometheus={{ . }}
{{- end }}
{{- if $v.state.enabled }}
- --state-dir=/var/lib/berth
- --state-size={{ $v.state.size }}
{{- end }}
- --deadline={{ $v.deadline }}
- --log-level={{ $v.log.level }}
- --log-format={{ $v.log.format }}
{{- range $v.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{/* The container of berth in the cluster, in its own pod or beside kube-scheduler. */}}
{{- define "berth.container" -}}
{{- $v := .Values -}}
{{- $tls := include "berth.usesTls" . -}}
{{- $sidecar := include "berth.isSidecar" . -}}
- name: berth
  image: {{ include "berth.ownImage" . }}
  imagePullPolicy: {{ $v.image.pullPolicy }}
  args:
    - serve
    {{- if not $sidecar }}
    - --listen={{ $v.address }}:8443
    {{- else if $tls }}
    - --listen=127.0.0.1:8443
    {{- else }}
    - --listen=127.0.0.1:8080
    {{- end }}
    - --pages-listen={{ $v.address }}:{{ int $v.pages.port }}
    {{- if include "berth.tokenSecret" . }}
    - --pages-token-file=/etc/berth/pages/token
    {{- end }}
    {{- if include "berth.viewerSecret" . }}
    - --pages-viewer-token-file=/etc/berth/viewer/token
    {{- end }}
    {{- range $v.pages.clientNames }}
    - --pages-client-name={{ . }}
    {{- end }}
    {{- if include "berth.hasAdmission" . }}
    - --admission-listen={{ $v.address }}:{{ int $v.policiesFromCluster.admission.port }}
    {{- range $v.policiesFromCluster.admission.clientNames }}
    - --admission-client-name={{ . }}
    {{- end }}
    {{- end }}
    {{- if $tls }}
    - --tls-cert=/etc/berth/tls/tls.crt
    - --tls-key=/etc/berth/tls/tls.key
    - --client-ca=/etc/berth/tls/ca.crt
    {{- if $v.tls.crlConfigMap }}
    - --client-crl=/etc/berth/crl/ca.crl
    {{- end }}
    - --client-name={{ $v.clientName }}
    {{- end }}
    - --in-cluster
    - --policy=/etc/berth/policies
    {{- if $v.prometheus.sources }}
    - --sources=/etc/berth/sources/sources.yaml
    {{- end }}
    - --drain-delay={{ int $v.drainDelaySeconds }}
    {{- include "berth.commonArgs" . | trim | nindent 4 }}
  env:
    - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
    - {name: POD_UID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}
  ports:
    {{- if not $sidecar }}
    - {name: verbs, containerPort: 8443, protocol: TCP}
    {{- end }}
    - {name: pages, containerPort: {{ int $v.pages.port }}, protocol: TCP}
    {{- if include "berth.hasAdmission" . }}
    - {name: admission, containerPort: {{ int $v.policiesFromCluster.admission.port }}, protocol: TCP}
    {{- end }}
  {{- $scheme := ternary "HTTPS" "HTTP" (eq $tls "true") }}
  startupProbe:
    httpGet: {path: /livez, port: pages, scheme: {{ $scheme }}}
    periodSeconds: 1
    failureThreshold: 60
  livenessProbe:
    httpGet: {path: /livez, port: pages, scheme: {{ $scheme }}}
    periodSeconds: 10
    timeoutSeconds: 5
    failureThreshold: 3
  readinessProbe:
    httpGet: {path: /readyz, port: pages, scheme: {{ $scheme }}}
    periodSeconds: 2
    timeoutSeconds: 2
    failureThreshold: 2
  resources:
    {{- toYaml $v.resources | nindent 4 }}
  securityContext:
    {{- include "berth.containerSecurity" . | nindent 4 }}
  volumeMounts:
    {{- include "berth.tokenMount" . | nindent 4 }}
    - {name: policies, mountPath: /etc/berth/policies, readOnly: true}
    {{- if $tls }}
    - {name: tls, mountPath: /etc/berth/tls, readOnly: true}
    {{- if $v.tls.crlConfigMap }}
    - {name: crl, mountPath: /etc/berth/crl, readOnly: true}
    {{- end }}
    {{- end }}
    {{- if include "berth.tokenSecret" . }}
    - {name: pages, mountPath: /etc/berth/pages, readOnly: true}
    {{- end }}
    {{- if include "berth.viewerSecret" . }}
    - {name: viewer, mountPath: /etc/berth/viewer, readOnly: true}
    {{- end }}
    {{- if $v.prometheus.sources }}
    - {name: sources, mountPath: /etc/berth/sources, readOnly: true}
    {{- end }}
    {{- if $v.prometheus.credentialsSecret }}
    - {name: credentials, mountPath: /etc/berth/credentials, readOnly: true}
    {{- end }}
    {{- with include "berth.stateMount" . }}
    {{- trim . | nindent 4 }}
    {{- end }}
{{- end }}

{{- define "berth.volumes" -}}
{{ include "berth.tokenVolume" . }}
- name: policies
  configMap: {name: {{ include "berth.policiesName" . }}}
{{- if include "berth.usesTls" . }}
- name: tls
  secret: {secretName: {{ include "berth.serverSecret" . }}, defaultMode: 0440}
{{- with .Values.tls.crlConfigMap }}
- name: crl
  configMap: {name: {{ . }}}
{{- end }}
{{- end }}
{{- with include "berth.tokenSecret" . }}
- name: pages
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- with include "berth.viewerSecret" . }}
- name: viewer
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- if .Values.prometheus.sources }}
- name: sources
  configMap: {name: {{ include "berth.fullname" . }}-sources}
{{- end }}
{{- with .Values.prometheus.credentialsSecret }}
- name: credentials
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- include "berth.stateVolume" . }}
{{- end }}

{{/* berth.spread (dict "root" ROOT "component" NAME "affinity" OWN): replicas on different nodes. */}}
{{- define "berth.spread" -}}
affinity:
  {{- if .affinity }}
  {{- toYaml .affinity | nindent 2 }}
  {{- else }}
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "berth.selector" . | nindent 14 }}
  {{- end }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: {{ .root.Values.topologySpread }}
    nodeTaintsPolicy: Honor    # a node that is gone does not count
    labelSelector:
      matchLabels:
        {{- include "berth.selector" . | nindent 8 }}
{{- end }}
