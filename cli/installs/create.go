package installs

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/cli/runners"
	"github.com/nuon-toolkit/nuon/cli/vault"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// values are inputs as they are given on the command line.
type values struct {
	plain   []string // NAME=VALUE
	secrets []string // NAME, NAME=env:VAR or NAME=@FILE
}

func (v *values) flags(c *cobra.Command) {
	c.Flags().StringArrayVar(&v.plain, "input", nil, "value of an input, NAME=VALUE (repeatable)")
	c.Flags().StringArrayVar(&v.secrets, "secret", nil, "value of a sensitive input: NAME asks for it, NAME=env:VAR and NAME=@FILE read it (repeatable)")
}

// read gives the inputs; the sensitive ones sealed to the install's key (or, install empty, to the control plane's).
func (v *values) read(ctx context.Context, e *env.Env, client *remote.Client, install string, more map[string]string) ([]api.InputValue, error) {
	plain, err := splitPairs("--input", v.plain)
	if err != nil {
		return nil, err
	}
	for name, value := range more {
		if _, given := plain[name]; !given {
			plain[name] = value
		}
	}
	var out []api.InputValue
	for _, name := range slices.Sorted(maps.Keys(plain)) {
		out = append(out, api.InputValue{Name: name, Value: plain[name]})
	}
	for _, s := range v.secrets {
		name, from, _ := strings.Cut(s, "=")
		secret, err := vault.Read(e.Console, name, from)
		if err != nil {
			return nil, err
		}
		sealed, err := vault.Seal(ctx, client, install, secret)
		if err != nil {
			return nil, err
		}
		out = append(out, api.InputValue{Name: name, Sensitive: true, Sealed: sealed})
	}
	return out, nil
}

func newCreate(e *env.Env) *cobra.Command {
	var n api.NewInstall
	var file, approval string
	var v values
	c := &cobra.Command{
		Use: "create [NAME] --app APP", Short: "Make an install and provision it", Args: cobra.MaximumNArgs(1),
		Example: `  nuon installs create acme --app hello --input greeting=hi --secret api_token=env:TOKEN
  nuon installs create --app hello --file installs/acme.toml`,
		RunE: func(c *cobra.Command, args []string) error {
			n.Approval = api.NewInstallApproval(approval)
			fromFile, err := readFile(e.Console, file, &n)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				n.Name = args[0]
			}
			if n.Name == "" {
				return exit.Usagef("name the install, or give --file")
			}
			return create(c.Context(), e, n, v, fromFile)
		},
	}
	c.Flags().StringVar(&n.App, "app", "", "app to install")
	c.Flags().StringVar(&file, "file", "", "an installs/*.toml file of the app")
	c.Flags().StringVar(&n.Runner, "runner", "", "runner that works for it (default: the shared one, else a new one)")
	c.Flags().StringVar(&approval, "approval", "", "prompt (the default) or approve-all")
	c.Flags().BoolVar(&n.AllowDestroy, "allow-destroy", false, "with approve-all: let through what deletes or replaces, too")
	v.flags(c)
	_ = c.MarkFlagRequired("app") // fails only for a flag that is not there
	return c
}

// readFile reads an install file as part of the app that it belongs to, so that every rule of the format is checked. What the
// format warns of in the file is said: an input that is sensitive is not read from it.
func readFile(c *console.Console, file string, n *api.NewInstall) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	var named struct{ Name string }
	if err := toml.Unmarshal(b, &named); err != nil {
		return nil, exit.BadTOML(file, err)
	}
	full, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	if filepath.Base(filepath.Dir(full)) != "installs" { // another file may have the name of one that is
		return nil, exit.Usagef("%s is not in the installs directory of an app: put it there, so that it is checked with the app", file)
	}
	dir := filepath.Dir(filepath.Dir(full))
	app, diagnostics := appconfig.Load(os.DirFS(dir), appconfig.Options{})
	if err := diagnostics.Err(); err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	for _, d := range diagnostics {
		if d.File == path.Join("installs", filepath.Base(full)) {
			c.Say("%s", console.Line(d.String()))
		}
	}
	for _, i := range app.Installs {
		if i.Name != named.Name {
			continue
		}
		n.Name, n.AllowDestroy = i.Name, n.AllowDestroy || i.AllowDestroy
		if n.Approval == "" {
			n.Approval = api.NewInstallApproval(i.ApprovalOption)
		}
		return i.Inputs, nil
	}
	return nil, exit.Usagef("%s is no install of the app in %s", file, dir)
}

func create(ctx context.Context, e *env.Env, n api.NewInstall, v values, fromFile map[string]string) error {
	client, err := e.Client()
	if err != nil {
		return err
	}
	if n.Inputs, err = v.read(ctx, e, client, "", fromFile); err != nil {
		return err
	}
	made, err := remote.Get[api.CreatedInstall](client.CreateInstall(ctx, &api.CreateInstallParams{}, n))
	if err != nil {
		return err
	}
	return e.Console.Result(made, func(w io.Writer) error {
		if _, err := fmt.Fprintf(w, "install %s/%s made (%s)\n", made.Install.App, made.Install.Name, made.Install.ID); err != nil {
			return err
		}
		if made.Runner.RegistrationToken == "" {
			return nil
		}
		return runners.HowToStart(w, made.Runner)
	})
}

func newUpdate(e *env.Env) *cobra.Command {
	var change api.InstallChange
	var approval string
	var destroy bool
	var v values
	c := &cobra.Command{
		Use: "update INSTALL", Short: "Change inputs or the approval rule; what reads a changed input is planned again", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := e.Client()
			if err != nil {
				return err
			}
			if change.Inputs, err = v.read(c.Context(), e, client, args[0], nil); err != nil {
				return err
			}
			change.Approval = api.InstallChangeApproval(approval)
			if c.Flags().Changed("allow-destroy") {
				change.AllowDestroy = &destroy
			}
			i, err := remote.Get[api.Install](client.UpdateInstall(c.Context(), args[0], change))
			if err != nil {
				return err
			}
			return e.Console.Result(i, func(w io.Writer) error { return show(w, i) })
		},
	}
	c.Flags().StringVar(&approval, "approval", "", "prompt or approve-all")
	c.Flags().BoolVar(&destroy, "allow-destroy", false, "with approve-all: let through what deletes or replaces, too")
	v.flags(c)
	return c
}
