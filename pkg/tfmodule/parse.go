package tfmodule

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/terraform-config-inspect/tfconfig"
)

// maxConfigFiles is the maximum number of .tf files in one directory.
const maxConfigFiles = 2000

// parsedDir contains the declarations in the files of one directory.
type parsedDir struct {
	*tfconfig.Module
	backend *Backend
}

// parseDir parses the configuration files of one directory. It returns nil if there are none.
func parseDir(t tree, dir string) (*parsedDir, error) {
	names, err := configFiles(t, dir)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	module := &parsedDir{Module: tfconfig.NewModule(dir)}
	for _, name := range names {
		content, err := t.readFile(name)
		if err != nil {
			return nil, err
		}
		if err := checkDepth(name, content); err != nil {
			return nil, err
		}
		variables, calls := maps.Clone(module.Variables), maps.Clone(module.ModuleCalls)
		if err := parseFile(name, content, module); err != nil {
			return nil, err
		}
		if isOverride(name) {
			module.merge(variables, calls)
		}
	}
	for _, resource := range module.ManagedResources {
		addImpliedProvider(module.Module, resource.Provider.Name)
	}
	for _, data := range module.DataResources {
		addImpliedProvider(module.Module, data.Provider.Name)
	}
	return module, nil
}

// merge restores what an override file does not change. A block in an override file changes only
// the arguments that it contains, but the parser treats it as a complete declaration.
func (p *parsedDir) merge(variables map[string]*tfconfig.Variable, calls map[string]*tfconfig.ModuleCall) {
	for name, original := range variables {
		merged := p.Variables[name]
		if merged == original {
			continue
		}
		merged.Required = merged.Required && original.Required
		merged.Type, merged.Description = cmp.Or(merged.Type, original.Type), cmp.Or(merged.Description, original.Description)
		merged.Sensitive = merged.Sensitive || original.Sensitive
		merged.Pos = original.Pos
	}
	for name, original := range calls {
		if merged := p.ModuleCalls[name]; merged != original && merged.Source == "" {
			merged.Source, merged.Version, merged.Pos = original.Source, cmp.Or(merged.Version, original.Version), original.Pos
		}
	}
}

// isOverride reports whether Terraform merges the blocks of a file over those of other files.
func isOverride(name string) bool {
	base := strings.TrimSuffix(strings.TrimSuffix(path.Base(name), ".json"), ".tf")
	return base == "override" || strings.HasSuffix(base, "_override")
}

func addImpliedProvider(module *tfconfig.Module, provider string) {
	if module.RequiredProviders[provider] == nil {
		module.RequiredProviders[provider] = &tfconfig.ProviderRequirement{}
	}
}

// configFiles returns the files that Terraform would read, overrides last.
func configFiles(t tree, dir string) ([]string, error) {
	entries, err := fs.ReadDir(t.fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("read module %s: %w", dir, err)
	}
	var names, overrides []string
	for _, entry := range entries {
		name := entry.Name()
		json, native := strings.HasSuffix(name, ".tf.json"), strings.HasSuffix(name, ".tf")
		if entry.IsDir() || !json && !native || strings.HasPrefix(name, ".") {
			continue
		}
		if isOverride(name) {
			overrides = append(overrides, path.Join(dir, name))
			continue
		}
		names = append(names, path.Join(dir, name))
	}
	if len(names)+len(overrides) > maxConfigFiles {
		return nil, fmt.Errorf("%s holds more than %d .tf files; split the module", dir, maxConfigFiles)
	}
	return append(names, overrides...), nil
}

// parseFile adds the declarations of one file to module. The third-party parser panics on some
// invalid input; parseFile converts a panic to an error.
func parseFile(name string, content []byte, module *parsedDir) (err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("%s: this cannot be read as Terraform configuration: %v", name, caught)
		}
	}()
	var file *hcl.File
	var problems hcl.Diagnostics
	if strings.HasSuffix(name, ".json") {
		file, problems = hclparse.NewParser().ParseJSON(content, name)
	} else {
		file, problems = hclparse.NewParser().ParseHCL(content, name)
	}
	if file != nil && !problems.HasErrors() {
		problems = append(problems, tfconfig.LoadModuleFromFile(file, module.Module)...)
		if declared := backendOf(file); declared != nil {
			module.backend = declared
		}
	}
	return firstProblem(name, problems)
}

// firstProblem returns the error "file:line: what is wrong", with the number of further problems.
func firstProblem(name string, problems hcl.Diagnostics) error {
	var first *hcl.Diagnostic
	more := 0
	for _, problem := range problems {
		switch {
		case problem.Severity != hcl.DiagError:
		case first == nil:
			first = problem
		default:
			more++
		}
	}
	if first == nil {
		return nil
	}
	at := Position{File: name}
	if first.Subject != nil {
		at.Line = first.Subject.Start.Line
	}
	text := strings.TrimSuffix(first.Summary, ".")
	if first.Detail != "" {
		text += ": " + strings.Join(strings.Fields(strings.TrimSuffix(first.Detail, ".")), " ")
	}
	if more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return fmt.Errorf("%s: %s", at, text)
}

// backendOf returns the last backend or cloud block of a file, or nil if it has none.
func backendOf(file *hcl.File) *Backend {
	var found *Backend
	// The loader reports errors outside of these blocks.
	content, _, _ := file.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "terraform"}}})
	for _, block := range content.Blocks {
		inner, _, _ := block.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "backend",
			LabelNames: []string{"type"}}, {Type: "cloud"}}})
		for _, declared := range inner.Blocks {
			kind := declared.Type
			if len(declared.Labels) > 0 {
				kind = declared.Labels[0]
			}
			found = &Backend{Kind: kind,
				Position: Position{File: declared.DefRange.Filename, Line: declared.DefRange.Start.Line}}
		}
	}
	return found
}
