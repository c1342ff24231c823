{{/* The API families: their groups and, in each, the plural names of the kinds. */}}
{{- define "fingerpost.families" -}}
router:
  cluster.router.io: [clusteridentities, dnsconfigurations]
  routing.router.io: [dnspolicies, gateways, serviceroutes]
kuadrant:
  kuadrant.io: [dnspolicies]
dnsclass:
  dns.homelab.mortenolsen.pro: [dnsclasses, dnsrecords]
kubizone:
  kubi.zone: [records, zones]
placement:
  fingerpost.dev: [placements]
{{- end }}

{{/* The groups of the families that this cluster has, as YAML: group to plural names. */}}
{{- define "fingerpost.groups" -}}
{{- $families := fromYaml (include "fingerpost.families" .) -}}
{{- range $family := .Values.crds.families }}
{{- range $group, $plurals := index $families $family }}
{{ $group }}: {{ toJson $plurals }}
{{- end }}
{{- end }}
{{- end }}

{{/* The groups of all families. The API server refuses before it says that there is no such kind, so whoever
looks for a kind must be allowed to read it, whether it is installed or not. */}}
{{- define "fingerpost.allGroups" -}}
{{- range $family, $groups := fromYaml (include "fingerpost.families" .) }}
{{ toYaml $groups }}
{{- end }}
{{- end }}
