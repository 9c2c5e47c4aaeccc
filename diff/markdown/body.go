package markdown

import (
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

// hasBody reports whether a change has more than its headline.
func hasBody(c *diff.Change) bool {
	return len(c.Findings) > 0 || len(c.Fields) > 0 && !removesObject(c)
}

// removesObject reports whether a change removes the object, or forgets it; its fields are of little
// interest.
func removesObject(c *diff.Change) bool { return c.Action == diff.Destroy || c.Action == diff.Forget }

// body returns the remarks on a change and its fields as a fenced diff, in at most room bytes. It is
// empty if not even the first line fits. For past, see diff.FieldChange.Asides.
func body(c *diff.Change, past bool, room int) string {
	var b strings.Builder
	for _, r := range c.Remarks() {
		line := "\n- **" + prose(r.Label) + "**: " + prose(r.Text) + " (" + code(r.Source) + ")"
		if b.Len()+len(line) > room {
			return b.String()
		}
		b.WriteString(line)
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	return b.String() + fenced("diff", fields(c, past), room-b.Len())
}

// fields returns the lines for the fields of a change, below the same headings as in a terminal.
func fields(c *diff.Change, past bool) []string {
	if removesObject(c) {
		return nil
	}
	var lines, quiet []string
	var shown []int32
	for i := range c.Fields {
		switch f := &c.Fields[i]; {
		case f.Fold != "":
		case f.OmitsLine(c.Action):
			quiet = append(quiet, f.Name())
		default:
			shown = append(shown, int32(i))
		}
	}
	shown, others := c.WithoutRepeats(shown)
	for _, row := range c.Outline(nil, shown) {
		f, deeper := &c.Fields[row.Field], strings.Repeat("  ", int(row.Depth))
		if row.Heading {
			lines = append(lines, heading(c, f, row, deeper))
			continue
		}
		name := f.Name()
		if row.Skip > 0 {
			name = diff.EscapeText(diff.RelativePath(f.Path, int(row.Skip)))
		}
		aside := ""
		for _, words := range append(f.Annotations(past), others[row.Field]) {
			if words != "" {
				aside += "  " + words
			}
		}
		lines = append(lines, field(c, f, deeper+name, aside)...)
	}
	if len(quiet) > 0 {
		lines = append(lines, "  known after apply: "+strings.Join(quiet, ", "))
	}
	if folded := c.FoldedSummary(); folded != "" {
		lines = append(lines, "  "+folded)
	}
	return lines
}

// heading returns the common path of the fields below it, with the sign of an added or removed
// element.
func heading(c *diff.Change, f *diff.FieldChange, row diff.OutlineRow, deeper string) string {
	text := deeper + diff.EscapeText(diff.RelativePath(f.Path[:row.End], int(row.Skip)))
	e := f.OwnElement()
	switch {
	case e == nil || len(e.Path) <= int(row.Skip) || len(e.Path) > int(row.End):
	case e.Change == diff.ElementRemoved:
		return "- " + text + "  removed"
	default:
		return "+ " + text + "  added"
	}
	if counts := c.DocumentSummary(f.Path[:row.End], int(row.Skip)); counts != "" {
		text += "  " + counts
	}
	return "  " + text
}

// maxLines bounds the lines of a line diff. A reader of Markdown cannot unfold the others.
const maxLines = 200

func field(c *diff.Change, f *diff.FieldChange, name, aside string) []string {
	if len(f.Lines) > 0 {
		if counts := f.LineSummary(); counts != "" {
			aside += "  " + counts
		}
		lines := []string{"  " + name + aside}
		for i := range f.Lines[:min(len(f.Lines), maxLines)] {
			lines = append(lines, f.Lines[i].Display())
		}
		if more := len(f.Lines) - maxLines; more > 0 {
			lines = append(lines, "  … "+diff.Plural(more, "more line", "more lines")+", left out")
		}
		return lines
	}
	f = f.Collapsed()
	if words := f.OrderSummary(); words != "" {
		return []string{"! " + name + "  " + words + aside}
	} else if f.Reordered {
		name += " order"
	}
	switch before, after := f.Sides(c.Action); {
	case before == "":
		return []string{sign(f) + name + " = " + after + aside}
	case f.Before.Absent:
		return []string{"+ " + name + " = " + after + aside}
	case f.After.Absent:
		return []string{"- " + name + " = " + before + aside}
	default:
		return []string{"- " + name + " = " + before, "+ " + name + " = " + after + aside}
	}
}

// sign returns the first column of a diff line for a field that one text describes.
func sign(f *diff.FieldChange) string {
	switch {
	case f.After.Absent:
		return "- "
	case f.After.Masked && f.After.Mark != diff.MarkNew:
		return "! "
	}
	return "+ "
}

// maxAddresses bounds how many changes a list of addresses names.
const maxAddresses = 200

// addresses returns the titles of changes, one per line.
func addresses(changes []*diff.Change, room int) string {
	var lines []string
	for _, c := range changes[:min(len(changes), maxAddresses)] {
		lines = append(lines, c.Symbol()+" "+c.Title())
	}
	return fencedOf("", lines, len(changes), room)
}

// fenced puts as many lines as fit into a fenced block that none of them can end, and adds the
// number of omitted lines.
func fenced(language string, lines []string, room int) string {
	return fencedOf(language, lines, len(lines), room)
}

// fencedOf is fenced for the first lines of a list that has all lines in total.
func fencedOf(language string, lines []string, all, room int) string {
	if len(lines) == 0 {
		return ""
	}
	const more = "  … %d more lines, not shown"
	room -= len(more) + 10
	fence, used, fits := "```", 0, 0
	for _, l := range lines {
		longer := max(len(fence), longestRun(l)+1)
		if used += len(l) + 1; used+2*longer+len(language)+4 > room {
			break
		}
		fence = strings.Repeat("`", longer)
		fits++
	}
	if fits == 0 {
		return ""
	}
	text := strings.Join(lines[:fits], "\n")
	if left := all - fits; left > 0 {
		text += "\n" + fmt.Sprintf(more, left)
	}
	return "\n" + fence + language + "\n" + text + "\n" + fence + "\n"
}
