{{- define "runner.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "runner.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "runner.labels" -}}
{{ include "runner.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* The name of the account of a kind of job. */}}
{{- define "runner.account" -}}
{{ include "runner.name" (index . 0) }}-{{ index . 1 | replace "_" "-" }}
{{- end -}}

{{- define "runner.claim" -}}
{{ .Values.persistence.existingClaim | default (include "runner.name" .) }}
{{- end -}}

{{- /* The runner file, with [executor]. */}}
{{- define "runner.file" -}}
{{ .Values.runnerFile }}
{{- if .Values.executor.enabled }}
{{- if regexMatch "(?m)^\\s*\\[\\s*executor\\s*\\]" .Values.runnerFile }}
{{- fail "runnerFile has [executor], and executor.enabled adds it; keep one of them" }}
{{- end }}

[executor]
kind = "kubernetes"
claim = {{ include "runner.claim" . | quote }}
claim_path = "runner"
{{- with .Values.executor.nodeSelector }}

[executor.node_selector]
{{- range $label, $value := . }}
{{ $label | quote }} = {{ $value | quote }}
{{- end }}
{{- end }}
{{- with .Values.executor.serviceAccounts }}

[executor.service_accounts]
{{- range $kind, $account := . }}
{{ $kind }} = {{ include "runner.account" (list $ $kind) | quote }}
{{- end }}
{{- end }}
{{ end -}}
{{- end -}}

{{- define "runner.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}
