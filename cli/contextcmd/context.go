// Package contextcmd implements `nuon context`, which selects the control plane for other commands.
package contextcmd

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/secretinput"
	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

// New returns the context command with its subcommands.
func New(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{
		Use: "context", Short: "Manage the control planes that this machine uses",
		Long: `Manage the control planes that this machine uses.

A context is a name for the address of a control plane and a token. Contexts are stored in one file
(NUON_CONFIG, or nuon/config.toml in the user's configuration directory), and one of them is the
current one. --context and NUON_CONTEXT select another; NUON_URL and NUON_TOKEN override the
selected context.`,
	}
	c.AddCommand(newList(e), newShow(e), newUse(e), newAdd(e), newRemove(e))
	return c
}

// shown is a context without its token, for output.
type shown struct {
	Name    string `json:"name"`
	URL     string `json:"url"`
	Org     string `json:"org"`
	Current bool   `json:"current"`
}

func newList(e *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List contexts", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			f, err := contexts.Load()
			if err != nil {
				return err
			}
			all, rows := []shown{}, [][]string{}
			for _, name := range slices.Sorted(maps.Keys(f.Contexts)) {
				s := shown{Name: name, URL: f.Contexts[name].URL, Org: f.Contexts[name].Org, Current: name == f.Current}
				mark := ""
				if s.Current {
					mark = "*"
				}
				all, rows = append(all, s), append(rows, []string{s.Name, s.URL, s.Org, mark})
			}
			return e.Console.List(all, []string{"NAME", "URL", "ORG", "CURRENT"}, rows)
		},
	}
}

// chosen is the context that the next command would use, for output.
type chosen struct {
	Name string `json:"name,omitempty"`
	URL  string `json:"url"`
	Org  string `json:"org,omitempty"`
	From string `json:"from"` // what selected it
	File string `json:"file"`
}

func newShow(e *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Show which control plane is used, and why",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := contexts.SelectWithSource(e.Context)
			if err != nil {
				return err
			}
			file, err := contexts.Path()
			if err != nil {
				return err
			}
			s := chosen{Name: c.Name, URL: c.URL, Org: c.Org, From: c.From, File: file}
			return e.Console.Result(s, func(w io.Writer) error {
				_, err := fmt.Fprintf(w,
					"%s\n  address  %s\n  org      %s\n  from     %s\n  file     %s\n",
					cmp.Or(s.Name, "no context"), s.URL, cmp.Or(s.Org, "-"), s.From, file)
				return err
			})
		},
	}
}

func newUse(e *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use: "use CONTEXT", Short: "Select the current context",
		Args: cobra.ExactArgs(1), ValidArgsFunction: complete.Contexts,
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := known(args[0])
			if err != nil {
				return err
			}
			f.Current = args[0]
			if err := f.Save(); err != nil {
				return err
			}
			e.Console.Messagef("switched to context %s", f.Contexts[args[0]].URL)
			warnOfPlaintext(e.Console, f.Contexts[args[0]].URL)
			return nil
		},
	}
}

// known loads the contexts and returns an error if name is not one of them.
func known(name string) (contexts.File, error) {
	f, err := contexts.Load()
	if err != nil {
		return f, err
	}
	if _, ok := f.Contexts[name]; !ok {
		return f, exitcode.Usagef("context %q not found; list them with `nuon context list`", name)
	}
	return f, nil
}

func newAdd(e *cmdenv.Env) *cobra.Command {
	var address, from string
	c := &cobra.Command{
		Use:   "add NAME --url URL",
		Short: "Add a context for a control plane and switch to it",
		Args:  cobra.ExactArgs(1), ValidArgsFunction: complete.Nothing,
		Example: `  nuon context add prod --url https://nuon.example            # asks for the token
  nuon context add prod --url https://nuon.example --token-from @token.txt`,
		RunE: func(c *cobra.Command, args []string) error {
			if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				return exitcode.Usagef("--url %s: use the address of the control API, such as "+
					"https://nuon.example", address)
			}
			token, err := secretinput.Read(c.Context(), e.Console, "token", from)
			if err != nil {
				return err
			}
			f, err := contexts.Load()
			if err != nil {
				return err
			}
			f.Contexts[args[0]] = contexts.Context{URL: address, Token: string(token.Reveal())}
			f.Current = args[0]
			if err := f.Save(); err != nil {
				return err
			}
			warnOfPlaintext(e.Console, address)
			return e.Console.Result(shown{Name: args[0], URL: address, Current: true}, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "added context %s\n", args[0])
				return err
			})
		},
	}
	c.Flags().StringVar(&address, "url", "", "address of the control API")
	c.Flags().StringVar(&from, "token-from", "", "source of the token: env:NAME or @FILE (default: prompt for it)")
	_ = c.MarkFlagRequired("url") // fails only for an undefined flag
	return c
}

// warnOfPlaintext prints a warning if others can read the traffic with a control plane.
func warnOfPlaintext(c *console.Console, address string) {
	if netguard.IsPlaintext(address) {
		c.Messagef("warning: the connection to %s is not encrypted, so the token can be read in transit; use https", address)
	}
}

func newRemove(e *cmdenv.Env) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "remove CONTEXT", Short: "Remove a context and its token from this machine",
		Args: cobra.ExactArgs(1), ValidArgsFunction: complete.Contexts,
		Long: `Remove a context and its token from this machine. The token stays valid; revoke it with
"nuon tokens revoke".`,
		Example: `  nuon context remove old --yes`,
		RunE: func(c *cobra.Command, args []string) error {
			f, err := known(args[0])
			if err != nil {
				return err
			}
			if err := e.Console.Confirm(c.Context(),
				fmt.Sprintf("this removes context %s and its token from this machine", args[0]), yes); err != nil {
				return err
			}
			_ = os.Remove(f.Contexts[args[0]].CacheFile()) // it may not exist
			delete(f.Contexts, args[0])
			if f.Current == args[0] {
				f.Current = ""
			}
			if err := f.Save(); err != nil {
				return err
			}
			e.Console.Messagef("removed context %s", args[0])
			return nil
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "skip the confirmation prompt")
	return c
}
