// Package context is `nuon context`: which control plane the other commands talk to.
package context

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/cli/vault"
)

// New is the command with its verbs.
func New(e *env.Env) *cobra.Command {
	c := &cobra.Command{Use: "context", Short: "Which control plane to talk to"}
	c.AddCommand(newList(e), newUse(e), newAdd(e))
	return c
}

// shown is a context without its token.
type shown struct {
	Name    string `json:"name"`
	URL     string `json:"url"`
	Org     string `json:"org"`
	Current bool   `json:"current"`
}

func newList(e *env.Env) *cobra.Command {
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

func newUse(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "use NAME", Short: "Make a context the current one", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := contexts.Load()
			if err != nil {
				return err
			}
			if _, ok := f.Contexts[args[0]]; !ok {
				return exit.Usagef("there is no context %q: `nuon context list` shows those there are", args[0])
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

func newAdd(e *env.Env) *cobra.Command {
	var url, from string
	c := &cobra.Command{
		Use: "add NAME --url URL", Short: "Remember a control plane and its token, and make it the current one", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			token, err := vault.Read(e.Console, "token", from)
			if err != nil {
				return err
			}
			f, err := contexts.Load()
			if err != nil {
				return err
			}
			f.Contexts[args[0]] = contexts.Context{URL: url, Token: string(token.Reveal())}
			f.Current = args[0]
			if err := f.Save(); err != nil {
				return err
			}
			return e.Console.Result(shown{Name: args[0], URL: url, Current: true}, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "context %s added\n", args[0])
				return err
			})
		},
	}
	c.Flags().StringVar(&url, "url", "", "address of the control API")
	c.Flags().StringVar(&from, "token-from", "", "where the token is: env:NAME or @FILE (default: ask)")
	_ = c.MarkFlagRequired("url") // fails only for a flag that is not there
	return c
}
