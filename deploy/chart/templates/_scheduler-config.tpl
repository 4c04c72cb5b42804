{{/* kube-scheduler's side: the entry of berth in a list of extenders. */}}

{{- define "berth.urlPrefix" -}}
{{- if eq .Values.mode "default-scheduler" -}}
{{- printf "http://127.0.0.1:%d" (int .Values.staticPod.port) -}}
{{- else if include "berth.isSidecar" . -}}
{{- ternary "https://127.0.0.1:8443" "http://127.0.0.1:8080" (eq (include "berth.usesTls" .) "true") -}}
{{- else -}}
{{- printf "https://%s.%s.svc:%d" (include "berth.fullname" .) .Release.Namespace (int .Values.service.port) -}}
{{- end -}}
{{- end }}

{{/* berth.extender (dict "root" ROOT "tls" TEXT): TEXT is the content of tlsConfig */}}
{{- define "berth.extender" -}}
{{- $v := .root.Values -}}
- urlPrefix: {{ include "berth.urlPrefix" .root }}
  filterVerb: filter
  prioritizeVerb: prioritize
  preemptVerb: preempt
  {{- if $v.bind.enabled }}
  bindVerb: bind
  {{- end }}
  weight: {{ int $v.extender.weight }}    # berth's 0..10 becomes 0..{{ mul 100 (int $v.extender.weight) }} beside kube-scheduler's own 0..1200
  nodeCacheCapable: true    # names only: berth knows the cluster
  httpTimeout: {{ $v.extender.timeout | default (ternary "15s" "1s" $v.bind.enabled) }}
  {{- if $v.extender.ignorable }}
  ignorable: true    # pods are placed without berth while it cannot be reached
  {{- else }}
  ignorable: false    # pods stay pending while berth cannot be reached
  {{- end }}
  {{- with $v.extender.managedResources }}
  managedResources:
    {{- range . }}
    - name: {{ .name }}
      ignoredByScheduler: {{ .ignoredByScheduler | default false }}
    {{- end }}
  {{- end }}
  {{- with .tls }}
  enableHTTPS: true
  tlsConfig:
    {{- . | nindent 4 }}
  {{- end }}
{{- end }}

{{- define "berth.tlsFiles" -}}
caFile: /etc/kubernetes/berth-tls/ca.crt    # without it nothing would be verified
certFile: /etc/kubernetes/berth-tls/tls.crt
keyFile: /etc/kubernetes/berth-tls/tls.key
{{- end }}

{{/* The whole file. berth.schedulerConfig (dict "root" ROOT "kubeconfig" FILE "lease" NAME "leaseNamespace" NS "name" SCHEDULER) */}}
{{- define "berth.schedulerConfig" -}}
{{- $v := .root.Values -}}
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
{{- with .kubeconfig }}
clientConnection:
  kubeconfig: {{ . }}
{{- end }}
leaderElection:
  leaderElect: true
  resourceLock: leases
  resourceName: {{ .lease }}
  resourceNamespace: {{ .leaseNamespace }}
{{- if include "berth.hasScheduler" .root }}
enableProfiling: false
{{- end }}
{{- with int $v.scheduler.percentageOfNodesToScore }}
percentageOfNodesToScore: {{ . }}    # less than 100: berth sees only a sample of the nodes
{{- end }}
profiles:
  - schedulerName: {{ .name }}
    {{- with $v.scheduler.profile }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
extenders:
  {{- include "berth.extender" (dict "root" .root "tls" (ternary (include "berth.tlsFiles" .) "" (eq (include "berth.usesTls" .root) "true"))) | nindent 2 }}
{{- end }}
