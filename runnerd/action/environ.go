package action

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/envname"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
)

// environ returns the complete environment of a step. In ascending precedence it has
// the runner's own variables, those that describe the run, the step's own variables,
// the inputs of the run, further variables that were set with it, and the variables that
// the product relies on.
func (r *run) environ(step api.ActionStep, outputs string) ([]string, error) {
	own, err := r.values.RenderAll("env_vars", step.EnvVars)
	if err != nil {
		return nil, err
	}
	if err := envname.CheckAll(own); err != nil {
		return nil, fmt.Errorf("env_vars: %w", err)
	}
	if err := r.checkFreeEnv(); err != nil {
		return nil, err
	}
	made := jobenv.ToolEnv(os.Environ())
	reachable := r.cluster(made)
	made["TRIGGER_TYPE"], made["COMPONENT_NAME"] = r.spec.Trigger, r.spec.Component
	maps.Copy(made, own)
	maps.Copy(made, appconfig.InputEnvironment(r.spec.Inputs))
	maps.Copy(made, r.spec.Env)
	root, err := r.createRoot()
	if err != nil {
		return nil, err
	}
	made["TMPDIR"] = filepath.Join(root, "tmp")
	if reachable {
		made["NUON_KUBECONFIG_ENABLED"] = "true"
	}
	made["NUON_ORG_ID"] = r.env.Spec.Org
	made["NUON_INSTALL_ID"] = r.spec.InstallID
	if app, found := r.values.Get("app", "id"); found {
		made["NUON_APP_ID"] = app
	}
	made["NUON_ACTIONS_ROOT"] = root
	made["NUON_ACTIONS_OUTPUT_FILEPATH"] = outputs
	return envLines(made)
}

// checkFreeEnv checks the variables that the run sets and its action does not declare.
// The control plane rejects them too, but is not trusted.
func (r *run) checkFreeEnv() error {
	if len(r.spec.Env) > 0 && !r.env.Policy.FreeEnv {
		return fmt.Errorf("this run sets environment variables that action %s does not declare as inputs (%s), and this "+
			"runner takes none; its owner can set free_env = true under [actions] in the runner file",
			r.spec.Action, strings.Join(slices.Sorted(maps.Keys(r.spec.Env)), ", "))
	}
	if err := envname.CheckAll(r.spec.Env); err != nil {
		return fmt.Errorf("the environment of this run: %w", err)
	}
	return nil
}

func envLines(environ map[string]string) ([]string, error) {
	var made []string
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		value := environ[name]
		if strings.ContainsRune(value, 0) {
			return nil, fmt.Errorf("the environment variable %s holds a NUL character; correct its value", name)
		}
		made = append(made, name+"="+value)
	}
	return made, nil
}
