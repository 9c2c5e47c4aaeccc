package logs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// levels are those of lines, from the least to the most important.
var levels = []string{string(api.Debug), string(api.Info), string(api.Warn), string(api.Error)}

// line is one line of a log, as -o json prints it.
type line struct {
	T   time.Time `json:"t"`
	L   string    `json:"l"`
	M   string    `json:"m"`
	Of  string    `json:"of,omitempty"`
	Job string    `json:"job,omitempty"`
}

// wanted says which lines are shown.
type wanted struct {
	since time.Time // zero for all
	level int       // the least, in levels
}

// wanted reads --since and --level.
func (o *options) wanted() (wanted, error) {
	var w wanted
	if o.level != "" {
		if w.level = slices.Index(levels, o.level); w.level < 0 {
			return w, exit.Usagef("--level %s: use one of %s", console.Line(o.level), strings.Join(levels, ", "))
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
		return w, exit.Usagef("--since %s: say for how long, like 10m, or since when, like 2006-01-02T15:04:05Z", console.Line(o.since))
	}
	w.since = at
	return w, nil
}

// of gives those of lines that are wanted.
func (w wanted) of(lines []line) []line {
	return slices.DeleteFunc(lines, func(l line) bool {
		// A level that this client does not know is shown, whatever it is.
		known := slices.Index(levels, l.L)
		return l.T.Before(w.since) || known >= 0 && known < w.level
	})
}

// linesOf are the lines of a chunk.
func linesOf(s source, chunk api.LogChunk) []line {
	lines := make([]line, 0, len(chunk.Lines))
	for _, l := range chunk.Lines {
		lines = append(lines, line{T: l.T, L: string(l.L), M: l.M, Of: s.of, Job: s.job})
	}
	return lines
}

// printer prints lines, for any number of goroutines, each line whole.
type printer struct {
	console *console.Console
	wanted  wanted
	dates   bool
	several bool // each line says what it is of

	mutex sync.Mutex
	room  int // columns for that
}

// makeRoom sees to it that lines of all these sources begin at the same column.
func (p *printer) makeRoom(sources []source) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, s := range sources {
		p.room = max(p.room, utf8.RuneCountInString(s.of))
	}
}

// print prints lines that are wanted. A pipe whose reader has gone ends the command.
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

// text is a line as -o asks for it. Of what is for people nothing can move the cursor.
func (p *printer) text(l line) (string, error) {
	switch p.console.Output {
	case "json":
		var text strings.Builder
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		err := e.Encode(l)
		return text.String(), err
	case "yaml": // an element of a list, so that all of them are one document
		raw, err := yaml.Marshal([]line{l})
		return string(raw), err
	}
	at := l.T.Local().Format("15:04:05.000")
	if p.dates {
		at = l.T.Local().Format("2006-01-02T15:04:05.000Z07:00")
	}
	of := ""
	if p.several {
		of = fmt.Sprintf("%-*s | ", p.room, console.Line(l.Of))
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

// What a terminal shows levels by: they are read by their words too.
const (
	plain = "\x1b[0m"
	faint = "\x1b[2m"
)

var colours = map[string]string{string(api.Debug): faint, string(api.Info): "\x1b[36m", string(api.Warn): "\x1b[33m", string(api.Error): "\x1b[31m"}
