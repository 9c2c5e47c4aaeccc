package action

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/envname"
	"github.com/nuon-toolkit/nuon/runnerd/ambient"
)

// environ gives the whole environment of a step. Later ones win: the runner's own, what the run is about, the step's own
// variables, those that were given when the run was asked for, and last what the product relies on.
func (r *run) environ(step api.ActionStep, outputs string) ([]string, error) {
	own, err := r.values.RenderAll("env_vars", step.EnvVars)
	if err != nil {
		return nil, err
	}
	if err := envname.CheckAll(own); err != nil {
		return nil, fmt.Errorf("env_vars: %w", err)
	}
	made := ambient.ForTool(os.Environ())
	reachable := r.cluster(made)
	made["TRIGGER_TYPE"], made["COMPONENT_NAME"] = r.spec.Trigger, r.spec.Component
	maps.Copy(made, own)
	maps.Copy(made, r.spec.Env)
	temporary := filepath.Join(r.work, "tmp")
	if err := os.MkdirAll(temporary, 0o700); err != nil {
		return nil, err
	}
	made["TMPDIR"] = temporary
	if reachable {
		made["NUON_KUBECONFIG_ENABLED"] = "true"
	}
	made["NUON_ORG_ID"] = r.env.Spec.Org
	made["NUON_INSTALL_ID"] = r.spec.InstallID
	if app, found := r.values.Get("app", "id"); found {
		made["NUON_APP_ID"] = app
	}
	made["NUON_ACTIONS_ROOT"] = r.work
	made["NUON_ACTIONS_OUTPUT_FILEPATH"] = outputs
	return lines(made)
}

func lines(environ map[string]string) ([]string, error) {
	var made []string
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		value := environ[name]
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return nil, fmt.Errorf("env_vars.%s: this cannot be an environment variable; correct its name or value", name)
		}
		made = append(made, name+"="+value)
	}
	return made, nil
}
