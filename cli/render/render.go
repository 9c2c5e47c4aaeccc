// Package render implements `nuon render`, which prints the values of a component or an action
// as a deploy or a run on an install would get them now. The control plane renders them.
package render

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

const long = `Print every templated text of a component, or of an action's steps, rendered as a deploy or run on an
install would now: with the config of the install's desired release, its inputs, and the outputs that
exist.

Values that are secret or not known yet have placeholders:
  ‹sensitive›                       a sensitive input or output
  ‹contains a sensitive value›      a text that is computed from a sensitive value
  ‹known after NAME is deployed›    an output of a component that is not deployed yet

--key prints only the text with this key, without its name. The exit code is 1 if a text cannot be
rendered, so that a deploy would fail.`

const examples = `  nuon render web --install acme
  nuon render web --install acme --key vars.cidr
  nuon render --action smoke_test --install acme -o json`

// New returns the command.
func New(e *cmdenv.Env) *cobra.Command {
	var install, key, action string
	c := &cobra.Command{
		Use:     "render COMPONENT --install INSTALL",
		Short:   "Render the templates of a component for an install",
		Long:    long,
		Example: examples,
		Args: func(_ *cobra.Command, args []string) error {
			if (len(args) == 1) == (action != "") || len(args) > 1 {
				return exitcode.Usagef("name one component, or an action with --action")
			}
			return nil
		},
	}
	// The completion sources expect the install as the first argument, but here it is a flag.
	on := func(source complete.Source) complete.Source {
		return func(ctx context.Context, client *apiclient.Client, _ []string) ([]complete.Name, error) {
			if install == "" {
				return nil, nil
			}
			return source(ctx, client, []string{install})
		}
	}
	c.RunE = e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
		p := &api.RenderTextsParams{Component: strings.Join(args, ""), Action: action, Key: key}
		texts, err := apiclient.Decode[api.RenderedTexts](client.RenderTexts(ctx, install, p))
		if err != nil {
			return err
		}
		if err := e.Console.Result(texts, func(w io.Writer) error { return show(w, texts.Texts, key) }); err != nil {
			return err
		}
		return problems(texts.Texts)
	})
	c.ValidArgsFunction = complete.Args(e, on(complete.InstallComponents))
	c.Flags().StringVar(&install, "install", "", "install: NAME, APP/NAME or ID")
	c.Flags().StringVar(&key, "key", "",
		"only the text with this key, such as vars.cidr, or below this key, such as vars")
	c.Flags().StringVar(&action, "action", "", "render the steps of this action instead of a component")
	_ = c.MarkFlagRequired("install") // fails only for an unknown flag
	complete.Flag(e, c, "install", complete.Installs)
	complete.Flag(e, c, "action", on(complete.Actions))
	complete.Flag(e, c, "key", func(ctx context.Context, client *apiclient.Client,
		args []string) ([]complete.Name, error) {
		return keys(ctx, client, install, &api.RenderTextsParams{Component: strings.Join(args, ""), Action: action})
	})
	return c
}

// keys completes the keys of the rendered texts.
func keys(ctx context.Context, client *apiclient.Client, install string,
	p *api.RenderTextsParams) ([]complete.Name, error) {
	if install == "" || (p.Component == "") == (p.Action == "") {
		return nil, nil
	}
	texts, err := apiclient.Decode[api.RenderedTexts](client.RenderTexts(ctx, install, p))
	var names []complete.Name
	for _, t := range texts.Texts {
		names = append(names, complete.Name{Name: t.Key})
	}
	return names, err
}

// show prints each text next to its key, or below it if it has several lines. If a key
// was requested, it prints only the text.
func show(w io.Writer, texts []api.RenderedText, key string) error {
	if len(texts) == 0 {
		_, err := fmt.Fprintln(w, "no templated texts")
		return err
	}
	if len(texts) == 1 && texts[0].Key == key && texts[0].Problem == "" {
		_, err := fmt.Fprintln(w, console.Text(strings.TrimSuffix(texts[0].Text, "\n")))
		return err
	}
	width := 0
	for _, t := range texts {
		if !isMultiline(t) {
			width = max(width, len(console.Line(t.Key)))
		}
	}
	for _, t := range texts {
		name, text := console.Line(t.Key), console.Text(t.Text)
		line := fmt.Sprintf("%-*s  %s", width, name, text)
		switch {
		case t.Problem != "":
			line = fmt.Sprintf("%-*s  ✗ %s", width, name, console.Line(t.Problem))
		case isMultiline(t):
			line = name + "\n    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ")
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}

// isMultiline reports whether a text has several lines.
func isMultiline(t api.RenderedText) bool { return strings.Contains(t.Text, "\n") }

// problems returns an error if a text cannot be rendered.
func problems(texts []api.RenderedText) error {
	wrong := 0
	for _, t := range texts {
		if t.Problem != "" {
			wrong++
		}
	}
	switch wrong {
	case 0:
		return nil
	case 1:
		return exitcode.With(exitcode.Failed,
			errors.New("one text cannot be rendered: fix it in the app's files, or set the missing values"))
	}
	return exitcode.With(exitcode.Failed, fmt.Errorf("%d texts cannot be rendered: fix them in the app's files, or "+
		"set the missing values", wrong))
}
