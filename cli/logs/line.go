package logs

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// line is one line of a log, in the form that -o json prints.
type line struct {
	T   time.Time `json:"t"`
	L   string    `json:"l"`
	M   string    `json:"m"`
	Of  string    `json:"of,omitempty"`
	Job string    `json:"job,omitempty"`
}

// lineFilter selects the lines to print.
type lineFilter struct {
	since time.Time // zero for all
	level int       // minimum, as an index into api.LogLevels
}

// lineFilter parses --since and --level.
func (o *options) lineFilter() (lineFilter, error) {
	var w lineFilter
	if o.level != "" {
		if w.level = slices.Index(api.LogLevels, o.level); w.level < 0 {
			return w, exitcode.Usagef("--level %s: use one of %s", console.Line(o.level), strings.Join(api.LogLevels, ", "))
		}
	}
	if o.since == "" {
		return w, nil
	}
	if ago, err := time.ParseDuration(o.since); err == nil && ago >= 0 {
		w.since = time.Now().Add(-ago)
		return w, nil
	}
	at, err := time.Parse(time.RFC3339, o.since)
	if err != nil {
		return w, exitcode.Usagef("--since %s: use a duration such as 10m, or a time such as 2006-01-02T15:04:05Z",
			console.Line(o.since))
	}
	w.since = at
	return w, nil
}

// apply returns the selected lines.
func (w lineFilter) apply(lines []line) []line {
	return slices.DeleteFunc(lines, func(l line) bool {
		// A level that this client does not know is always printed.
		known := slices.Index(api.LogLevels, l.L)
		return l.T.Before(w.since) || known >= 0 && known < w.level
	})
}

// linesOf returns the lines of a chunk.
func linesOf(s source, chunk api.LogChunk) []line {
	lines := make([]line, 0, len(chunk.Lines))
	for _, l := range chunk.Lines {
		lines = append(lines, line{T: l.T, L: string(l.L), M: l.M, Of: s.name, Job: s.job})
	}
	return lines
}

// printer prints lines. Any number of goroutines may use it; each line is printed whole.
type printer struct {
	console *console.Console
	filter  lineFilter
	dates   bool
	several bool // each line has the name of its source

	mutex     sync.Mutex
	nameWidth int // width of the column of names
}

// widenNames widens the column of names so that the lines of all these sources align.
func (p *printer) widenNames(sources []source) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, s := range sources {
		p.nameWidth = max(p.nameWidth, utf8.RuneCountInString(s.name))
	}
}

// print prints the selected lines. A closed output pipe ends the command.
func (p *printer) print(lines ...line) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var text strings.Builder
	for _, l := range lines {
		one, err := p.text(l)
		if err != nil {
			return err
		}
		text.WriteString(one)
	}
	_, err := p.console.Out.Write([]byte(text.String()))
	return err
}

// text formats a line for -o. In the format for people, control characters are removed.
func (p *printer) text(l line) (string, error) {
	switch p.console.Output {
	case "json":
		text, err := console.EncodeJSON(l, "")
		return string(text), err
	case "yaml": // a list element, so that all lines form one document
		text, err := console.EncodeYAML([]line{l})
		return string(text), err
	}
	at := l.T.Local().Format("15:04:05.000")
	if p.dates {
		at = l.T.Local().Format("2006-01-02T15:04:05.000Z07:00")
	}
	of := ""
	if p.several {
		of = fmt.Sprintf("%-*s | ", p.nameWidth, console.Line(l.Of))
	}
	message := strings.TrimRight(console.Line(l.M), " ")
	if !p.console.Color {
		return fmt.Sprintf("%s%s %-5s %s\n", of, at, console.Line(l.L), message), nil
	}
	colour := colours[l.L]
	if l.L != string(api.Info) {
		message = colour + message + plain
	}
	return fmt.Sprintf("%s%s%s%s %s%-5s%s %s\n", faint, of, at, plain, colour, console.Line(l.L), plain, message), nil
}

// Colors of the levels on a terminal. They only repeat the level's name.
const (
	plain = "\x1b[0m"
	faint = "\x1b[2m"
)

var colours = map[string]string{string(api.Debug): faint, string(api.Info): "\x1b[36m", string(api.Warn): "\x1b[33m",
	string(api.Error): "\x1b[31m"}
