{{- define "skillet.name" -}}
{{- if contains "skillet" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-skillet" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* The labels that select pods. Takes a list: the root and a component. */}}
{{- define "skillet.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: skillet
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "skillet.labels" -}}
{{- $root := index . 0 -}}
{{ include "skillet.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version }}
{{- end }}

{{/* An image. Takes a list: the root and a name. */}}
{{- define "skillet.image" -}}
{{- $image := (index . 0).Values.image -}}
{{- with $image.registry }}{{ . }}/{{ end }}{{ index . 1 }}:{{ $image.tag | default (index . 0).Chart.AppVersion }}
{{- end }}

{{/* Variables out of secrets. Takes a list: the root and names of secrets. */}}
{{- define "skillet.envFrom" -}}
{{- range rest . }}{{ with . }}
- secretRef: { name: {{ . }} }
{{- end }}{{ end }}
{{- end }}

{{/* Variables. Takes a list: the root and maps; the last one wins. */}}
{{- define "skillet.env" -}}
{{- $all := dict }}
{{- range rest . }}{{ $all = mergeOverwrite $all (deepCopy .) }}{{ end }}
{{- with (index . 0).Values.assets.url }}{{ $_ := set $all "SKILLET_ASSETS" . }}{{ end }}
{{- range $name, $value := $all }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}

{{/* The settings that all pods share. */}}
{{- define "skillet.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "skillet.user" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
{{- end }}

{{- define "skillet.container" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* The settings of a worker's pod and container without which sandboxes cannot be created. */}}
{{- define "skillet.sandboxPod" -}}
{{- with .Values.worker.sandbox -}}
hostUsers: {{ .hostUsers }}
{{- with .runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
securityContext:
  {{- include "skillet.user" $ | nindent 2 }}
  {{- if .seccompProfile }}
  seccompProfile: { type: Localhost, localhostProfile: {{ .seccompProfile }} }
  {{- else }}
  seccompProfile: { type: RuntimeDefault }
  {{- end }}
{{- end }}
{{- end }}

{{- define "skillet.sandboxContainer" -}}
{{- include "skillet.container" . }}
{{- with .Values.worker.sandbox }}
procMount: {{ .procMount }}
{{- with .appArmorProfile }}
appArmorProfile: { type: Localhost, localhostProfile: {{ . }} }
{{- end }}
{{- end }}
{{- end }}

{{/* Placement. Takes the values of a component. */}}
{{- define "skillet.placement" -}}
{{- with .nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "skillet.volumes" -}}
- name: tmp
  emptyDir: { medium: Memory, sizeLimit: 64Mi }
{{- if not .Values.assets.url }}
- name: assets
  persistentVolumeClaim:
    claimName: {{ required "Set assets.url to s3://bucket/prefix, or assets.existingClaim." .Values.assets.existingClaim }}
{{- end }}
{{- end }}

{{- define "skillet.volumeMounts" -}}
- { name: data, mountPath: /var/lib/skillet }
- { name: tmp, mountPath: /tmp }
{{- if not .Values.assets.url }}
- { name: assets, mountPath: /var/lib/skillet-assets }
{{- end }}
{{- end }}

{{- define "skillet.probe" -}}
periodSeconds: 5
# A probe waits for the database for up to 2 s.
timeoutSeconds: 5
{{- end }}
