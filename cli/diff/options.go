package diff

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	model "github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/ignore"
)

// The values of -o. Table is the default of all other commands and means text here.
const (
	text     = "text"
	side     = "side"
	markdown = "markdown"
	table    = "table"
)

// formats are the values of -o that the help lists.
var formats = []string{text, side, markdown, "json", "yaml"}

// options holds the flags that all subcommands share.
type options struct {
	output     string
	given      bool // -o was given
	exitCode   bool
	showAll    bool
	ignore     []string
	context    int
	pager      string
	secretFile string
}

// flags adds the shared flags to a subcommand.
func (o *options) flags(c *cobra.Command) {
	f := c.Flags()
	// --output and --context shadow the global flags of the same names: this
	// command has no control plane whose context could be meant.
	f.StringVarP(&o.output, "output", "o", text, "output format: text, side (by side), markdown, json or yaml")
	f.IntVarP(&o.context, "context", "U", model.DefaultContext, "unchanged lines to show around each change of a text")
	f.BoolVar(&o.exitCode, "exit-code", false, "exit with 1 if something differs")
	f.BoolVar(&o.showAll, "show-all", false, "show folded changes, and full texts")
	f.StringArrayVar(&o.ignore, "ignore", nil, "`file` with rules for changes to hide (repeatable)")
	f.StringVar(&o.secretFile, "secret-file", "", "`file` with values to mask everywhere, one per line")
	f.StringVar(&o.pager, "pager", pagerAuto, "when to use a pager: auto (if the output does not fit the "+
		"terminal), always or never")
	complete.FlagWords(c, "output", formats...)
	complete.FlagWords(c, "pager", pagerModes...)
	completeFile(c, "ignore", "toml")
	completeFile(c, "secret-file")
}

// completeFile completes a flag with the names of files with these extensions, or of all files.
func completeFile(c *cobra.Command, flag string, ends ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, files(1, ends...)) // fails only for an undefined flag
}

// files completes the first `many` arguments with file names.
func files(many int, ends ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		switch {
		case len(args) >= many:
			return nil, cobra.ShellCompDirectiveNoFileComp
		case len(ends) > 0:
			return ends, cobra.ShellCompDirectiveFilterFileExt
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
}

// resolvedOptions holds the checked flags and the contents of the files that they name.
type resolvedOptions struct {
	options
	format  string
	rules   []*ignore.Rules
	secrets func(string) bool
	tagKey  []byte
}

// settle checks the flags and reads the files that they name, before anything is compared.
func (o options) settle(c *console.Console) (*resolvedOptions, error) {
	s := &resolvedOptions{options: o}
	if s.format = o.output; !o.given && c.Output != "" {
		s.format = c.Output // NUON_OUTPUT, or the default of all commands
	}
	if s.format == table {
		s.format = text
	}
	switch {
	case !slices.Contains(formats, s.format):
		return nil, exitcode.Usagef("-o %s: use one of %s", console.Line(s.format), strings.Join(formats, ", "))
	case !slices.Contains(pagerModes, o.pager):
		return nil, exitcode.Usagef("--pager %s: use one of %s", console.Line(o.pager), strings.Join(pagerModes, ", "))
	case o.context < 0:
		return nil, exitcode.Usagef("--context %d: use 0 or more lines", o.context)
	}
	for _, name := range o.ignore {
		content, err := readSmall(name)
		if err != nil {
			return nil, fmt.Errorf("--ignore: %w", err)
		}
		rules, err := ignore.Parse(name, content)
		if err != nil {
			return nil, err
		}
		s.rules = append(s.rules, rules)
	}
	known, err := o.secrets()
	if err != nil {
		return nil, err
	}
	s.secrets = known
	// The hashes of masked values allow a reader to compare values within this
	// output, and only there.
	s.tagKey = make([]byte, 32)
	if _, err := rand.Read(s.tagKey); err != nil {
		return nil, fmt.Errorf("create a key for the hashes of masked values: %w", err)
	}
	return s, nil
}

// secrets returns a function that reports whether a text contains a value of
// --secret-file; nil without the flag.
func (o options) secrets() (func(string) bool, error) {
	if o.secretFile == "" {
		return nil, nil
	}
	content, err := readSmall(o.secretFile)
	if err != nil {
		return nil, fmt.Errorf("--secret-file: %w", err)
	}
	var values [][]byte
	for line := range strings.Lines(string(content)) {
		values = append(values, []byte(strings.TrimRight(line, "\r\n")))
	}
	return model.NewSecrets(values...).Contains, nil
}

// Limits for texts with --show-all; without it the defaults of the model apply.
// JSON and YAML output is never truncated: no input is as large as wholeBytes.
const (
	allBytes   = 1 << 20
	allLines   = 1 << 20
	wholeBytes = 1 << 30
)

// bounds returns how many bytes of a value and lines of a text are shown, and how many
// lines of context. In the convention of the model, 0 selects the default, and a negative
// context means none.
func (s *resolvedOptions) bounds() (bytes, lines, context int) {
	if context = s.context; context == 0 {
		context = -1
	}
	switch {
	case s.format == "json" || s.format == "yaml":
		return wholeBytes, wholeBytes, context
	case s.showAll:
		return allBytes, allLines, context
	}
	return 0, 0, context
}
