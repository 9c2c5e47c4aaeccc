package installs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/keyvalue"
	"github.com/nuon-toolkit/nuon/cli/listing"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

func newStack(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{Use: "stack", Short: "Render an install's stack, and show and set its outputs"}
	c.AddCommand(newStackRender(e), newStackVersions(e), newStackDiff(e), newStackLink(e), newStackSet(e), newStackGet(e),
		newStackHistory(e), newStackForget(e))
	return c
}

// stackSetting is the state of one run of `nuon installs stack set`.
type stackSetting struct {
	env      *cmdenv.Env
	file     string
	json     []string
	change   api.StackOutputsChange
	settling waitOptions
}

func newStackSet(e *cmdenv.Env) *cobra.Command {
	o := &stackSetting{env: e}
	c := &cobra.Command{
		Use:   "set INSTALL [NAME=VALUE]…",
		Short: "Set outputs of an install's stack by hand",
		Long: `Sets outputs of an install's stack by hand, which templates read as .nuon.install_stack.outputs.NAME.
Outputs that are not named stay. The result is a new version; only components whose templates read a changed
output are planned again.

NAME=VALUE sets a text. --set-json sets a value of any type. --file reads an object of names and values, or
what "terraform output -json" or "aws cloudformation describe-stacks" prints; - is the standard input. Outputs are stored and shown in plain text: a
value that looks like a secret, or that Terraform marks as sensitive, is refused.

What the stack itself reports never overwrites a value that was set by hand: "nuon installs stack get" shows
both, and --unset makes the reported value effective.`,
		Example: `  nuon installs stack set acme region=eu-west-1 vpc_id=vpc-0a1b2c3d
  nuon installs stack set acme --set-json 'private_subnets=["subnet-1","subnet-2"]' --dry-run
  nuon installs stack set acme --file outputs.json
  nuon installs stack set acme --unset vpc_id`,
		Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			return complete.Args(e, complete.Installs)(c, args, word)
		},
		RunE: e.Call(o.run),
	}
	c.Flags().StringVar(&o.file, "file", "", "`file` with a JSON object of outputs; - is the standard input")
	c.Flags().StringArrayVar(&o.json, "set-json", nil, "an output as JSON, `NAME=JSON` (repeatable)")
	c.Flags().StringArrayVar(&o.change.Unset, "unset", nil, "`name` of an output to remove (repeatable)")
	c.Flags().StringVar(&o.change.StackVersion, "stack-version", "", "`version` of the stack that has these outputs")
	c.Flags().BoolVar(&o.change.DryRun, "dry-run", false, "show what would change and the consequences, and exit")
	o.settling.flags(c)
	c.MarkFlagsMutuallyExclusive("dry-run", "wait")
	return c
}

func (o *stackSetting) run(ctx context.Context, client *apiclient.Client, args []string) error {
	set, err := o.read(args[1:])
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		o.change.Set = append(o.change.Set, set[name])
	}
	if len(o.change.Set)+len(o.change.Unset) == 0 && o.change.StackVersion == "" {
		return exitcode.Usagef("no output is named: use NAME=VALUE, --set-json, --file or --unset")
	}
	i, err := apiclient.Decode[api.Install](client.GetInstall(ctx, args[0]))
	if err != nil {
		return err
	}
	changed, err := apiclient.Decode[api.ChangedStackOutputs](client.SetStackOutputs(ctx, i.ID, o.change))
	if err != nil {
		return err
	}
	for _, w := range changed.Warnings {
		o.env.Console.Messagef("warning: %s", console.Line(w))
	}
	if !o.settling.wait {
		return o.env.Console.Result(changed, func(w io.Writer) error { return showChangedOutputs(w, i, changed) })
	}

	var text strings.Builder
	if err := showChangedOutputs(&text, i, changed); err != nil {
		return err
	}
	o.env.Console.Messagef("%s", strings.TrimSuffix(text.String(), "\n"))
	return o.settling.end(ctx, o.env.Console, client, i, func(i api.Install) error {
		return o.env.Console.Result(i, func(w io.Writer) error { return show(w, i) })
	})
}

