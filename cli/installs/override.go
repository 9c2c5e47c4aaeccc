package installs

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/keyvalue"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// overrideFlags holds what the command line overrides of components, each as COMPONENT=@FILE or COMPONENT=.
type overrideFlags struct{ helmValues, tfVars []string }

func (o *overrideFlags) flags(c *cobra.Command) {
	c.Flags().StringArrayVar(&o.helmValues, "helm-values", nil,
		"override Helm values of a component with YAML, `COMPONENT=@FILE`; COMPONENT= removes them (repeatable)")
	c.Flags().StringArrayVar(&o.tfVars, "tf-vars", nil,
		"override Terraform variables of a component with a tfvars file, `COMPONENT=@FILE`; COMPONENT= removes them "+
			"(repeatable)")
}

// read returns the overrides of the flags, by component.
func (o *overrideFlags) read() (map[string]api.ComponentOverride, error) {
	helm, err := overrideFiles("--helm-values", o.helmValues)
	if err != nil {
		return nil, err
	}
	terraform, err := overrideFiles("--tf-vars", o.tfVars)
	if err != nil {
		return nil, err
	}
	all := map[string]api.ComponentOverride{}
	for name, text := range helm {
		if _, both := terraform[name]; both {
			return nil, exitcode.Usagef("--helm-values and --tf-vars both name %s: a component is a chart or a module", name)
		}
		all[name] = api.ComponentOverride{HelmValues: text}
	}
	for name, text := range terraform {
		all[name] = api.ComponentOverride{TFVars: text}
	}
	return all, nil
}

// overrideFiles reads the files of a flag; COMPONENT= is an empty text.
func overrideFiles(flag string, given []string) (map[string]string, error) {
	removed := map[string]string{}
	var named []string
	for _, one := range given {
		name, file, _ := strings.Cut(one, "=")
		if name != "" && file == "" && strings.HasSuffix(one, "=") {
			removed[name] = ""
		} else {
			named = append(named, one)
		}
	}
	files, err := keyvalue.Files(flag, named)
	for name, text := range files {
		if text == "" {
			return nil, exitcode.Usagef("%s %s: the file is empty; write %s= to remove the override", flag, name, name)
		}
		removed[name] = text
	}
	return removed, err
}

// overridesOf returns the overrides of an install file.
func overridesOf(f appconfig.Install) map[string]api.ComponentOverride {
	var all map[string]api.ComponentOverride
	for name, o := range f.Overrides {
		if all == nil {
			all = map[string]api.ComponentOverride{}
		}
		all[name] = api.ComponentOverride(o)
	}
	return all
}

// changedOverrides returns the change that gives an install the overrides of its file.
func changedOverrides(file, install map[string]api.ComponentOverride) map[string]api.ComponentOverride {
	all := map[string]api.ComponentOverride{}
	for name, o := range file {
		if install[name] != o {
			all[name] = o
		}
	}
	for name := range install {
		if _, has := file[name]; !has {
			all[name] = api.ComponentOverride{}
		}
	}
	return all
}

// overrideTexts returns the texts of an override that are set, by their key in an install file.
func overrideTexts(o api.ComponentOverride) map[string]string { return appconfig.Override(o).Keys() }

// overrideMoves returns the changes of overrides, one for each text.
func overrideMoves(was, change map[string]api.ComponentOverride) []FieldChange {
	var all []FieldChange
	for _, name := range slices.Sorted(maps.Keys(change)) {
		before, after := overrideTexts(was[name]), overrideTexts(change[name])
		both := maps.Clone(before)
		maps.Copy(both, after)
		for _, key := range slices.Sorted(maps.Keys(both)) {
			if before[key] != after[key] {
				all = append(all, FieldChange{key + " of " + name, quoted(before[key]), quoted(after[key])})
			}
		}
	}
	return all
}

// maxOverrideLines is the number of lines that are shown of one override.
const maxOverrideLines = 20

// overrideLines describes overrides for people, each with its text.
func overrideLines(all map[string]api.ComponentOverride) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		texts := overrideTexts(all[name])
		for _, key := range slices.Sorted(maps.Keys(texts)) {
			if lines == nil {
				lines = append(lines, "overrides")
			}
			lines = append(lines, "  "+key+" of "+name)
			text := strings.Split(strings.TrimRight(texts[key], "\n"), "\n")
			for i, line := range text {
				if i == maxOverrideLines {
					lines = append(lines, "    …  (-o json shows all)")
					break
				}
				lines = append(lines, "    "+line)
			}
		}
	}
	return lines
}
