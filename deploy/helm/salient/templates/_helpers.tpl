{{/* Labels of everything but Envoy. */}}
{{- define "salient.labels" -}}
app.kubernetes.io/name: salient
app.kubernetes.io/component: server
{{- end }}

{{/* All settings that hold, as a YAML map of environment variables. Helm reads a number as a float64, of which toString
writes a large one as 3.3554432e+07. */}}
{{- define "salient.settings" -}}
{{- $settings := dict "MODEL" .Values.model.path }}
{{- with .Values.model.directory }}{{ $settings = dict "MODELS_DIR" . }}{{ end }}
{{- range $name, $value := .Values.settings }}{{ $_ := set $settings $name $value }}{{ end }}
{{- if .Values.gpu.enabled }}
{{- range $name, $value := .Values.gpu.settings }}{{ $_ := set $settings $name $value }}{{ end }}
{{- end }}
{{- if .Values.tls.enabled }}
{{- $_ := set $settings "TLS_CERT" "/etc/salient/tls/tls.crt" }}
{{- $_ := set $settings "TLS_KEY" "/etc/salient/tls/tls.key" }}
{{- if .Values.tls.clientCA }}{{ $_ := set $settings "TLS_CLIENT_CA" "/etc/salient/tls/ca.crt" }}{{ end }}
{{- end }}
{{- if .Values.apiKeys.enabled }}{{ $_ := set $settings "API_KEYS" "/etc/salient/api-keys/keys" }}{{ end }}
{{- range $name, $value := $settings }}
SALIENT_SERVER_{{ $name }}: {{ ternary (int64 $value) $value (kindIs "float64" $value) | toString | quote }}
{{- end }}
{{- end }}

{{/* Up at once, down slowly. */}}
{{- define "salient.scaling" -}}
scaleUp:
  stabilizationWindowSeconds: 0
  policies:
    - {type: Percent, value: 100, periodSeconds: 15}
    - {type: Pods, value: 4, periodSeconds: 15}
  selectPolicy: Max
scaleDown:
  stabilizationWindowSeconds: 300
  policies:
    - {type: Percent, value: 25, periodSeconds: 60}
{{- end }}

{{/* For a private registry. */}}
{{- define "salient.pullSecrets" -}}
{{- with .Values.imagePullSecrets -}}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Spreads pods with this name over nodes and zones. */}}
{{- define "salient.spread" -}}
topologySpreadConstraints:
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        app.kubernetes.io/name: {{ $ }}
  {{- end }}
{{- end }}

{{/* What every container is held to. */}}
{{- define "salient.container" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: ["ALL"]
{{- end }}

{{- define "salient.pod" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}
