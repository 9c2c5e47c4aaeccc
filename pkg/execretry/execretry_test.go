package execretry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

var errBusy = fmt.Errorf("start: %w", &os.PathError{Op: "fork/exec", Path: "/p", Err: syscall.ETXTBSY})

func TestPatiently(t *testing.T) {
	other := errors.New("another mistake")
	for name, test := range map[string]struct {
		busy  time.Duration // how long the file is busy
		then  error
		limit time.Duration // limit of the context; none if zero
		want  []error
		tries int // zero for any
		took  time.Duration
	}{
		"not busy":        {tries: 1},
		"another mistake": {then: other, want: []error{other}, tries: 1},
		// It tries after 0, 1, 3, 7 and 15 ms.
		"busy": {busy: 10 * time.Millisecond, tries: 5, took: 15 * time.Millisecond},
		"busy, then another": {busy: 2 * time.Millisecond, then: other, want: []error{other}, tries: 3,
			took: 3 * time.Millisecond},
		"busy for ever": {busy: time.Hour, want: []error{syscall.ETXTBSY}, took: retryFor},
		"given up": {busy: time.Hour, limit: time.Second,
			want: []error{syscall.ETXTBSY, context.DeadlineExceeded}, took: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, tries, begun := t.Context(), 0, time.Now()
				if test.limit > 0 {
					limited, cancel := context.WithTimeout(ctx, test.limit)
					defer cancel()
					ctx = limited
				}
				err := Retry(ctx, func() error {
					tries++
					if time.Since(begun) < test.busy {
						return errBusy
					}
					return test.then
				})
				if (err == nil) != (test.want == nil) {
					t.Errorf("the error is %v", err)
				}
				for _, want := range test.want {
					if !errors.Is(err, want) {
						t.Errorf("%v is not %v", err, want)
					}
				}
				if test.tries != 0 && tries != test.tries {
					t.Errorf("it tried %d times, want %d", tries, test.tries)
				}
				if took := time.Since(begun); took < test.took || took > test.took+longestPause {
					t.Errorf("it took %s, want %s", took, test.took)
				}
			})
		})
	}
}

// TestAProgramThatIsBeingWritten checks that a program which the system refuses to start while it
// is open for writing starts after it is closed.
func TestAProgramThatIsBeingWritten(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	writer, err := os.OpenFile(program, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close() //nolint:errcheck // it is closed in the middle of the test
	if _, err := writer.WriteString("#!/bin/sh\necho ran\n"); err != nil {
		t.Fatal(err)
	}
	var said []byte
	var refused []error
	err = Retry(t.Context(), func() (err error) {
		said, err = exec.CommandContext(t.Context(), program).Output()
		if err != nil {
			refused = append(refused, err)
		}
		if len(refused) == 3 {
			_ = writer.Close()
		}
		return err
	})
	if err != nil || string(said) != "ran\n" {
		t.Errorf("it says %q: %v", said, err)
	}
	if len(refused) < 3 {
		t.Skipf("this system runs what is being written: %v", refused)
	}
	for _, err := range refused {
		if !errors.Is(err, syscall.ETXTBSY) {
			t.Errorf("it was refused by %v", err)
		}
	}
}
