package terraform

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/envname"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// variables holds the rendered variables of a module. It holds secrets.
type variables struct {
	// files are the variable files in ascending precedence.
	files []artifact.File
	// environ are the component's environment variables.
	environ map[string]string
}

// renderVariables renders vars, var_files and env_vars. The vars become one JSON file
// of strings, which Terraform converts to numbers and booleans where the module needs those.
// Later files win, and the var_files come after it.
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
		made.files = append(made.files,
			artifact.File{Path: fmt.Sprintf("%03d%s", i+1, varFileExtension(rendered)), Content: []byte(rendered)})
	}
	if made.environ, err = opened.RenderAll("env_vars", spec.Terraform.EnvVars); err != nil {
		return nil, err
	}
	return made, checkEnviron(made.environ)
}

// varFileExtension returns the extension that selects the language of a file for Terraform.
func varFileExtension(content string) string {
	if strings.HasPrefix(strings.TrimSpace(content), "{") {
		return ".tfvars.json" // in HCL a file cannot start with a brace
	}
	return ".tfvars"
}

// checkEnviron rejects variables that would change how Terraform or its providers run
// instead of what they do.
func checkEnviron(environ map[string]string) error {
	if err := envname.CheckAll(environ); err != nil {
		return fmt.Errorf("env_vars: %w", err)
	}
	return nil
}

// write writes the variable files to the workspace and returns their paths.
func (v *variables) write(place *workspace) ([]string, error) {
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
