package markdown

import (
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

// hasBody says that there is more to a change than its headline.
func hasBody(c *diff.Change) bool { return len(c.Findings) > 0 || len(c.Fields) > 0 && !goes(c) }

// goes says that the change's object, or the knowledge of it, goes; its fields say little then.
func goes(c *diff.Change) bool { return c.Action == diff.Destroy || c.Action == diff.Forget }

// body is what rules say of a change, and its fields as a fenced diff, in so many bytes (see diff.FieldChange.Asides for past); empty if not even the first line fits.
func body(c *diff.Change, past bool, room int) string {
	var b strings.Builder
	for _, r := range c.Remarks() {
		line := "\n- **" + prose(r.Label) + "**: " + prose(r.Words) + " (" + code(r.Source) + ")"
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

// fields are the lines of the fields of a change, below the headings that a terminal has.
func fields(c *diff.Change, past bool) []string {
	if goes(c) {
		return nil
	}
	var lines, quiet []string
	var shown []int32
	for i := range c.Fields {
		switch f := &c.Fields[i]; {
		case f.Fold != "":
		case f.Quiet(c.Action):
			quiet = append(quiet, f.Name())
		default:
			shown = append(shown, int32(i))
		}
	}
	shown, others := c.Repeats(shown)
	for _, row := range c.Outline(nil, shown) {
		f, deeper := &c.Fields[row.Field], strings.Repeat("  ", int(row.Depth))
		if row.Heading {
			lines = append(lines, heading(c, f, row, deeper))
			continue
		}
		name := f.Name()
		if row.Skip > 0 {
			name = diff.Neutral(diff.RelativePath(f.Path, int(row.Skip)))
		}
		aside := ""
		for _, words := range append(f.Asides(past), others[row.Field]) {
			if words != "" {
				aside += "  " + words
			}
		}
		lines = append(lines, field(c, f, deeper+name, aside)...)
	}
	if len(quiet) > 0 {
		lines = append(lines, "  known after apply: "+strings.Join(quiet, ", "))
	}
	if folded := c.Folded(); folded != "" {
		lines = append(lines, "  "+folded)
	}
	return lines
}

// heading is what the fields below it share, with the sign of an element that is new or goes.
func heading(c *diff.Change, f *diff.FieldChange, row diff.OutlineRow, deeper string) string {
	text := deeper + diff.Neutral(diff.RelativePath(f.Path[:row.End], int(row.Skip)))
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

// maxLines is how many lines of a line diff are listed. Here nothing can be unfolded.
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
	f = f.OnScreen()
	if words := f.Order(); words != "" {
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

// sign is how a diff block marks a field of which one text says all.
func sign(f *diff.FieldChange) string {
	switch {
	case f.After.Absent:
		return "- "
	case f.After.Masked && f.After.Mark != diff.New:
		return "! "
	}
	return "+ "
}

// maxAddresses is how many changes a list names that says nothing else of them.
const maxAddresses = 200

// addresses are the titles of changes, one on each line.
func addresses(changes []*diff.Change, room int) string {
	var lines []string
	for _, c := range changes[:min(len(changes), maxAddresses)] {
		lines = append(lines, c.Symbol()+" "+c.Title())
	}
	return fencedOf("", lines, len(changes), room)
}

// fenced puts lines into a block that none of them can end, as many as fit, and says how many do not.
func fenced(language string, lines []string, room int) string {
	return fencedOf(language, lines, len(lines), room)
}

// fencedOf is fenced for the first of all lines.
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
