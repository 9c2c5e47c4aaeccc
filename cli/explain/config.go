package explain

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

const configLong = `Explain a key of an app's config: its meaning, its values and how to write it. No control plane is
needed.

KEY is a kind of file (sandbox), a key of one (helm.values_file.contents), a key of all kinds of
component (component.dependencies), or a key alone (cron_schedule), which is searched in all kinds.
Without a key, the kinds are listed.`

// newConfig returns the command `nuon explain config`.
func newConfig(e *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use: "config [KEY]", Short: "Explain a key of an app's config", Long: configLong,
		Example: "  nuon explain config helm.values_file.contents\n  nuon explain config triggers.type\n  nuon explain " +
			"config sandbox",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: configKeys,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listKinds(e)
			}
			found := lookUp(args[0])
			if found.empty() {
				return unknown(args[0])
			}
			return e.Console.Result(found, func(w io.Writer) error {
				p := &page{console: e.Console, w: w}
				p.found(found)
				return p.err
			})
		},
	}
}

func listKinds(e *cmdenv.Env) error {
	var rows [][]string
	for _, k := range format.Kinds() {
		rows = append(rows, []string{k.Name, strings.Join(k.Paths, ", "), k.Description})
	}
	return e.Console.List(format.Kinds(), []string{"KIND", "FILES", "DESCRIPTION"}, rows)
}

// unknown returns the error for a name that does not exist, with the nearest one that does.
func unknown(query string) error {
	if near, ok := diagnostic.Nearest(query, configNames()); ok {
		return exitcode.Usagef("unknown key %q: did you mean %q?", query, near)
	}
	return exitcode.Usagef("unknown key %q; list the kinds of file with `nuon explain config`", query)
}

// configNames returns all names of the format: kinds, keys with their kind, and keys alone.
func configNames() []string {
	var names []string
	for _, k := range format.Kinds() {
		names = append(names, k.Name)
		if k.Name == singleFile {
			continue
		}
		walk(k.Keys(), func(key format.Key) {
			names = append(names, k.Name+"."+key.Path, key.Path, key.Name)
		})
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// configKeys completes kinds, and after a dot the keys of a kind.
func configKeys(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, k := range format.Kinds() {
		if strings.HasPrefix(k.Name, word) {
			names = append(names, k.Name+"\t"+strings.Join(k.Paths, ", "))
		}
		if !strings.HasPrefix(word, k.Name+".") {
			continue
		}
		walk(k.Keys(), func(key format.Key) {
			if name := k.Name + "." + key.Path; strings.HasPrefix(name, word) && !key.Unsupported && !key.Removed {
				names = append(names, name+"\t"+key.Description)
			}
		})
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// walk visits keys and their descendants.
func walk(keys []format.Key, visit func(format.Key)) {
	for _, k := range keys {
		visit(k)
		walk(k.Keys, visit)
	}
}
