package standin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// chartFile is the template of a stand-in chart, objectsFile the file of a stand-in kustomization.
const (
	chartFile   = "templates/standin.yaml"
	objectsFile = "standin.yaml"
)

// workload is a ConfigMap and a Deployment; the arguments are their name, the release of the stand-in and
// further data.
const workload = `apiVersion: v1
kind: ConfigMap
metadata:
  name: %[1]s
data:
  release: "%[2]d"
%[3]s---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s
spec:
  replicas: 1
  selector:
    matchLabels: {app: %[1]s}
  template:
    metadata:
      labels: {app: %[1]s}
    spec:
      containers:
        - name: standin
          image: registry.example/standin:%[2]d
`

// chart returns the files of a chart that lacks some. It removes what the remaining templates
// cannot do without.
func (c *Code) chart(dir string, release int) (map[string]string, error) {
	meta := map[string]any{"apiVersion": "v2", "name": path.Base(c.Directory), "version": "0.0.1"}
	content, err := os.ReadFile(filepath.Join(dir, "Chart.yaml"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := yaml.Unmarshal(content, &meta); err != nil {
		return nil, fmt.Errorf("read Chart.yaml: %w", err)
	}
	if meta["name"] == "." {
		meta["name"] = "standin"
	}
	delete(meta, "dependencies")
	text, err := yaml.Marshal(meta)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"templates", "charts", "Chart.lock", "values.schema.json"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "templates"), 0o755); err != nil {
		return nil, err
	}
	name := `{{ printf "%s-standin" .Release.Name | trunc 63 | trimSuffix "-" }}`
	return map[string]string{"Chart.yaml": string(text), chartFile: fmt.Sprintf(workload, name, release,
		"  values: {{ toJson .Values | quote }}\n")}, nil
}

// kustomization returns the files of a stand-in kustomization.
func (c *Code) kustomization(release int) map[string]string {
	return map[string]string{
		"kustomization.yaml": "resources: [" + objectsFile + "]\n",
		objectsFile:          fmt.Sprintf(workload, "standin", release, ""),
	}
}
