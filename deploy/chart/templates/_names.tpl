{{/* Names, labels and images. */}}

{{- define "berth.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{/* Fixed labels: berth's own pods are exempt from policies by the first of these. */}}
{{- define "berth.selector" -}}
app.kubernetes.io/name: berth
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* Labels that a new chart with the same berth does not change, so that pods do not restart. */}}
{{- define "berth.podLabels" -}}
{{ include "berth.selector" . }}
app.kubernetes.io/part-of: berth
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
{{- end }}

{{- define "berth.labels" -}}
{{ include "berth.podLabels" . }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{/* berth.image (dict "image" IMAGE "tag" DEFAULT) */}}
{{- define "berth.image" -}}
{{- $name := list .image.registry .image.repository | compact | join "/" -}}
{{- if .image.digest -}}
{{- printf "%s@%s" $name .image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name (.image.tag | default .tag) -}}
{{- end -}}
{{- end }}

{{- define "berth.ownImage" -}}
{{- include "berth.image" (dict "image" .Values.image "tag" .Chart.AppVersion) -}}
{{- end }}

{{/* v1.31.2 of v1.31.2+k3s1, v1.31.2-gke.100: kube-scheduler's image has no tags with suffixes of vendors. */}}
{{- define "berth.clusterVersion" -}}
{{- regexFind "^v[0-9]+\\.[0-9]+\\.[0-9]+" .Capabilities.KubeVersion.Version -}}
{{- end }}

{{- define "berth.schedulerImage" -}}
{{- include "berth.image" (dict "image" .Values.scheduler.image "tag" (include "berth.clusterVersion" .)) -}}
{{- end }}

{{/* kube-scheduler has /livez and /readyz since 1.31. */}}
{{- define "berth.schedulerHasLivez" -}}
{{- $tag := .Values.scheduler.image.tag | default (include "berth.clusterVersion" .) -}}
{{- if semverCompare ">=1.31.0-0" $tag }}true{{ end -}}
{{- end }}

{{/* --- conditions over several values; "true" or empty --- */}}

{{- define "berth.isSidecar" -}}
{{- if and (eq .Values.mode "second-scheduler") (eq .Values.placement "sidecar") }}true{{ end -}}
{{- end }}

{{- define "berth.hasOwnPods" -}}
{{- if or (eq .Values.mode "standalone") (and (eq .Values.mode "second-scheduler") (eq .Values.placement "service")) }}true{{ end -}}
{{- end }}

{{- define "berth.hasScheduler" -}}
{{- if eq .Values.mode "second-scheduler" }}true{{ end -}}
{{- end }}

{{/* Whether /metrics and /api/v1 are readable from outside. */}}
{{- define "berth.arePagesRead" -}}
{{- with .Values.pages }}{{ if or .generateToken .tokenSecret .viewerTokenSecret .clientNames }}true{{ end }}{{ end -}}
{{- end }}

{{/* Whether the API server sends policies to berth's webhook. */}}
{{- define "berth.hasAdmission" -}}
{{- if and .Values.policiesFromCluster.enabled .Values.policiesFromCluster.admission.enabled }}true{{ end -}}
{{- end }}

{{- define "berth.usesTls" -}}
{{- if include "berth.hasOwnPods" . -}}
true
{{- else if and (include "berth.isSidecar" .) (or (include "berth.arePagesRead" .) (include "berth.hasAdmission" .)) -}}
true
{{- end -}}
{{- end }}

{{/* The ServiceAccount of berth. */}}
{{- define "berth.serviceAccount" -}}
{{- include "berth.fullname" . }}{{ if include "berth.isSidecar" . }}-scheduler{{ end -}}
{{- end }}

{{- define "berth.policiesName" -}}
{{- .Values.existingPolicies | default (printf "%s-policies" (include "berth.fullname" .)) -}}
{{- end }}

{{- define "berth.serverSecret" -}}
{{- if eq .Values.tls.mode "existing" }}{{ .Values.tls.existing.serverSecret }}{{ else }}{{ include "berth.fullname" . }}-server{{ end -}}
{{- end }}

{{- define "berth.clientSecret" -}}
{{- if eq .Values.tls.mode "existing" }}{{ .Values.tls.existing.clientSecret }}{{ else }}{{ include "berth.fullname" . }}-client{{ end -}}
{{- end }}

{{- define "berth.tokenSecret" -}}
{{- if .Values.pages.tokenSecret -}}
{{- .Values.pages.tokenSecret -}}
{{- else if .Values.pages.generateToken -}}
{{- include "berth.fullname" . }}-pages
{{- end -}}
{{- end }}

{{/* The token of viewers: no what-if, no bundles. */}}
{{- define "berth.viewerSecret" -}}
{{- if .Values.pages.viewerTokenSecret -}}
{{- .Values.pages.viewerTokenSecret -}}
{{- else if .Values.pages.generateToken -}}
{{- include "berth.fullname" . }}-viewer
{{- end -}}
{{- end }}

{{- define "berth.leaseName" -}}
{{- include "berth.fullname" . }}-bind
{{- end }}
