// Package complete gives a shell the names that a command takes, from the control plane. It never makes a shell wait or complain:
// after a second, and whatever goes wrong, there are just no names. Every command that takes a name uses it.
package complete

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/remote"
)

// patience is how long a shell that completes may be held up.
const patience = time.Second

// Name is what can be typed at a place, and a few words about it.
type Name struct{ Name, About string }

// Source gives the names for one place. Args are the command's arguments before it.
type Source func(ctx context.Context, client *remote.Client, args []string) ([]Name, error)

// Args completes a command's arguments: the first from the first source and so on, and none after the last.
func Args(e *env.Env, places ...Source) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(places) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(c.Context(), e, places[len(args)], args, word, nil)
	}
}

// Rest is Args for a command that takes any number of what the last source gives; what is there already is not offered again.
func Rest(e *env.Env, places ...Source) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		last := len(places) - 1
		if len(args) < last {
			return names(c.Context(), e, places[len(args)], args, word, nil)
		}
		return names(c.Context(), e, places[last], args, word, args[last:])
	}
}

// Flag completes the value of a command's flag.
func Flag(e *env.Env, c *cobra.Command, flag string, source Source) {
	// It fails only for a flag that is not there.
	_ = c.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		return names(c.Context(), e, source, args, word, nil)
	})
}

// FlagWords completes the value of a flag that is one of a few words.
func FlagWords(c *cobra.Command, flag string, words ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // as above
}

// Nothing is for a command whose arguments are new names: there is nothing to complete, and a file is no help either.
func Nothing(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// Contexts completes the name of a context, which is in a file of this machine: a command's one argument, or a flag.
func Contexts(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	f, err := contexts.Load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []Name
	for _, name := range slices.Sorted(maps.Keys(f.Contexts)) {
		found = append(found, Name{name, f.Contexts[name].URL})
	}
	return fitting(found, word, nil), cobra.ShellCompDirectiveNoFileComp
}

// names asks the source.
func names(ctx context.Context, e *env.Env, source Source, args []string, word string, but []string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client, err := e.Client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	found, err := source(ctx, client, args)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return fitting(found, word, but), cobra.ShellCompDirectiveNoFileComp
}

// fitting are the names that begin with word, as a shell gets them. A name that a line cannot show as it is, is left out.
func fitting(found []Name, word string, but []string) []string {
	var out []string
	for _, n := range found {
		if n.Name == "" || console.Line(n.Name) != n.Name || !strings.HasPrefix(n.Name, word) || slices.Contains(but, n.Name) {
			continue
		}
		if n.About != "" {
			n.Name = cobra.CompletionWithDesc(n.Name, console.Line(n.About))
		}
		out = append(out, n.Name)
	}
	return out
}
