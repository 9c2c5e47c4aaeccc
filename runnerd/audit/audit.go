// Package audit keeps the owner's own log of what a runner did in the account: which role each job got or was refused,
// which secrets it read, who saw logs of pods, ran debug commands and opened shells, and what the owner granted, set,
// paused and resumed. Events are only appended. Job processes, runnerd and the commands of the owner write it; nothing
// is sent to the control plane.
//
// A hostile control plane can cause events and cannot remove any: each day has a file, which is deleted by its age
// alone, and events that a day has no more room for are counted.
package audit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/nuon-toolkit/nuon/pkg/filelock"
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
	// Dropped is how many events of this kind the log does not have, because the day had no more room for them.
	Dropped int `json:"dropped,omitempty"`
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
	ShellRefused  = "shell refused"
	ShellStarted  = "shell started"
	ShellEnded    = "shell ended"

	EndConfirmed = "end of a job confirmed"
)

// maxField and maxReason bound the texts of an event, so that a line is written at once.
const (
	maxField  = 200
	maxReason = 1000
)

// lockTimeout bounds the wait for another process that appends.
const lockTimeout = 10 * time.Second

// logDir returns the directory of the log in a runner's directory. Pods of jobs mount it.
func logDir(dir string) string { return filepath.Join(dir, "audit") }

func file(dir string) string { return filepath.Join(logDir(dir), "audit.log") }

// errFull is returned for what must not be done without a line in the log.
var errFull = fmt.Errorf("the day has more than %d such events; try again tomorrow", perRequest)

// Append adds an event to the log in a runner's directory. Several processes may append at once. It returns an error
// for logs, debug commands and shells if the day has no room for them, so that the runner refuses these.
func Append(dir string, e Event) error {
	if e.At.IsZero() {
		e.At = time.Now()
	}
	if err := appendEvent(dir, e, time.Now()); err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	return nil
}

// appendEvent adds an event at a time by the machine's clock, or counts it if the day has no more room for it.
func appendEvent(dir string, e Event, now time.Time) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	if err := os.MkdirAll(logDir(dir), 0o700); err != nil {
		return err
	}
	release, err := filelock.Wait(ctx, file(dir)+".lock", nil)
	if err != nil {
		return err
	}
	defer release()
	if err := endDay(dir, now); err != nil {
		return err
	}
	fits, err := hasRoom(dir, e, now)
	switch {
	case err != nil:
		return err
	case fits:
		return write(dir, e)
	case e.What == LogsRequested, e.What == DebugStarted, e.What == ShellStarted:
		return errFull
	}
	return nil
}

// write appends an event to the file of the current day.
func write(dir string, e Event) error {
	e.At = e.At.UTC().Truncate(time.Millisecond)
	for _, field := range []*string{&e.By, &e.Role, &e.Job, &e.Install, &e.Component, &e.Operation, &e.Secret} {
		*field = printable(*field, maxField)
	}
	e.Reason = printable(e.Reason, maxReason)
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	out, err := open(file(dir), os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	_, err = out.Write(append(line, '\n'))
	return errors.Join(err, out.Sync(), out.Close())
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

// Read returns the events since a time, the oldest first.
func Read(dir string, since time.Time) ([]Event, error) {
	var all []Event
	err := Each(dir, since, func(e Event) error {
		all = append(all, e)
		return nil
	})
	return all, err
}

// Each calls do with each event since a time, the oldest first, and then with how many events of the current day were
// dropped so far. A line that is no event, such as one of a full disk, is an event with the kind "unreadable".
func Each(dir string, since time.Time, do func(Event) error) error {
	names, err := files(dir, since)
	if err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	for _, name := range names {
		if err := eachOf(name, since, do); err != nil {
			return fmt.Errorf("read the audit log: %w", err)
		}
	}
	counted, err := readDropped(dir)
	if err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	for _, e := range counted.events() {
		if err := do(e); err != nil {
			return err
		}
	}
	return nil
}

func eachOf(name string, since time.Time, do func(Event) error) error {
	content, err := open(name, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer content.Close() //nolint:errcheck // it was only read
	lines := bufio.NewReader(content)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e Event
			if json.Unmarshal(line, &e) != nil {
				e = Event{What: "unreadable", Reason: fmt.Sprintf("a line of %d bytes", len(line))}
			}
			if e.At.IsZero() || !e.At.Before(since) {
				if err := do(e); err != nil {
					return err
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
