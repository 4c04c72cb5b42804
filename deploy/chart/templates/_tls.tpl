{{/* tls.mode generated: the CA and the two certificates, made once for all templates of a rendering and kept from one
     upgrade to the next. An annotation of each pair has its names and when to renew it, as templates cannot read
     certificates. */}}

{{- define "berth.serverNames" -}}
{{- $name := include "berth.fullname" . -}}
{{- $ns := .Release.Namespace -}}
{{- concat (list $name (printf "%s.%s" $name $ns) (printf "%s.%s.svc" $name $ns) (printf "%s.%s.svc.cluster.local" $name $ns) "localhost") .Values.tls.extraNames | toJson -}}
{{- end }}

{{- define "berth.serverIPs" -}}
{{- $own := list "127.0.0.1" -}}
{{- with .Values.service.clusterIP }}{{ $own = append $own . }}{{ end -}}
{{- concat $own .Values.tls.extraIPs | uniq | toJson -}}
{{- end }}

{{/* berth.keptPair (dict "secret" SECRET "for" TEXT "ca" PEM): "true" if the pair needs no renewal */}}
{{- define "berth.keptPair" -}}
{{- if .secret -}}
{{- $notes := .secret.metadata.annotations | default dict -}}
{{- $renew := index $notes "berth.dev/renew-after" | default "0" | int64 -}}
{{- $is_same := eq (index $notes "berth.dev/issued-for" | default "") .for -}}
{{- $is_ours := eq (index .secret.data "ca.crt" | default "" | b64dec) .ca -}}
{{- if and $is_same $is_ours (lt (now | unixEpoch | int64) $renew) }}true{{ end -}}
{{- end -}}
{{- end }}

{{/* Sets .Values.madeTls: ca, caKey, and server and client with cert, key, for and renew. */}}
{{- define "berth.makeTls" -}}
{{- if not (hasKey .Values "madeTls") -}}
{{- $name := include "berth.fullname" . -}}
{{- $ns := .Release.Namespace -}}
{{- $days := int .Values.tls.generated.days -}}
{{- $renew := add (now | unixEpoch | int64) (mul $days 57600) -}}{{/* two thirds of 86,400 s a day */}}
{{- $ca := genCA (printf "%s CA" $name) 3650 -}}
{{- $kept := lookup "v1" "Secret" $ns (printf "%s-ca" $name) -}}
{{- if $kept -}}
{{- $ca = buildCustomCert (index $kept.data "tls.crt") (index $kept.data "tls.key") -}}
{{- end -}}
{{- $made := dict "ca" $ca.Cert "caKey" $ca.Key -}}
{{- $dns := include "berth.serverNames" . | fromJsonArray -}}
{{- $ips := include "berth.serverIPs" . | fromJsonArray -}}
{{- range $use, $cn := dict "server" $name "client" .Values.clientName -}}
{{- $for := $cn -}}
{{- if eq $use "server" }}{{ $for = concat $dns $ips | join "," }}{{ end -}}
{{- $secret := lookup "v1" "Secret" $ns (printf "%s-%s" $name $use) -}}
{{- if include "berth.keptPair" (dict "secret" $secret "for" $for "ca" $ca.Cert) -}}
{{- $_ := set $made $use (dict "cert" (index $secret.data "tls.crt" | b64dec) "key" (index $secret.data "tls.key" | b64dec) "for" $for "renew" (index $secret.metadata.annotations "berth.dev/renew-after")) -}}
{{- else -}}
{{- $pair := genSignedCert $cn (ternary $ips list (eq $use "server")) (ternary $dns list (eq $use "server")) $days $ca -}}
{{- $_ := set $made $use (dict "cert" $pair.Cert "key" $pair.Key "for" $for "renew" (toString $renew)) -}}
{{- end -}}
{{- end -}}
{{- $_ := set .Values "madeTls" $made -}}
{{- end -}}
{{- end }}
