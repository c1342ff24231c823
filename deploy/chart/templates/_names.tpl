{{/* Names and labels. Templates that are about one deployment take (dict "root" $ "component" "operator"). */}}

{{- define "fingerpost.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "fingerpost.fullname" -}}
{{- $name := include "fingerpost.name" . -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "fingerpost.namespace" -}}
{{ default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{- define "fingerpost.component.name" -}}
{{ include "fingerpost.fullname" .root }}-{{ .component }}
{{- end }}

{{- define "fingerpost.serviceAccountName" -}}
{{- $account := (index .root.Values .component).serviceAccount -}}
{{- if $account.create -}}
{{ default (include "fingerpost.component.name" .) $account.name }}
{{- else -}}
{{ default "default" $account.name }}
{{- end -}}
{{- end }}

{{/* Of these there is one in a cluster or namespace, whatever the release is called: the operator knows them
by these names, and a second installation in the same cluster is refused by Helm. */}}
{{- define "fingerpost.webhook.name" -}}fingerpost-webhook{{- end }}
{{- define "fingerpost.webhook.configuration" -}}fingerpost{{- end }}
{{- define "fingerpost.serials.name" -}}fingerpost-serials{{- end }}
{{- define "fingerpost.lease.name" -}}fingerpost-operator{{- end }}

{{- define "fingerpost.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end }}

{{/* Labels are merged as maps: a label that a user gives twice, or that is ours already, stands once. */}}
{{- define "fingerpost.labels" -}}
{{- $chart := printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" -}}
{{- $own := dict
  "helm.sh/chart" $chart
  "app.kubernetes.io/name" (include "fingerpost.name" .)
  "app.kubernetes.io/instance" .Release.Name
  "app.kubernetes.io/version" .Chart.AppVersion
  "app.kubernetes.io/managed-by" .Release.Service -}}
{{ toYaml (merge (dict) $own .Values.commonLabels) }}
{{- end }}

{{/* Those of one component; "more" has further ones. */}}
{{- define "fingerpost.component.labels" -}}
{{- $own := merge (fromYaml (include "fingerpost.component.selector" .)) (fromYaml (include "fingerpost.labels" .root)) -}}
{{ toYaml (merge (dict) $own (default (dict) .more)) }}
{{- end }}

{{- define "fingerpost.component.selector" -}}
app.kubernetes.io/name: {{ include "fingerpost.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}
