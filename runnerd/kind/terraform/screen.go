package terraform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// maxScreenLine bounds an incomplete line of output, in bytes. The longest line is a state
// that Terraform could not store anywhere else.
const maxScreenLine = 64 << 20

// maxDiagnostic bounds the part of one diagnostic in an error, in bytes.
const maxDiagnostic = 2 << 10

// screen reads Terraform's machine-readable output, logs readable lines as they arrive,
// and collects the errors. It shows only messages, because other fields can contain values.
type screen struct {
	log     *job.Log
	place   placing
	held    []byte
	left    bool // the rest of the line is discarded
	errors  []string
	applied bool   // the summary of a finished apply was printed
	state   []byte // what Terraform printed because it could not write it; contains secrets
}

// placing describes where Terraform runs, so that people see paths of the repository
// and not of this machine.
type placing struct {
	// root is the directory that contains the tree of the repository.
	root string
	// module is the root module's directory in that tree.
	module string
}

// name returns a file's path in the repository.
func (p placing) name(file string) string {
	if below, err := filepath.Rel(p.root, file); filepath.IsAbs(file) && err == nil && filepath.IsLocal(below) {
		return filepath.ToSlash(below)
	}
	if filepath.IsAbs(file) || file == "" {
		return file
	}
	return path.Join(p.module, filepath.ToSlash(file))
}

// Write accepts output in chunks of any size.
func (s *screen) Write(text []byte) (int, error) {
	s.held = append(s.held, text...)
	for {
		end := bytes.IndexByte(s.held, '\n')
		if end < 0 {
			break
		}
		if !s.left {
			s.line(s.held[:end])
		}
		s.held, s.left = s.held[end+1:], false
	}
	if s.left {
		s.held = nil
	} else if len(s.held) > maxScreenLine {
		// No part of the line is shown, because its other fields can contain values.
		s.log.Warn("Terraform printed a line of more than %d MiB; it is left out", maxScreenLine>>20)
		s.held, s.left = nil, true
	}
	return len(text), nil
}

// flush shows an incomplete last line.
func (s *screen) flush() {
	if len(s.held) > 0 {
		s.line(s.held)
		s.held = nil
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

func (s *screen) line(line []byte) {
	var said event
	if json.Unmarshal(line, &said) != nil || said.Message == "" {
		if text := strings.TrimRight(string(line), "\r "); text != "" {
			s.log.Info("%s", text)
		}
		return
	}
	if len(said.State) > 0 {
		s.state = said.State
	}
	switch {
	case said.Type == "diagnostic":
		s.problem(said.Diagnostic)
	case said.Type == "version":
		s.log.Debug("%s", said.Message)
	case said.Level == "error":
		show(s.log.Error, said.Message)
	case said.Level == "warn":
		show(s.log.Warn, said.Message)
	default:
		if said.Type == "change_summary" && (said.Changes.Operation == "apply" || said.Changes.Operation == "destroy") {
			s.applied = true
		}
		show(s.log.Info, said.Message)
	}
}

// show logs a text without the empty lines with which Terraform frames its messages.
func show(print func(format string, args ...any), text string) {
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

// problem logs a diagnostic, and collects it if it is an error.
func (s *screen) problem(said diagnostic) {
	said.Range.Filename = s.place.name(said.Range.Filename)
	text := said.text()
	if said.Severity == "warning" {
		show(s.log.Warn, text)
		return
	}
	show(s.log.Error, text)
	lines := strings.Split(s.log.Redacted(text), "\n")
	for i, line := range lines {
		lines[i] = diff.EscapeText(line)
	}
	text = strings.Join(lines, "\n")
	if len(text) > maxDiagnostic {
		text = strings.ToValidUTF8(text[:maxDiagnostic], "") + "…"
	}
	s.errors = append(s.errors, text)
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
