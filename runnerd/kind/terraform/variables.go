package terraform

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/envname"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// variables holds the rendered variables of a module. It holds secrets.
type variables struct {
	// files are the variable files in ascending precedence.
	files []artifact.File
	// environ are the component's environment variables.
	environ map[string]string
	// policies are the app's policies of the cluster, relative to the root module. An apply has them from its plan,
	// with the other files of the tree.
	policies []artifact.File
}

// renderVariables renders vars, var_files, env_vars and cluster_policies. The vars become one JSON file
// of strings, which Terraform converts to numbers and booleans where the module needs those.
// Later files win: the var_files come after it, and what the install overrides comes last.
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
		if err := made.addFile(fmt.Sprintf("var_file[%d]", i), text, opened); err != nil {
			return nil, err
		}
	}
	if spec.Terraform.Override != "" {
		if err := made.addFile("tf_vars of the install", spec.Terraform.Override, opened); err != nil {
			return nil, err
		}
	}
	if made.policies, err = renderPolicies(spec.Terraform.ClusterPolicies, opened); err != nil {
		return nil, err
	}
	if made.environ, err = opened.RenderAll("env_vars", spec.Terraform.EnvVars); err != nil {
		return nil, err
	}
	return made, checkEnviron(made.environ)
}

// policyFile matches valid names of the files of policies.
var policyFile = lazyregexp.New(`^[a-z0-9_][a-z0-9_-]{0,240}\.yaml$`)

// renderPolicies renders the policies of the cluster, each into a file.
func renderPolicies(templates map[string]string, opened *values.Values) ([]artifact.File, error) {
	rendered, err := opened.RenderAll("kyverno_policies", templates)
	if err != nil {
		return nil, err
	}
	var files []artifact.File
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if !policyFile.MatchString(name) {
			return nil, fmt.Errorf("%.250q is not the name of a policy's file; this is a bug in the control plane; "+
				"report it", name)
		}
		files = append(files, artifact.File{
			Path: path.Join(appconfig.ClusterPolicyDir, name), Content: []byte(rendered[name]),
		})
	}
	return files, nil
}

// addFile renders a variable file, which wins over those before it. name is for errors.
func (v *variables) addFile(name, text string, opened *values.Values) error {
	rendered, err := opened.Render(name, text)
	if err != nil {
		return err
	}
	v.files = append(v.files, artifact.File{
		Path: fmt.Sprintf("%03d%s", len(v.files), varFileExtension(rendered)), Content: []byte(rendered),
	})
	return nil
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
