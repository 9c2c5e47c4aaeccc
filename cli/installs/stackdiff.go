package installs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/diff/align"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// StackDiff is the difference of two versions of a stack.
type StackDiff struct {
	From    int           `json:"from"`
	To      int           `json:"to"`
	Changes []StackChange `json:"changes"`
}

// StackChange is a change of a part of a file: of a value in JSON, else of lines.
type StackChange struct {
	File string `json:"file"`
	Path string `json:"path,omitempty"` // of a value in JSON
	From string `json:"from,omitempty"` // empty if it was added
	To   string `json:"to,omitempty"`   // empty if it was removed
}

func newStackDiff(e *cmdenv.Env) *cobra.Command {
	var from, to int
	c := &cobra.Command{
		Use:   "diff INSTALL",
		Short: "Show what changed in an install's stack since the version that the customer runs",
		Long: `Shows what changed in an install's stack since the version that the customer runs, as far as it was stated with
"nuon installs stack set --stack-version". --from and --to compare other versions.`,
		Example:           "  nuon installs stack diff acme\n  nuon installs stack diff acme --from 1 --to 3 -o json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: complete.Args(e, complete.Installs),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			after, err := readStack(ctx, client, args[0], to)
			if err != nil {
				return err
			}
			if from == 0 {
				if from, err = strconv.Atoi(after.Status.Running); err != nil || from < 1 {
					return exitcode.Usagef("it is not known which version of the stack the customer runs; " +
						"name one with --from")
				}
			}
			before, err := readStack(ctx, client, args[0], from)
			if err != nil {
				return err
			}
			difference := StackDiff{From: before.Version, To: after.Version, Changes: stackChanges(before, after)}
			return e.Console.Result(difference, func(w io.Writer) error { return showStackDiff(w, difference) })
		}),
	}
	c.Flags().IntVar(&from, "from", 0, "number of the earlier version (default: the one that the customer runs)")
	c.Flags().IntVar(&to, "to", 0, "number of the later version (default: render the stack now)")
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if err := checkVersion(c, "from", from); err != nil {
			return err
		}
		return checkVersion(c, "to", to)
	}
	return c
}

// stackChanges returns the changes between two versions, by file.
func stackChanges(before, after api.Stack) []StackChange {
	content := func(s api.Stack) map[string]string {
		all := map[string]string{}
		for _, f := range s.Files {
			all[f.Name] = f.Content
		}
		return all
	}
	was, is := content(before), content(after)
	names := maps.Clone(was)
	maps.Copy(names, is)
	changes := []StackChange{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		for _, c := range fileChanges(was[name], is[name]) {
			c.File = name
			changes = append(changes, c)
		}
	}
	return changes
}

// fileChanges returns the changes of one file: of values if both texts are JSON, else of lines.
func fileChanges(was, is string) []StackChange {
	a, b := decodeJSON(was), decodeJSON(is)
	if a != nil && b != nil {
		return valueChanges("", a, b)
	}
	var changes []StackChange
	old, now := strings.SplitAfter(was, "\n"), strings.SplitAfter(is, "\n")
	for _, span := range align.Sequences(old, now) {
		if !span.Same {
			changes = append(changes, StackChange{From: strings.Join(old[span.A:span.AEnd], ""),
				To: strings.Join(now[span.B:span.BEnd], "")})
		}
	}
	return changes
}

func decodeJSON(text string) map[string]any {
	var object map[string]any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&object) != nil {
		return nil
	}
	return object
}

// valueChanges returns the changes between two JSON values, at the deepest objects that both have.
func valueChanges(path string, was, is any) []StackChange {
	a, both := was.(map[string]any)
	b, too := is.(map[string]any)
	if !both || !too {
		if reflect.DeepEqual(was, is) {
			return nil
		}
		return []StackChange{{Path: path, From: encodeJSON(was), To: encodeJSON(is)}}
	}
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	var changes []StackChange
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		changes = append(changes, valueChanges(strings.TrimPrefix(path+"."+key, "."), a[key], b[key])...)
	}
	return changes
}

// encodeJSON returns a value in one line; "" for none.
func encodeJSON(v any) string {
	if v == nil {
		return ""
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // it was decoded from JSON
	return strings.TrimSpace(out.String())
}

func showStackDiff(w io.Writer, d StackDiff) error {
	if len(d.Changes) == 0 {
		_, err := fmt.Fprintf(w, "versions %d and %d are the same\n", d.From, d.To)
		return err
	}
	lines := []string{fmt.Sprintf("from version %d to version %d:", d.From, d.To)}
	for _, c := range d.Changes {
		switch {
		case c.Path == "":
			lines = slices.Concat(lines, []string{c.File}, marked("-", c.From), marked("+", c.To))
		case c.From == "":
			lines = append(lines, "  + "+c.Path+"  "+Bounded(c.To))
		case c.To == "":
			lines = append(lines, "  - "+c.Path+"  "+Bounded(c.From))
		default:
			lines = append(lines, "  ~ "+c.Path+"  "+Bounded(c.From)+" → "+Bounded(c.To))
		}
	}
	for _, l := range lines {
		if _, err := fmt.Fprintln(w, strings.TrimRight(console.Line(l), " ")); err != nil {
			return err
		}
	}
	return nil
}

// marked returns the lines of a text, each after a mark.
func marked(mark, text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, "  "+mark+" "+strings.TrimSuffix(line, "\n"))
	}
	return lines
}
