{{/* A Deployment of one component. The pod is the same for both but for the container's own part: a dict
with "args", "env", "ports", "probePort", "volumes" and "volumeMounts". */}}
{{- define "fingerpost.deployment" -}}
{{- $root := .root }}
{{- $values := index .root.Values .component }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "fingerpost.component.name" . }}
  namespace: {{ include "fingerpost.namespace" $root }}
  labels:
    {{- include "fingerpost.component.labels" . | nindent 4 }}
  {{- with $values.deploymentAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  replicas: {{ $values.replicaCount }}
  revisionHistoryLimit: {{ $values.revisionHistoryLimit }}
  selector:
    matchLabels:
      {{- include "fingerpost.component.selector" . | nindent 6 }}
  strategy:
    {{- toYaml $values.deploymentStrategy | nindent 4 }}
  template:
    metadata:
      # No versions here: a new chart with the same image must not restart a pod.
      labels:
        {{- $own := fromYaml (include "fingerpost.component.selector" .) }}
        {{- merge (dict) $own $values.podLabels $root.Values.commonLabels | toYaml | nindent 8 }}
      annotations:
        kubectl.kubernetes.io/default-container: fingerpost
        {{- with $values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "fingerpost.serviceAccountName" . }}
      automountServiceAccountToken: {{ $values.serviceAccount.automountServiceAccountToken }}
      {{- with $root.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- toYaml $root.Values.podSecurityContext | nindent 8 }}
      {{- with $values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
      {{- with $values.dnsPolicy }}
      dnsPolicy: {{ . }}
      {{- end }}
      enableServiceLinks: false
      {{- with $values.initContainers }}
      initContainers:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
      - name: fingerpost
        image: {{ include "fingerpost.image" $root }}
        imagePullPolicy: {{ $root.Values.image.pullPolicy }}
        securityContext:
          {{- toYaml $root.Values.securityContext | nindent 10 }}
        args:
          {{- concat .container.args (list (printf "--log-format=%s" $root.Values.logFormat)) $values.extraArgs | toYaml | nindent 10 }}
        env:
          {{- concat .container.env (list (dict "name" "RUST_LOG" "value" $root.Values.logLevel)) $values.env | toYaml | nindent 10 }}
        ports:
          {{- toYaml .container.ports | nindent 10 }}
        livenessProbe:
          httpGet:
            path: /healthz
            port: {{ .container.probePort }}
          {{- toYaml $values.livenessProbe | nindent 10 }}
        readinessProbe:
          httpGet:
            path: /readyz
            port: {{ .container.probePort }}
          {{- toYaml $values.readinessProbe | nindent 10 }}
        resources:
          {{- toYaml $values.resources | nindent 10 }}
        {{- with concat .container.volumeMounts $values.extraVolumeMounts }}
        volumeMounts:
          {{- toYaml . | nindent 10 }}
        {{- end }}
      {{- with $values.extraContainers }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      {{- with concat .container.volumes $values.extraVolumes }}
      volumes:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- $selector := dict "matchLabels" (fromYaml (include "fingerpost.component.selector" .)) }}
      {{- $constraints := list }}
      {{- range $values.topologySpreadConstraints }}
      {{- $constraints = append $constraints (merge (dict) . (dict "labelSelector" $selector)) }}
      {{- end }}
      {{- with $constraints }}
      topologySpreadConstraints:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}

{{/* The arguments that say who may claim which names: alike for the operator and the DNS servers, which plan alike. */}}
{{- define "fingerpost.tenancyArgs" -}}
{{- $args := list }}
{{- if .Values.tenancy.requireDomainGrants }}
{{- $args = append $args "--require-domain-grants" }}
{{- end }}
{{- if ne (join "," .Values.tenancy.gatewayServiceNamespaces) "istio-system,istio-ingress,aks-istio-ingress" }}
{{- $args = append $args (printf "--gateway-service-namespaces=%s" (join "," .Values.tenancy.gatewayServiceNamespaces)) }}
{{- end }}
{{- toJson $args }}
{{- end }}
