// Package complete provides shell completion with names from the control plane.
// It never delays a shell by more than a second and never prints an error: if
// anything fails, there are no completions. Commands that take a name use it.
package complete

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/contexts"
)

// timeout is the timeout of a completion.
const timeout = time.Second

// Name is a completion with a short description.
type Name struct{ Name, About string }

// Source returns the names for one argument. args are the arguments before it.
type Source func(ctx context.Context, client *apiclient.Client, args []string) ([]Name, error)

// Args completes each argument from its source, and none after the last source.
func Args(e *cmdenv.Env, places ...Source) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(places) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(c.Context(), e, places[len(args)], args, word, nil)
	}
}

// Rest is Args for a command that takes any number of names from the last source. It does
// not repeat given names.
func Rest(e *cmdenv.Env, places ...Source) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		last := len(places) - 1
		if len(args) < last {
			return names(c.Context(), e, places[len(args)], args, word, nil)
		}
		return names(c.Context(), e, places[last], args, word, args[last:])
	}
}

// Flag completes the value of a flag.
func Flag(e *cmdenv.Env, c *cobra.Command, flag string, source Source) {
	// This fails only for an undefined flag.
	_ = c.RegisterFlagCompletionFunc(flag,
		func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			return names(c.Context(), e, source, args, word, nil)
		})
}

// FlagWords completes the value of a flag that takes one of a few words.
func FlagWords(c *cobra.Command, flag string, words ...string) {
	_ = c.RegisterFlagCompletionFunc(flag,
		cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // as above
}

// Nothing is for a command whose arguments are new names: it disables completion,
// including that of file names.
func Nothing(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// Contexts completes the name of a context from the local config file, for an argument or a flag.
func Contexts(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	f, err := contexts.Load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []Name
	for _, name := range slices.Sorted(maps.Keys(f.Contexts)) {
		found = append(found, Name{name, f.Contexts[name].URL})
	}
	return completions(found, word, nil), cobra.ShellCompDirectiveNoFileComp
}

// names returns the matching names of a source, without those in but.
func names(ctx context.Context, e *cmdenv.Env, source Source, args []string, word string,
	but []string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	client, err := e.Client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	found, err := source(ctx, client, args)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completions(found, word, but), cobra.ShellCompDirectiveNoFileComp
}

// completions returns the names that start with word, in the format of shell completion. It
// omits names that a shell would split, expand or run, because bash and fish insert some
// completions unquoted, and names that would be flags. It returns each name once: bash inserts
// what equal names have in common, with their descriptions.
func completions(found []Name, word string, but []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, n := range found {
		if seen[n.Name] || console.ShellWord(n.Name) != n.Name || strings.HasPrefix(n.Name, "-") ||
			!strings.HasPrefix(n.Name, word) || slices.Contains(but, n.Name) {
			continue
		}
		seen[n.Name] = true
		if n.About != "" {
			n.Name = cobra.CompletionWithDesc(n.Name, console.Line(n.About))
		}
		out = append(out, n.Name)
	}
	return out
}
