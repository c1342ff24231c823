{{- /* What the page and /api/ add to a container: "args", "ports", "volumes" and "volumeMounts", as YAML. Takes "root",
"component" and "address". */}}
{{- define "fingerpost.api.container" -}}
{{- $api := .root.Values.api }}
{{- if $api.enabled }}
{{- if not (or $api.tlsSecretName $api.insecure) }}
{{- fail "api.enabled sends tokens: set api.tlsSecretName, or api.insecure where another layer encrypts" }}
{{- end }}
{{- $service := printf "%s-api" (include "fingerpost.component.name" .) }}
{{- $namespace := include "fingerpost.namespace" .root }}
{{- $hosts := list $service (printf "%s.%s" $service $namespace) (printf "%s.%s.svc" $service $namespace)
  (printf "%s.%s.svc.cluster.local" $service $namespace) }}
args:
- --api={{ .address }}:8054
{{- range concat $hosts $api.allowedHosts }}
- --allowed-host={{ . }}
{{- end }}
{{- if $api.tlsSecretName }}
- --api-tls-cert=/etc/fingerpost/api/tls.crt
- --api-tls-key=/etc/fingerpost/api/tls.key
{{- else }}
- --api-insecure
{{- end }}
ports:
- name: api
  containerPort: 8054
{{- if $api.tlsSecretName }}
volumes:
- name: api
  secret:
    secretName: {{ $api.tlsSecretName }}
volumeMounts:
- name: api
  mountPath: /etc/fingerpost/api
  readOnly: true
{{- else }}
volumes: []
volumeMounts: []
{{- end }}
{{- else }}
args: []
ports: []
volumes: []
volumeMounts: []
{{- end }}
{{- end }}

{{- /* The rules by which a component reviews the tokens of readers. */}}
{{- define "fingerpost.api.rules" -}}
{{- if .Values.api.enabled }}
# Who reads the page and /api/: the token is reviewed, and whether its account may get plans.fingerpost.dev.
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end }}
{{- end }}
