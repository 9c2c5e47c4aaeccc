// Package contextcmd implements `nuon context`, which selects the control plane for other commands.
package contextcmd

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/secretinput"
)

// New returns the context command with its subcommands.
func New(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{
		Use: "context", Short: "Which control plane to talk to",
		Long: `A context is a control plane's address and a token for it, under a name. They are kept in a file of yours (NUON_CONFIG says where,
else the platform's place for configuration), and one is the current one. NUON_URL, NUON_TOKEN and NUON_CONTEXT go before it, and
--context before all but the first two.`,
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
		Use: "list", Aliases: []string{"ls"}, Short: "List the contexts", Args: cobra.NoArgs,
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
		Use: "show", Short: "Show which control plane the next command would talk to, and why that one",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := contexts.Choose(e.Context)
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
		Use: "use CONTEXT", Short: "Make a context the current one",
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
			e.Console.Say("now talking to %s", f.Contexts[args[0]].URL)
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
		return f, exitcode.Usagef("there is no context %q: `nuon context list` shows those there are", name)
	}
	return f, nil
}

func newAdd(e *cmdenv.Env) *cobra.Command {
	var address, from string
	c := &cobra.Command{
		Use:   "add NAME --url URL",
		Short: "Remember a control plane and its token, and make it the current one",
		Args:  cobra.ExactArgs(1), ValidArgsFunction: complete.Nothing,
		Example: `  nuon context add prod --url https://nuon.example            # asks for the token
  nuon context add prod --url https://nuon.example --token-from @token.txt`,
		RunE: func(c *cobra.Command, args []string) error {
			if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				return exitcode.Usagef("--url %s: give the control API's address, such as https://nuon.example", address)
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
			return e.Console.Result(shown{Name: args[0], URL: address, Current: true}, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "context %s added\n", args[0])
				return err
			})
		},
	}
	c.Flags().StringVar(&address, "url", "", "address of the control API")
	c.Flags().StringVar(&from, "token-from", "", "where the token is: env:NAME or @FILE (default: ask)")
	_ = c.MarkFlagRequired("url") // fails only for an undefined flag
	return c
}

func newRemove(e *cmdenv.Env) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "remove CONTEXT", Short: "Forget a context and its token",
		Args: cobra.ExactArgs(1), ValidArgsFunction: complete.Contexts,
		Long:    "Forgets a context. Its token stays good: `nuon tokens revoke` ends it.",
		Example: `  nuon context remove old --yes`,
		RunE: func(c *cobra.Command, args []string) error {
			f, err := known(args[0])
			if err != nil {
				return err
			}
			if err := e.Console.Confirm(c.Context(),
				fmt.Sprintf("this forgets context %s and its token", args[0]), yes); err != nil {
				return err
			}
			delete(f.Contexts, args[0])
			if f.Current == args[0] {
				f.Current = ""
			}
			if err := f.Save(); err != nil {
				return err
			}
			e.Console.Say("context %s forgotten", args[0])
			return nil
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "yes, forget it")
	return c
}