// read reads the outputs of the command line; arguments and --set-json take precedence over the file.
func (o *stackSetting) read(args []string) (map[string]api.OutputValue, error) {
	all := map[string]api.OutputValue{}
	if o.file != "" {
		read, err := o.readFile()
		if err != nil {
			return nil, exitcode.With(exitcode.Usage, fmt.Errorf("--file %s: %w", o.file, err))
		}
		all = read
	}
	values, err := keyvalue.Pairs("--set-json", o.json)
	if err != nil {
		return nil, err
	}
	for name, value := range values {
		if !json.Valid([]byte(value)) {
			return nil, exitcode.Usagef("--set-json %s: the value is not JSON; set a text with %s=VALUE", name, name)
		}
		all[name] = api.OutputValue{Name: name, Value: json.RawMessage(value)}
	}
	texts, err := keyvalue.Pairs("output", args)
	if err != nil {
		return nil, err
	}
	for name, value := range texts {
		raw, _ := json.Marshal(value) // a string always encodes
		all[name] = api.OutputValue{Name: name, Value: raw}
	}
	return all, nil
}

// maxOutputsFile is the maximum size of a file of outputs, in bytes. The control plane stores less.
const maxOutputsFile = 4 << 20

func (o *stackSetting) readFile() (map[string]api.OutputValue, error) {
	from := o.env.Console.In
	if o.file != "-" {
		f, err := os.Open(o.file)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // only read
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxOutputsFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxOutputsFile {
		return nil, fmt.Errorf("it has more than %d MB", maxOutputsFile>>20)
	}
	return parseOutputs(text)
}

// parseOutputs reads a JSON object of outputs: names and values, or the format of `terraform output -json`.
func parseOutputs(text []byte) (map[string]api.OutputValue, error) {
	var object map[string]json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&object); err != nil || object == nil {
		return nil, errors.New(`it is not a JSON object, such as {"region": "eu-west-1"}`)
	}
	if decoder.More() {
		return nil, errors.New("it holds more than one JSON value")
	}
	if raw, is := object["Stacks"]; is && len(object) == 1 {
		return parseDescribedStacks(raw)
	}
	all, terraform := map[string]api.OutputValue{}, map[string]api.OutputValue{}
	for name, value := range object {
		all[name] = api.OutputValue{Name: name, Value: value}
		if output, is := terraformOutput(value); is {
			terraform[name] = api.OutputValue{Name: name, Value: output.Value, Sensitive: output.Sensitive}
		}
	}
	if len(terraform) == len(all) {
		return terraform, nil
	}
	return all, nil
}

// outputOfTerraform is one output as Terraform prints it.
type outputOfTerraform struct {
	Sensitive bool            `json:"sensitive"`
	Type      json.RawMessage `json:"type"`
	Value     json.RawMessage `json:"value"`
}

func terraformOutput(raw json.RawMessage) (o outputOfTerraform, is bool) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	return o, decoder.Decode(&o) == nil && o.Type != nil && o.Value != nil
}

// showChangedOutputs prints a change of stack outputs for people.
func showChangedOutputs(w io.Writer, i api.Install, c api.ChangedStackOutputs) error {
	if len(c.Changes) == 0 && !c.DryRun {
		_, err := fmt.Fprintf(w, "%s/%s: all values are set already (version %d)\n", i.App, i.Name, c.Outputs.Version)
		return err
	}
	p := Preview{Install: i.Name, App: i.App, Components: c.Components}
	for _, m := range c.Changes {
		p.Changes = append(p.Changes,
			FieldChange{Field: "stack output " + m.Name, From: outputValue(m.From), To: outputValue(m.To)})
	}
	if c.DryRun {
		return showPreview(w, p)
	}
	var text strings.Builder
	if err := showPreview(&text, p); err != nil {
		return err
	}
	_, rest, _ := strings.Cut(text.String(), "\n")
	_, err := fmt.Fprintf(w, "%s/%s has version %d of its stack outputs:\n%s", i.App, i.Name, c.Outputs.Version, rest)
	return err
}

// outputValue returns a value for people; an absent one is not set.
func outputValue(raw json.RawMessage) string {
	if raw == nil {
		return "(not set)"
	}
	return Bounded(string(raw))
}

