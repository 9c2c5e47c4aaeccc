// Package markdown renders a diff.Report as Markdown for a pull request or an issue: the summary first, then what destroys, then
// each change with its fields in a diff block.
//
// It knows nothing but the Report, and every text goes out neutralised: a value cannot open a link, an image, a mention or a
// block of its own. The command line calls it.
package markdown

import (
	"fmt"
	"io"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

// Options of a rendering. The zero value fits a comment of 65,536 characters.
type Options struct {
	// Limit is the most bytes that are written; 0 means DefaultLimit. Details are left out first, then headlines; the summary
	// never is.
	Limit int
}

// DefaultLimit is the size of a comment on the large forges, with room for a few words of the caller's.
const DefaultLimit = 64_000

// maxListed is how many addresses the list of what is destroyed names.
const maxListed = 20

// Render writes the report. The only errors are those of w.
func Render(w io.Writer, r *diff.Report, o Options) error {
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	p := &page{limit: o.Limit}
	p.summary(r)
	p.section("", r.Changes, diff.Change.Headline)
	p.section("Outputs", r.Outputs, diff.Change.Headline)
	p.section("Changed by others since the last apply", r.Drift, diff.Change.Happened)
	p.section("Left for a later plan", r.Deferred, diff.Change.Headline)
	p.end()
	_, err := io.WriteString(w, p.b.String())
	return err
}

type page struct {
	b     strings.Builder
	limit int
	// noDetails and noLines count what no longer fitted.
	noDetails, noLines int
}

// reserve is the room that is kept for the last sentence.
const reserve = 200

// fits says that text can still be written in front of the last sentence.
func (p *page) fits(text string) bool { return p.b.Len()+len(text)+reserve <= p.limit }

func (p *page) summary(r *diff.Report) {
	fmt.Fprintf(&p.b, "**%s**", r.Summary())
	if folded := r.FoldedSummary(); folded != "" {
		fmt.Fprintf(&p.b, " (%s)", prose(folded))
	}
	p.b.WriteString("\n")
	for _, n := range r.Notes {
		fmt.Fprintf(&p.b, "\n> %s\n", prose(n))
	}
	var destroyed []string
	for _, c := range r.Changes {
		if c.Action.Destructive() {
			destroyed = append(destroyed, "\n- "+code(c.Title())+": "+string(c.Action))
		}
	}
	if len(destroyed) == 0 {
		return
	}
	fmt.Fprintf(&p.b, "\n⚠ **Destroys or replaces %s:**\n", diff.Plural(len(destroyed), "object", "objects"))
	for i, line := range destroyed {
		if i == maxListed || !p.fits(line) {
			fmt.Fprintf(&p.b, "\n- and %d more", len(destroyed)-i)
			break
		}
		p.b.WriteString(line)
	}
	p.b.WriteString("\n")
}

func (p *page) section(title string, list []diff.Change, words func(diff.Change) string) {
	if len(list) == 0 {
		return
	}
	if title != "" {
		p.b.WriteString("\n### " + title + "\n")
	}
	for _, c := range list {
		head := headline(c, words(c))
		details := block(c)
		switch {
		case p.noLines > 0 || !p.fits(head):
			p.noLines++
		case !p.fits(head + details):
			p.b.WriteString(head)
			p.noDetails++
		default:
			p.b.WriteString(head + details)
		}
	}
}

func (p *page) end() {
	if p.noDetails > 0 {
		fmt.Fprintf(&p.b, "\n_Details of %s folded to fit._\n", diff.Plural(p.noDetails, "change", "changes"))
	}
	if p.noLines > 0 {
		fmt.Fprintf(&p.b, "\n_%s not listed to fit._\n", diff.Plural(p.noLines, "more change", "more changes"))
	}
}

func headline(c diff.Change, words string) string {
	return fmt.Sprintf("\n#### %s %s\n\n%s\n", code(c.Symbol()), code(c.Title()), prose(words))
}

// block is the fields of a change as a fenced diff.
func block(c diff.Change) string {
	var lines, quiet []string
	for _, f := range c.Fields {
		switch {
		case f.Quiet(c.Action):
			quiet = append(quiet, f.Name())
		case c.Action == diff.Destroy || c.Action == diff.Forget:
		default:
			lines = append(lines, field(c, f)...)
		}
	}
	if len(quiet) > 0 {
		lines = append(lines, "  known after apply: "+strings.Join(quiet, ", "))
	}
	if len(lines) == 0 {
		return ""
	}
	body := strings.Join(lines, "\n")
	fence := strings.Repeat("`", max(3, longestRun(body)+1))
	return "\n" + fence + "diff\n" + body + "\n" + fence + "\n"
}

func field(c diff.Change, f diff.FieldChange) []string {
	forces := ""
	if f.ForcesReplace {
		forces = "  (forces replacement)"
	}
	if len(f.Lines) > 0 {
		lines := []string{"  " + f.Name() + forces}
		for _, l := range f.Lines {
			lines = append(lines, l.Display())
		}
		return lines
	}
	before, after := f.Sides(c.Action)
	if before == "" {
		sign := "+ "
		if f.After.Absent {
			sign = "- "
		} else if f.After.Masked && f.After.Mark != diff.New {
			sign = "! "
		}
		return []string{sign + f.Name() + " = " + after + forces}
	}
	return []string{
		"- " + f.Name() + " = " + before,
		"+ " + f.Name() + " = " + after + forces,
	}
}

// code is a code span whose content cannot end it.
func code(text string) string {
	text = diff.Neutral(text)
	ticks := strings.Repeat("`", longestRun(text)+1)
	if len(ticks) > 1 {
		return ticks + " " + text + " " + ticks
	}
	return ticks + text + ticks
}

func longestRun(s string) int {
	longest, run := 0, 0
	for _, r := range s {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// prose escapes what Markdown, HTML and the forges' own mentions would act on.
func prose(text string) string {
	var b strings.Builder
	for _, r := range diff.Neutral(text) {
		switch r {
		case '\\', '`', '*', '_', '{', '}', '[', ']', '#', '!', '|', '~', '$':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '&':
			b.WriteString("&amp;")
		case '@':
			b.WriteString("&#64;")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
