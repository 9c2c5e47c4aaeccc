package reference

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/version"
)

// man writes the manual page of a command with the man macros of roff (man-pages(7)).
// It includes no date, so that the same program generates the same pages.
func man(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, ".TH %q 1 \"\" \"nuon %s\" \"nuon\"\n", strings.ToUpper(pageOf(c)), version.Number)
	fmt.Fprintf(b, ".SH NAME\n%s \\- %s\n", roff(pageOf(c)), roff(c.Short))
	fmt.Fprintf(b, ".SH SYNOPSIS\n.B %s\n", roff(usage(c)))
	fmt.Fprintf(b, ".SH DESCRIPTION\n%s", paragraphs(description(c)))
	if subs := seen(c); len(subs) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, s := range subs {
			fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(s.Name()), roff(s.Short))
		}
	}
	if c.HasExample() {
		fmt.Fprintf(b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(strings.TrimRight(c.Example, "\n")))
	}
	options(b, "OPTIONS", flagsOf(c.NonInheritedFlags()))
	options(b, "OPTIONS OF ALL COMMANDS", flagsOf(c.InheritedFlags()))
	if c.HasParent() {
		fmt.Fprintf(b, ".SH EXIT STATUS\nSee\n.BR %s (1).\n", roff(pageOf(c.Root())))
		return
	}
	b.WriteString(".SH EXIT STATUS\n")
	for _, code := range exitcode.Codes {
		fmt.Fprintf(b, ".TP\n.B %d\n%s\n", code.Code, roff(code.Means))
	}
	b.WriteString(".SH ENVIRONMENT\n")
	for _, v := range cmdenv.Variables {
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", v.Name, roff(v.Means))
	}
}

func options(b *strings.Builder, title string, flags []flag) {
	if len(flags) == 0 {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	for _, f := range flags {
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(f.name+" "+f.value)), roff(f.says()))
	}
}

// paragraphs formats text: blank lines separate paragraphs, and indented ones are preformatted.
func paragraphs(s string) string {
	var b strings.Builder
	for p := range strings.SplitSeq(s, "\n\n") {
		if strings.HasPrefix(p, " ") {
			fmt.Fprintf(&b, ".PP\n.nf\n%s\n.fi\n", roff(p))
			continue
		}
		fmt.Fprintf(&b, ".PP\n%s\n", roff(p))
	}
	return b.String()
}

// roff escapes text for roff: backslashes, hyphens, and lines that start with a dot or
// a quote. It writes non-ASCII characters as in groff_char(7), because some versions
// of roff cannot read UTF-8.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", "").Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	var b strings.Builder
	for _, r := range strings.Join(lines, "\n") {
		if r > unicode.MaxASCII {
			fmt.Fprintf(&b, `\[u%04X]`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
