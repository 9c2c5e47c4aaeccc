package markdown

import (
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

const (
	// maxListed bounds how many changes the lists of the summary name.
	maxListed = 20
	// maxFolded bounds the text about folds, in bytes.
	maxFolded = 600
)

// summary writes the part that is never omitted. Its lists together take at most half of the bytes.
func (p *page) summary(r *diff.Report) {
	p.write("**" + r.Summary() + "**")
	if folded := prose(r.FoldedSummary()); folded != "" && len(folded) <= maxFolded {
		p.write(" (" + folded + ")")
	} else if folded != "" {
		p.write(" (" + diff.Plural(len(r.Folded), "rule folds", "rules fold") + " some of it)")
	}
	p.write("\n")
	var notes, destroyed, security []string
	for _, n := range r.Notes {
		notes = append(notes, "\n> "+prose(n)+"\n")
	}
	for _, s := range r.Sections() {
		for _, c := range s.Changes {
			if s.Destroys(c) {
				destroyed = append(destroyed, "\n- "+code(c.Title())+": "+string(c.Action))
			}
			if remarks := c.Remarks(); len(remarks) > 0 && remarks[0].Security {
				security = append(security, "\n- "+code(c.Title())+": "+prose(remarks[0].Text))
			}
		}
	}
	p.lines("", "\n> and %d more notes\n", notes, p.budget/6)
	p.lines(fmt.Sprintf("\n⚠ **Destroys or replaces %s:**\n", diff.Plural(len(destroyed), "object", "objects")),
		"\n- and %d more", destroyed, p.budget/4)
	p.lines(fmt.Sprintf("\n⚠ **%s:**\n", diff.Plural(r.Totals.Security, "security change", "security changes")),
		"\n- and %d more", security, p.budget/4)
}

// lines writes a title and as much of its list as fits, with the number of omitted items.
func (p *page) lines(title, more string, list []string, room int) {
	if len(list) == 0 {
		return
	}
	room -= len(title) + len(more) + 10
	text := title
	for i, line := range list {
		if i == maxListed || len(line) > room {
			text += fmt.Sprintf(more, len(list)-i)
			break
		}
		text += line
		room -= len(line)
	}
	p.write(strings.TrimSuffix(text, "\n") + "\n")
}

func (p *page) write(text string) {
	p.top += text
	p.budget -= len(text)
}
