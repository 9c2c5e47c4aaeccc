// Package page holds what a screen shows as data: facts, and sections with rows. The same data is
// drawn on a terminal (Pane) and printed as lines (Print), so a screen contains no layout. It
// makes all texts safe to print.
package page

import (
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/screen"
)

// Ink is the meaning of a text, which the theme turns into a style. No meaning is shown by
// color alone: the text states it, too.
type Ink uint8

// The inks.
const (
	Plain Ink = iota
	Faint
	Strong
	Good
	Bad
	Warn
)

// style returns the style of an ink in a theme.
func (i Ink) style(t *screen.Theme) screen.Style {
	return [...]screen.Style{Faint: t.Faint, Strong: t.Strong, Good: t.Good, Bad: t.Bad, Warn: t.Warn}[i]
}

// Text is the content of a cell.
type Text struct {
	Text string
	Ink  Ink
	At   time.Time // if set, its age is the text
}

// Clock determines how times are shown: as their age at a time, or with Absolute as they are.
type Clock struct {
	Now      time.Time
	Absolute bool
}

// show returns the text that is drawn, safe to print on one line.
func (t Text) show(c Clock) string {
	switch {
	case t.At.IsZero():
		return console.Line(t.Text)
	case c.Absolute:
		return t.At.Local().Format(time.DateTime)
	}
	return screen.Ago(c.Now.Sub(t.At))
}

// T returns a plain text.
func T(text string) Text { return Text{Text: text} }

// Age returns the age of a time; "-" if it is zero.
func Age(at time.Time) Text {
	if at.IsZero() {
		return Text{Text: "-", Ink: Faint}
	}
	return Text{At: at, Ink: Faint}
}

// Drift returns the components that others changed; "-" if there are none.
func Drift(components []string) Text {
	if len(components) == 0 {
		return Text{Text: "-", Ink: Faint}
	}
	return Text{Text: strings.Join(components, ", "), Ink: Warn}
}

// Row is a line that can be selected.
type Row struct {
	ID      string   // identifies the row when the page changes
	Cells   []Text   // one for each column
	Open    string   // what enter opens, as a line of the palette; empty for nothing
	Copy    string   // what y copies
	Command string   // the command that shows or does the same
	Detail  []string // lines that are shown while the row is selected
	Search  string   // more text that a filter finds
}

// matches reports whether a row contains all words, in lower case.
func (r Row) matches(words []string) bool {
	if len(words) == 0 {
		return true
	}
	var b strings.Builder
	for _, c := range r.Cells {
		b.WriteString(c.Text)
		b.WriteByte(' ')
	}
	b.WriteString(r.Search)
	text := strings.ToLower(b.String())
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// screens are the screens that show objects, by the start of the object's id.
var screens = map[string]string{"app_": "app ", "apr_": "review ", "bld_": "logs ", "ins": "install ", "job_": "logs ",
	"run_": "runner ", "wfl_": "workflow "}

// Of returns the line that opens an object by its id; "" if there is no screen for it.
func Of(id string) string {
	for prefix, line := range screens {
		if strings.HasPrefix(id, prefix) {
			return line + id
		}
	}
	return ""
}

// Rows are the rows of a section. They may be made on demand.
type Rows interface {
	Len() int
	Row(i int) Row
}

// List is a list of rows.
type List []Row

// Len returns the number of rows.
func (l List) Len() int { return len(l) }

// Row returns a row.
func (l List) Row(i int) Row { return l[i] }

// Column is a column of a section.
type Column struct {
	Title    string
	Width    int  // 0 for that of the widest cell
	Optional bool // it is left out if there is not enough room
}

// Columns returns columns with the given titles; a title that ends with "?" is optional.
func Columns(titles ...string) []Column {
	out := make([]Column, 0, len(titles))
	for _, t := range titles {
		title, optional := strings.CutSuffix(t, "?")
		out = append(out, Column{Title: title, Optional: optional})
	}
	return out
}

// Section is a table with a title.
type Section struct {
	Title   string
	Columns []Column // without titles there is no line of titles
	Rows    Rows
	Empty   string // what to show, and do, if there are no rows
}

func (s Section) len() int {
	if s.Rows == nil {
		return 0
	}
	return s.Rows.Len()
}

func (s Section) titled() bool {
	for _, c := range s.Columns {
		if c.Title != "" {
			return true
		}
	}
	return false
}

// Fact is a line above the sections.
type Fact struct {
	Label string
	Text  string
	Ink   Ink
}

// Page is the content of a screen.
type Page struct {
	Title    string // in the path of screens
	Command  string // the command that prints the same
	Facts    []Fact
	Sections []Section
	Select   string // the ID of the row that is selected until a person selects another one
	Follow   bool   // the last row stays selected when rows are added
	Live     bool   // texts other than ages depend on the time
	Marks    bool   // rows can be marked, so that an action applies to several of them
}

// Action is something that a key does on a screen, by running a command.
type Action struct {
	Key key.Binding
	// Command returns the arguments of nuon for the selected row, which is empty if there is none,
	// or an error that states why the action does not apply.
	Command func(r Row) ([]string, error)
	// Question returns what a person must confirm; nil if the action needs no confirmation.
	Question func(r Row) string
	// Several returns what a person must confirm if rows are marked, with their number: the command
	// then runs for each of them. It is nil if the action is about the selected row only.
	Several func(rows []Row) string
	Reason  bool   // a person must type a reason, which becomes --reason
	Then    string // what to open afterwards, as a line of the palette
	// Open returns the line to open instead of running a command; nil for an action with a command.
	Open func(r Row) string
	// OpenAll is Open for the marked rows, or for the selected one if none is marked.
	OpenAll func(rows []Row) string
	// Save returns the name and the content of a file to write instead; nil for an action with a
	// command.
	Save func() (file string, content []byte)
}

// Feed receives what a screen reads from a stream.
type Feed struct {
	Send  func(store func()) // passes on a change, as a function that is called between two frames
	Heard func(err error)    // reports the result of an attempt to connect
}

// inks are the inks of the statuses that are neither neutral nor work in progress.
var inks = map[string]Ink{
	"current": Good, "good": Good, "ready": Good,
	"healthy": Good, "online": Good, "succeeded": Good, "complete": Good, "approved": Good,
	"stalled": Bad, "rejected": Bad, "failed": Bad, "unhealthy": Bad, "degraded": Bad, "offline": Bad, "blocked": Bad,
	"incomplete": Bad, "missing": Bad, "error": Bad,
	"waiting": Warn, "waiting_for_approval": Warn, "behind": Warn, "attention": Warn,
	"progressing": Warn, "off": Warn,
	"not registered": Warn, "warn": Warn,
	"pending": Faint, "skipped": Faint, "cancelled": Faint, "superseded": Faint, "unknown": Faint,
	"deprovisioned": Faint, "replaced": Faint, "debug": Faint,
}

// Status returns the text of a status, in its ink. "waiting_for_approval" is shown with spaces.
func Status(text string) Text {
	ink := inks[text]
	if text == "" {
		text, ink = "-", Faint
	}
	return Text{Text: strings.ReplaceAll(text, "_", " "), Ink: ink}
}
