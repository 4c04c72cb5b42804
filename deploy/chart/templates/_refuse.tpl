{{/* Rejects combinations of values that the schema cannot reject. Each message names the value
     to change. */}}
{{- define "berth.refuse" -}}
{{- $v := .Values -}}
{{- if and $v.bind.enabled $v.extender.ignorable -}}
{{- fail "bind.enabled and extender.ignorable: kube-scheduler would bind past berth whenever it cannot reach it, and things would be given away twice. Set one of them to false." -}}
{{- end -}}
{{- if and $v.existingPolicies $v.policies -}}
{{- fail "policies and existingPolicies: only one of them can be mounted. Remove one." -}}
{{- end -}}
{{- if $v.observe -}}
{{- if $v.existingPolicies -}}
{{- fail "observe: it cannot rewrite the policies of existingPolicies. Set spec.mode to Observe in that ConfigMap, or give them as policies." -}}
{{- end -}}
{{- range $name, $policy := $v.policies -}}
{{- if kindIs "string" $policy -}}
{{- fail (printf "observe: policies.%s is text, which is not rewritten. Give it as an object (without the |), or write spec.mode: Observe into it." $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and (eq $v.tls.mode "existing") (include "berth.usesTls" .) -}}
{{- if not $v.tls.existing.serverSecret -}}
{{- fail "tls.mode is existing, but tls.existing.serverSecret is empty: name the Secret with berth's tls.crt, tls.key and ca.crt." -}}
{{- end -}}
{{- if and (include "berth.hasScheduler" .) (not $v.tls.existing.clientSecret) -}}
{{- fail "tls.mode is existing, but tls.existing.clientSecret is empty: name the Secret with kube-scheduler's tls.crt, tls.key and ca.crt." -}}
{{- end -}}
{{- end -}}
{{- if and $v.scheduler.optIn (not (include "berth.hasScheduler" .)) -}}
{{- fail "scheduler.optIn needs mode second-scheduler: pods would wait for a scheduler that is not installed." -}}
{{- end -}}
{{- if $v.publish.objects -}}
{{- if not $v.publish.enabled -}}
{{- fail "publish.objects without publish.enabled: pods would request slots that no node offers. Set publish.enabled to true." -}}
{{- end -}}
{{- range splitList "\n---\n" $v.publish.objects -}}
{{- $object := fromYaml . -}}
{{- if and $object (not (has (dig "kind" "" $object) (list "MutatingAdmissionPolicy" "MutatingAdmissionPolicyBinding" "MutatingPolicy" "NodeOverlay"))) -}}
{{- fail "publish.objects: expected the output of berth config --admission or --node-overlay." -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $admission := $v.policiesFromCluster.admission -}}
{{- if $admission.enabled -}}
{{- if not $v.policiesFromCluster.enabled -}}
{{- fail "policiesFromCluster.admission.enabled without policiesFromCluster.enabled: there would be no policies to check. Set both." -}}
{{- end -}}
{{- if eq $v.mode "default-scheduler" -}}
{{- fail "policiesFromCluster.admission: in mode default-scheduler berth answers on the host's loopback only, and the API server cannot be given its address. Set policiesFromCluster.admission.enabled to false." -}}
{{- end -}}
{{- if and (eq $v.tls.mode "existing") (not $admission.caBundle) -}}
{{- fail "policiesFromCluster.admission: with tls.mode existing the API server must be told the CA of berth's certificate: --set-file policiesFromCluster.admission.caBundle=ca.crt" -}}
{{- end -}}
{{- if has (int $admission.port) (list (int $v.pages.port) (int $v.service.port) 8443) -}}
{{- fail "policiesFromCluster.admission.port is the port of the pages or of the verbs. Change one of them." -}}
{{- end -}}
{{- end -}}
{{- if eq (int $v.pages.port) (int $v.service.port) -}}
{{- fail "pages.port and service.port are the same. Change one of them." -}}
{{- end -}}
{{- if $v.serviceMonitor.enabled -}}
{{- if eq $v.mode "default-scheduler" -}}
{{- fail "serviceMonitor: in mode default-scheduler berth answers on the host's loopback only; scrape it there (deploy/static-pod/README.md)." -}}
{{- end -}}
{{- if not (or (include "berth.tokenSecret" .) (include "berth.viewerSecret" .)) -}}
{{- fail "serviceMonitor: Prometheus needs a token to read /metrics. Set pages.generateToken, pages.tokenSecret or pages.viewerTokenSecret." -}}
{{- end -}}
{{- end -}}
{{- $flags := list "listen" "policy" "kubeconfig" "context" "in-cluster" "cluster" "bind" "lease" "wake-up" "publish" "publish-lease" "nominate" "nominate-weight" "nominate-lease" "events" "managed-resource" "prometheus" "sources" "tls-cert" "tls-key" "client-ca" "client-crl" "client-name" "insecure-http" "pages-listen" "pages-token-file" "pages-viewer-token-file" "pages-client-name" "policies-from-cluster" "policies-lease" "admission-listen" "admission-client-name" "drain-delay" "exempt" "deadline" "log-level" "log-format" "state-dir" "state-size" -}}
{{- if and $v.state.enabled (has "--decisions=0" $v.extraArgs) -}}
{{- fail "extraArgs: with --decisions=0 there is nothing to keep on disk. Set state.enabled to false." -}}
{{- end -}}
{{- range $v.extraArgs -}}
{{- $flag := regexReplaceAll "^--([a-z-]+).*$" . "${1}" -}}
{{- if has $flag $flags -}}
{{- fail (printf "extraArgs: %s is set by another value of this chart (or must not be set at all). See values.yaml." .) -}}
{{- end -}}
{{- end -}}
{{- with dig "limits" "ephemeral-storage" "" $v.resources -}}
{{- if and $v.state.enabled (le (int64 (include "berth.bytes" .)) (int64 (include "berth.bytes" $v.state.size))) -}}
{{- fail (printf "state.size is %s, but resources.limits.ephemeral-storage is %s: the kubelet would evict the pod. Raise the limit, lower state.size, or set state.enabled to false." $v.state.size .) -}}
{{- end -}}
{{- end -}}
{{- range $source := $v.prometheus.sources -}}
{{- if and $v.prometheus.url (eq $source.name "default") -}}
{{- fail "prometheus.url and a source called default are the same source. Remove one of them." -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* berth.bytes AMOUNT: in bytes, without a fraction. */}}
{{- define "berth.bytes" -}}
{{- $units := dict "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- mul (int64 (regexFind "^[0-9]+" (toString .))) (get $units (regexFind "[A-Za-z]+$" (toString .)) | default 1) -}}
{{- end }}
