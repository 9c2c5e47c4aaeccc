package review

import (
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// filter holds the words, in lower case, that a plan in the queue must contain to be shown.
type filter []string

// shows reports whether a plan contains all words: in the names of its app, install and component, or
// in its reason, its scripts and what it does. A word such as @bob, @me or @none is about its assignee.
func (f filter) shows(i *item) bool {
	a := i.approval
	text := strings.ToLower(strings.Join([]string{a.App + "/" + a.Install + "/" + Subject(a), Verb(a), a.Because,
		Scripts(a), a.ID}, " "))
	return !slices.ContainsFunc(f, func(word string) bool {
		if strings.HasPrefix(word, assigneePrefix) {
			return !hasAssignee(a, word)
		}
		return !strings.Contains(text, word)
	})
}

// rows returns the rows that the filter shows, and the selected one: a poll must not select another
// row, because the next key may be an answer. A group of which the filter shows only some plans is
// replaced by those plans, so that an answer does not cover plans that were filtered out.
func (f filter) rows(all []row, selected row) []row {
	if len(f) == 0 {
		return all
	}
	var out []row
	var open *group // the group whose plans follow as rows, and whether the filter shows all of them
	whole := false
	for _, r := range all {
		if r.group != nil && r.group != open {
			open, whole = r.group, f.whole(r.group)
		}
		switch {
		case !r.several():
			if r.group == nil && (f.shows(r.item) || r == selected) || r.group != nil && whole {
				out = append(out, r)
			}
		case whole, r == selected:
			out = append(out, r)
		default:
			for _, i := range r.group.items {
				if f.shows(i) || i == selected.item {
					out = append(out, row{group: r.group, item: i})
				}
			}
		}
	}
	return out
}

// whole reports whether the filter shows all plans of a group.
func (f filter) whole(g *group) bool {
	return !slices.ContainsFunc(g.items, func(i *item) bool { return !f.shows(i) })
}

// setFilter shows only the plans that contain all words of a text.
func (m *model) setFilter(text string) tea.Cmd {
	was := m.queue.current()
	m.queue.filter = strings.Fields(strings.ToLower(text))
	m.queue.selected = -1 // so that the selected row is kept only if the filter shows it
	m.queue.arrange()
	m.queue.choose(was)
	now := m.queue.current()
	if now == was || now.none() {
		return nil
	}
	now.reading().arrived = m.now // a key that was meant for another row must not answer this one
	return m.chosen()
}