func newStackGet(e *cmdenv.Env) *cobra.Command {
	var p api.GetStackOutputsParams
	c := &cobra.Command{
		Use:   "get INSTALL",
		Short: "Show the outputs of an install's stack, and which are missing",
		Long: `Shows the outputs of an install's stack, who set each of them, and the outputs that templates read and that are not set.

With --version it shows an earlier version. "nuon installs stack history" lists the versions.`,
		Example:           "  nuon installs stack get acme\n  nuon installs stack get acme --version 2 -o json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: complete.Args(e, complete.Installs),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			outputs, err := apiclient.Decode[api.StackOutputs](client.GetStackOutputs(ctx, args[0], &p))
			if err != nil {
				return err
			}
			return e.Console.Result(outputs, func(w io.Writer) error { return showStackOutputs(w, args[0], outputs) })
		}),
	}
	c.Flags().IntVar(&p.Version, "version", 0, "number of an earlier version (default: the newest)")
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if c.Flags().Changed("version") && p.Version < 1 {
			return exitcode.Usagef("--version %d: versions are numbered from 1", p.Version)
		}
		return nil
	}
	return c
}

func showStackOutputs(w io.Writer, install string, s api.StackOutputs) error {
	title := "no stack output is set"
	if s.Version > 0 {
		title = fmt.Sprintf("version %d, set by %s at %s", s.Version, s.Actor, s.CreatedAt.Local().Format(time.DateTime))
		if s.Source == api.StackSourcePhoneHome {
			title = fmt.Sprintf("version %d, reported by the stack at %s", s.Version, s.CreatedAt.Local().Format(time.DateTime))
		}
		if s.StackVersion != "" {
			title += ", of stack version " + s.StackVersion
		}
	}
	lines := append(append([]string{title}, phoneHomeLines(s)...), stackLines(s)...)
	if len(s.Missing) > 0 {
		lines = append(lines, "Set an output with: nuon installs stack set "+install+" NAME=VALUE")
	}
	for _, l := range lines {
		if _, err := fmt.Fprintln(w, strings.TrimRight(console.Line(l), " ")); err != nil {
			return err
		}
	}
	return nil
}

// stackLines returns a line for each stack output, and for each that is missing.
func stackLines(s api.StackOutputs) []string {
	var lines []string
	for _, o := range s.Outputs {
		line := fmt.Sprintf("  %-18s %s", o.Name, Bounded(string(o.Value)))
		if o.Reported != nil {
			line += "  (set by hand; the stack reports " + Bounded(string(o.Reported)) + ")"
		}
		lines = append(lines, line)
	}
	for _, m := range s.Missing {
		lines = append(lines, fmt.Sprintf("  %-18s (not set; read by %s)", m.Name, strings.Join(m.Readers, ", ")))
	}
	return lines
}

func newStackHistory(e *cmdenv.Env) *cobra.Command {
	l := &listing.List[api.StackOutputVersion]{
		Header: []string{"VERSION", "AT", "SOURCE", "STACK VERSION", "BY", "CHANGED"}, Limit: 20,
		Row: func(v api.StackOutputVersion) []string {
			return []string{strconv.Itoa(v.Version), v.CreatedAt.Local().Format(time.DateTime), string(v.Source),
				cmp.Or(v.StackVersion, "-"), v.Actor, strings.Join(v.Changed, ", ")}
		},
		Page: func(ctx context.Context, client *apiclient.Client,
			at listing.Page) ([]api.StackOutputVersion, string, error) {
			l, err := apiclient.Decode[api.StackOutputVersionList](client.ListStackOutputVersions(ctx, at.Args[0],
				&api.ListStackOutputVersionsParams{Cursor: at.Cursor, Limit: at.Limit}))
			return l.Items, l.Next, err
		},
	}
	return l.Command(e, &cobra.Command{
		Use:               "history INSTALL",
		Short:             "List the versions of the outputs of an install's stack, the newest first",
		Args:              cobra.ExactArgs(1),
		Example:           "  nuon installs stack history acme --limit 5",
		ValidArgsFunction: complete.Args(e, complete.Installs),
	})
}
