package terraform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/truncate"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// maxOutputLine bounds an incomplete line of output, in bytes. The longest line is a state
// that Terraform could not store anywhere else.
const maxOutputLine = 64 << 20

// maxDiagnostic bounds the part of one diagnostic in an error, in bytes.
const maxDiagnostic = 2 << 10

// outputParser reads Terraform's machine-readable output, logs readable lines as they arrive,
// and collects the errors. It shows only messages, because other fields can contain values.
type outputParser struct {
	log      *job.Log
	location location
	partial  []byte
	left     bool // the rest of the line is discarded
	errors   []string
	applied  bool   // the summary of a finished apply was printed
	state    []byte // what Terraform printed because it could not write it; contains secrets
}

// location describes where Terraform runs, so that people see paths of the repository
// and not of this machine.
type location struct {
	// root is the directory that contains the tree of the repository.
	root string
	// module is the root module's directory in that tree.
	module string
}

// name returns a file's path in the repository.
func (l location) name(file string) string {
	if below, err := filepath.Rel(l.root, file); filepath.IsAbs(file) && err == nil && filepath.IsLocal(below) {
		return filepath.ToSlash(below)
	}
	if filepath.IsAbs(file) || file == "" {
		return file
	}
	return path.Join(l.module, filepath.ToSlash(file))
}

// Write accepts output in chunks of any size.
func (p *outputParser) Write(text []byte) (int, error) {
	p.partial = append(p.partial, text...)
	for {
		end := bytes.IndexByte(p.partial, '\n')
		if end < 0 {
			break
		}
		if !p.left {
			p.parseLine(p.partial[:end])
		}
		p.partial, p.left = p.partial[end+1:], false
	}
	if p.left {
		p.partial = nil
	} else if len(p.partial) > maxOutputLine {
		// No part of the line is shown, because its other fields can contain values.
		p.log.Warn("Terraform printed a line of more than %d MiB; it is left out", maxOutputLine>>20)
		p.partial, p.left = nil, true
	}
	return len(text), nil
}

// flush shows an incomplete last line.
func (p *outputParser) flush() {
	if len(p.partial) > 0 {
		p.parseLine(p.partial)
		p.partial = nil
	}
}

// event is one line of the machine-readable output.
type event struct {
	Level      string     `json:"@level"`
	Message    string     `json:"@message"`
	Type       string     `json:"type"`
	Diagnostic diagnostic `json:"diagnostic"`
	Changes    struct {
		Operation string `json:"operation"`
	} `json:"changes"`
	// State is the state of an emergency dump.
	State json.RawMessage `json:"state"`
}

type diagnostic struct {
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	Detail   string `json:"detail"`
	Address  string `json:"address"`
	Range    struct {
		Filename string `json:"filename"`
		Start    struct {
			Line int `json:"line"`
		} `json:"start"`
	} `json:"range"`
}

func (p *outputParser) parseLine(line []byte) {
	var said event
	if json.Unmarshal(line, &said) != nil || said.Message == "" {
		if text := strings.TrimRight(string(line), "\r "); text != "" {
			p.log.Info("%s", text)
		}
		return
	}
	if len(said.State) > 0 {
		p.state = said.State
	}
	switch {
	case said.Type == "diagnostic":
		p.addDiagnostic(said.Diagnostic)
	case said.Type == "version":
		p.log.Debug("%s", said.Message)
	case said.Level == "error":
		logText(p.log.Error, said.Message)
	case said.Level == "warn":
		logText(p.log.Warn, said.Message)
	default:
		if said.Type == "change_summary" && (said.Changes.Operation == "apply" || said.Changes.Operation == "destroy") {
			p.applied = true
		}
		logText(p.log.Info, said.Message)
	}
}

// logText logs a text without the empty lines with which Terraform frames its messages.
func logText(print func(format string, args ...any), text string) {
	var kept []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \r\n"); line != "" {
			kept = append(kept, line)
		}
	}
	if len(kept) > 0 {
		print("%s", strings.Join(kept, "\n"))
	}
}

// addDiagnostic logs a diagnostic, and collects it if it is an error.
func (p *outputParser) addDiagnostic(said diagnostic) {
	said.Range.Filename = p.location.name(said.Range.Filename)
	text := said.text()
	if said.Severity == "warning" {
		logText(p.log.Warn, text)
		return
	}
	logText(p.log.Error, text)
	lines := strings.Split(p.log.Redacted(text), "\n")
	for i, line := range lines {
		lines[i] = diff.EscapeText(line)
	}
	p.errors = append(p.errors, truncate.Text(strings.Join(lines, "\n"), maxDiagnostic))
}

// text returns "file:line: summary: detail", with the resource if it is known.
func (d diagnostic) text() string {
	text := strings.TrimSuffix(strings.TrimSpace(d.Summary), ".")
	if detail := strings.TrimSpace(d.Detail); detail != "" {
		text += ": " + detail
	}
	if d.Address != "" {
		text = d.Address + ": " + text
	}
	if d.Range.Filename != "" {
		text = fmt.Sprintf("%s:%d: %s", d.Range.Filename, d.Range.Start.Line, text)
	}
	return text
}
