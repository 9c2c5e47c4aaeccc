// Package audit keeps the owner's own log of what a runner did in the account: which role each job got or was refused,
// which secrets it read, who saw logs of pods and ran debug commands, and what the owner granted, set, paused and
// resumed. Events are only appended. Job processes, runnerd and the commands of the owner write it; nothing is sent to
// the control plane.
package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
)

// Event is one line of the log.
type Event struct {
	At   time.Time `json:"at"`
	What string    `json:"what"`
	// By is the user of the machine who gave a command; empty for the runner itself.
	By        string    `json:"by,omitempty"`
	Role      string    `json:"role,omitempty"`
	Job       string    `json:"job,omitempty"`
	Attempt   int       `json:"attempt,omitempty"`
	Install   string    `json:"install,omitempty"`
	Component string    `json:"component,omitempty"`
	Operation string    `json:"operation,omitempty"`
	Secret    string    `json:"secret,omitempty"` // name, never a value
	Until     time.Time `json:"until,omitzero"`
	Reason    string    `json:"reason,omitempty"`
}

// The kinds of event.
const (
	RoleAssumed  = "role assumed"
	RoleRefused  = "role refused"
	GrantAdded   = "grant added"
	GrantRemoved = "grant removed"
	Paused       = "paused"
	Resumed      = "resumed"

	SecretRead    = "secret read"
	SecretSet     = "secret set"
	SecretDeleted = "secret deleted"

	LogsRequested = "logs requested"
	LogsEnded     = "logs ended"
	DebugRefused  = "debug command refused"
	DebugStarted  = "debug command started"
	DebugEnded    = "debug command ended"
)

// maxFile is the size from which a log is set aside as audit.log.1, which replaces an earlier one.
const maxFile = 64 << 20

// maxField and maxReason bound the texts of an event, so that a line is written at once.
const (
	maxField  = 200
	maxReason = 1000
)

func file(dir string) string { return filepath.Join(dir, "audit.log") }

// Append adds an event to the log in a runner's directory. Several processes may append at once.
func Append(dir string, e Event) error {
	if e.At.IsZero() {
		e.At = time.Now()
	}
	e.At = e.At.UTC().Truncate(time.Millisecond)
	for _, field := range []*string{&e.By, &e.Role, &e.Job, &e.Install, &e.Component, &e.Operation, &e.Secret} {
		*field = printable(*field, maxField)
	}
	e.Reason = printable(e.Reason, maxReason)
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	if info, err := os.Stat(file(dir)); err == nil && info.Size() > maxFile {
		_ = os.Rename(file(dir), file(dir)+".1") // another process may have done it; then the log grows a little more
	}
	out, err := os.OpenFile(file(dir), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	_, err = out.Write(append(line, '\n'))
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	return nil
}

// printable returns a text, some of which a control plane chose, without what a terminal would act on, and cut.
func printable(text string, length int) string {
	clean := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text[:min(len(text), length)])
	if len(text) > length {
		clean += "…"
	}
	return clean
}

// Read returns the events of the log, the oldest first. A line that is no event, such as one of a full disk, is an
// event with the kind "unreadable".
func Read(dir string) ([]Event, error) {
	var all []Event
	for _, name := range []string{file(dir) + ".1", file(dir)} {
		content, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		lines := bufio.NewScanner(bytes.NewReader(content))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var e Event
			if json.Unmarshal(lines.Bytes(), &e) != nil {
				e = Event{What: "unreadable", Reason: fmt.Sprintf("a line of %d bytes", len(lines.Bytes()))}
			}
			all = append(all, e)
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
	}
	return all, nil
}
