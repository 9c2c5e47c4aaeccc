// Package schema implements `nuon schema`, which prints JSON Schemas of the app config
// format for editors. It contacts no server.
package schema

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/jsonschema"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

const long = `Print the JSON Schema of a kind of config file, with which editors complete, explain and check keys.
Without KIND, list the kinds.

--dir writes the schemas of all kinds into a directory, with a taplo.toml that maps files to schemas.
Copy it to .taplo.toml beside the app, where Taplo (the TOML support of most editors) finds it; or start
a file with #:schema and the path of its schema.`

// New returns the command.
func New(e *cmdenv.Env) *cobra.Command {
	dir := ""
	c := &cobra.Command{
		Use: "schema [KIND]", Short: "Print JSON Schemas of the app config format for editors", Long: long,
		Example: "  nuon schema helm\n  nuon schema --dir .schemas && cp .schemas/taplo.toml .taplo.toml",
		Args:    cobra.MaximumNArgs(1), ValidArgsFunction: Kinds,
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case dir != "" && len(args) > 0:
				return exitcode.Usagef("--dir writes the schemas of all kinds: remove %s", args[0])
			case dir != "":
				return writeAll(e, dir)
			case len(args) == 0:
				return list(e)
			}
			return printSchema(e, args[0])
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "directory to create and to write all schemas into, with a taplo.toml")
	return c
}

// Kinds completes the name of a kind of file.
func Kinds(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return complete.Nothing(nil, args, word)
	}
	var names []string
	for _, k := range format.Kinds() {
		if strings.HasPrefix(k.Name, word) {
			names = append(names, k.Name+"\t"+strings.Join(k.Paths, ", "))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func list(e *cmdenv.Env) error {
	var rows [][]string
	for _, k := range format.Kinds() {
		rows = append(rows, []string{k.Name, strings.Join(k.Paths, ", "), cmp.Or(k.Component, "-"), k.Description})
	}
	return e.Console.List(format.Kinds(), []string{"KIND", "FILES", "TYPE", "DESCRIPTION"}, rows)
}

// printSchema prints the schema of a kind, as JSON also for people.
func printSchema(e *cmdenv.Env, name string) error {
	kind, ok := format.FindKind(name)
	if !ok {
		var names []string
		for _, k := range format.Kinds() {
			names = append(append(names, k.Name), k.Aliases...)
		}
		near, found := diagnostic.Nearest(name, names)
		if !found {
			return exitcode.Usagef("unknown kind of file %q; list them with `nuon schema`", name)
		}
		return exitcode.Usagef("unknown kind of file %q: did you mean %q? List them with `nuon schema`", name, near)
	}
	schema := jsonschema.ForKind(kind)
	return e.Console.Result(schema, func(w io.Writer) error { return encode(w, schema) })
}

func encode(w io.Writer, schema *jsonschema.Schema) error {
	to := json.NewEncoder(w)
	to.SetIndent("", "  ")
	to.SetEscapeHTML(false)
	return to.Encode(schema)
}

// files returns the names of the files that --dir writes, in order.
func files() []string {
	names := []string{taploFile}
	for _, k := range format.Kinds() {
		names = append(names, jsonschema.FileName(k))
	}
	slices.Sort(names)
	return names
}
