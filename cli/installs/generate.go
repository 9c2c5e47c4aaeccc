package installs

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
)

// installFile is the content of an installs/*.toml file, with the keys of the format.
type installFile struct {
	Name           string            `json:"name"`
	ApprovalOption string            `json:"approval_option"`
	AllowDestroy   bool              `json:"allow_destroy,omitempty"`
	AWS            map[string]string `json:"aws_account,omitempty"`
	Azure          map[string]string `json:"azure_account,omitempty"`
	GCP            map[string]string `json:"gcp_account,omitempty"`
	Inputs         map[string]string `json:"inputs,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	Toggles        map[string]bool   `json:"component_toggles,omitempty"`

	Overrides map[string]api.ComponentOverride `json:"components,omitempty"`
}

func newGenerateConfig(e *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "generate-config INSTALL",
		Short: "Print the installs/*.toml file of an install",
		Args:  cobra.ExactArgs(1),
		Long: `Print the installs/*.toml file that describes an install in its current state, so that a sync of the
file changes nothing. Sensitive inputs are not included.`,
		Example:           "  nuon installs generate-config acme > installs/acme.toml",
		ValidArgsFunction: complete.Args(e, complete.Installs),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			i, err := apiclient.Decode[api.Install](client.GetInstall(ctx, args[0]))
			if err != nil {
				return err
			}
			config, err := appConfig(ctx, client, i.App, 0)
			if err != nil {
				return err
			}
			f := fileOf(i, config)
			return e.Console.Result(f, func(w io.Writer) error {
				_, err := io.WriteString(w, f.encode(i.App, sensitive(config)))
				return err
			})
		}),
	}
}

// fileOf returns the file for an install. It leaves out what the app no longer
// declares, because a file that names it would be invalid.
func fileOf(i api.Install, config api.AppConfig) installFile {
	f := installFile{
		Name: i.Name, ApprovalOption: string(i.Approval), AllowDestroy: i.AllowDestroy, Labels: i.Labels,
		AWS: i.Account["aws_account"], Azure: i.Account["azure_account"], GCP: i.Account["gcp_account"],
		Inputs: map[string]string{}, Toggles: map[string]bool{}, Overrides: map[string]api.ComponentOverride{},
	}
	for _, in := range i.Inputs {
		known := slices.ContainsFunc(config.Inputs, func(d api.DeclaredInput) bool {
			return d.Name == in.Name && !d.Sensitive
		})
		if known && !in.Sensitive {
			f.Inputs[in.Name] = in.Value
		}
	}
	for name, on := range i.Toggles {
		if slices.ContainsFunc(config.Components,
			func(c api.DeclaredComponent) bool { return c.Name == name && c.Toggleable }) {
			f.Toggles[name] = on
		}
	}
	for name, o := range i.Overrides {
		if slices.ContainsFunc(config.Components,
			func(c api.DeclaredComponent) bool { return c.Name == name }) {
			f.Overrides[name] = o
		}
	}
	return f
}

// sensitive returns the names of the sensitive inputs, which no file contains.
func sensitive(config api.AppConfig) []string {
	var names []string
	for _, in := range config.Inputs {
		if in.Sensitive {
			names = append(names, in.Name)
		}
	}
	return names
}

// encode returns the text of the file of an app, with a comment on the inputs that it leaves out.
func (f installFile) encode(app string, secrets []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name            = %s\napproval_option = %s\n",
		appconfig.Quote(f.Name), appconfig.Quote(f.ApprovalOption))
	if f.AllowDestroy {
		b.WriteString("allow_destroy   = true\n")
	}
	table(&b, "aws_account", f.AWS, appconfig.Quote)
	table(&b, "azure_account", f.Azure, appconfig.Quote)
	table(&b, "gcp_account", f.GCP, appconfig.Quote)
	table(&b, "inputs", f.Inputs, appconfig.Quote)
	table(&b, "labels", f.Labels, appconfig.Quote)
	table(&b, "component_toggles", f.Toggles, strconv.FormatBool)
	for _, name := range slices.Sorted(maps.Keys(f.Overrides)) {
		table(&b, "components."+key(name), overrideTexts(f.Overrides[name]), quoteLines)
	}
	if len(secrets) > 0 {
		fmt.Fprintf(&b, "\n# Sensitive inputs are not in this file: set them with `nuon installs update %s --secret "+
			"NAME` (%s).\n", address(app, f.Name), strings.Join(secrets, ", "))
	}
	return b.String()
}

// quoteLines returns a text as a TOML string, on several lines if it has several.
func quoteLines(text string) string {
	if quoted := appconfig.Quote(text); !strings.Contains(text, "\n") || strings.Contains(text, "'''") ||
		strings.HasSuffix(text, "'") ||
		strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }) {
		return quoted
	}
	return "'''\n" + text + "'''"
}

// table writes a TOML table with its keys sorted and aligned, or nothing if it has no keys.
func table[V any](b *strings.Builder, name string, values map[string]V, text func(V) string) {
	if len(values) == 0 {
		return
	}
	width := 0
	for k := range values {
		width = max(width, len(key(k)))
	}
	fmt.Fprintf(b, "\n[%s]\n", name)
	for _, k := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(b, "%-*s = %s\n", width, key(k), text(values[k]))
	}
}

func key(k string) string {
	if syntax.IsBareKey(k) {
		return k
	}
	return appconfig.Quote(k)
}
