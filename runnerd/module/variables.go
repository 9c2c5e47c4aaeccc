package module

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-exec/tfexec"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// variables is what a module gets, rendered. It holds secrets.
type variables struct {
	// files are the variable files, in the order in which they count.
	files []artifact.File
	// environ are the component's environment variables.
	environ map[string]string
}

// renderVariables renders vars, var_files and env_vars. The vars become one JSON file of strings: Terraform converts them to
// numbers and booleans where the module asks for those. Later files win, so the var_files come after it.
func renderVariables(spec api.DeploySpec, opened *values.Values) (*variables, error) {
	vars, err := opened.RenderAll("vars", spec.Terraform.Vars)
	if err != nil {
		return nil, err
	}
	encoded, err := json.MarshalIndent(vars, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the variables: %w", err)
	}
	made := &variables{files: []artifact.File{{Path: "000.tfvars.json", Content: append(encoded, '\n')}}}
	for i, text := range spec.Terraform.VarFiles {
		name := fmt.Sprintf("var_file[%d]", i)
		rendered, err := opened.Render(name, text)
		if err != nil {
			return nil, err
		}
		made.files = append(made.files, artifact.File{Path: fmt.Sprintf("%03d%s", i+1, varFileExtension(rendered)), Content: []byte(rendered)})
	}
	if made.environ, err = opened.RenderAll("env_vars", spec.Terraform.EnvVars); err != nil {
		return nil, err
	}
	return made, checkEnviron(made.environ)
}

// varFileExtension tells Terraform which of its two languages a file is in.
func varFileExtension(content string) string {
	if strings.HasPrefix(strings.TrimSpace(content), "{") {
		return ".tfvars.json" // in the other one, nothing starts with a brace
	}
	return ".tfvars"
}

// checkEnviron refuses variables that would change how Terraform runs rather than what it does; with a word on what to do
// instead.
func checkEnviron(environ map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		switch {
		case strings.HasPrefix(name, "TF_VAR_"):
			return fmt.Errorf("env_vars.%s: a Terraform variable is set in vars, as %s; move it there", name, strings.TrimPrefix(name, "TF_VAR_"))
		case strings.HasPrefix(name, "TF_"), strings.HasPrefix(name, "NUON_"), len(tfexec.ProhibitedEnv(map[string]string{name: ""})) > 0:
			return fmt.Errorf("env_vars.%s: the runner sets this variable itself; remove it from the component", name)
		case name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(environ[name], 0):
			return fmt.Errorf("env_vars.%s: this cannot be an environment variable; correct its name or value", name)
		}
	}
	return nil
}

// write puts the variable files into the workplace and gives their paths.
func (v *variables) write(place *workplace) ([]string, error) {
	if err := os.Mkdir(place.vars(), 0o700); err != nil {
		return nil, fmt.Errorf("write the variables: %w", err)
	}
	var paths []string
	for _, file := range v.files {
		path := filepath.Join(place.vars(), file.Path)
		if err := os.WriteFile(path, file.Content, 0o600); err != nil {
			return nil, fmt.Errorf("write the variables: %w", err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}
