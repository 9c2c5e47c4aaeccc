package tfmodule

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
)

// Assignment is a variable assignment in a tfvars file.
type Assignment struct {
	Name string
	// Line and Column are the position of the name, from 1.
	Line, Column int
}

// Assignments returns the variables that a tfvars file assigns, by name. A file whose first
// character is a brace is parsed as JSON, as in the runner. An error names the line.
func Assignments(name string, content []byte) (all []Assignment, err error) {
	json := strings.HasPrefix(strings.TrimSpace(string(content)), "{")
	if json {
		name = strings.TrimSuffix(name, ".json") + ".json"
	}
	if len(content) > maxFileBytes {
		return nil, fmt.Errorf("%s has more than %d bytes; split it", name, maxFileBytes)
	}
	if err := checkDepth(name, content); err != nil {
		return nil, err
	}
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("%s: this cannot be read as a tfvars file: %v", name, caught)
		}
	}()
	parse := hclparse.NewParser().ParseHCL
	if json {
		parse = hclparse.NewParser().ParseJSON
	}
	file, problems := parse(content, name)
	var attributes hcl.Attributes
	if file != nil && !problems.HasErrors() {
		attributes, problems = file.Body.JustAttributes()
	}
	if err := firstProblem(name, problems); err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		at := attributes[key].NameRange.Start
		all = append(all, Assignment{Name: key, Line: at.Line, Column: at.Column})
	}
	return all, nil
}

// assignedIn returns the variables that are assigned in those tfvars files of a root module's
// directory that Terraform loads automatically.
func assignedIn(t tree, dir string) ([]string, error) {
	entries, err := fs.ReadDir(t.fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("read module %s: %w", dir, err)
	}
	names := map[string]bool{}
	files := 0
	for _, entry := range entries {
		base := strings.TrimSuffix(entry.Name(), ".json")
		if entry.IsDir() || base != "terraform.tfvars" && !strings.HasSuffix(base, ".auto.tfvars") {
			continue
		}
		if files++; files > maxConfigFiles {
			return nil, fmt.Errorf("%s holds more than %d .tfvars files; split the module", dir, maxConfigFiles)
		}
		name := path.Join(dir, entry.Name())
		content, err := t.readFile(name)
		if err != nil {
			return nil, err
		}
		set, err := Assignments(name, content)
		if err != nil {
			return nil, err
		}
		for _, assignment := range set {
			names[assignment.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}
