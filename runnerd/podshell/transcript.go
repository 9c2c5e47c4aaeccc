package podshell

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"os"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	files "github.com/nuon-toolkit/nuon/runnerd/transcript"
)

// transcript is the owner's record of a session, an asciicast (version 2): a line of JSON for each piece of text, with
// its time, its direction ("o" or "i") and the text, in which control characters are escaped.
type transcript struct {
	file *os.File

	mutex   sync.Mutex
	start   time.Time
	digest  hash.Hash
	partial map[string][]byte // the start of a character, by direction
	sizes   map[string]int64
	err     error
}

// The directions of a transcript.
const (
	typed   = "i"
	shown   = "o"
	resized = "r"
)

func newTranscript(env *job.Env, request api.NewShell) (*transcript, error) {
	file, err := files.Create(env.Root, env.Spec.Job, env.Spec.Attempt, ".cast")
	if err != nil {
		return nil, err
	}
	t := &transcript{file: file, start: time.Now(), digest: sha256.New(), partial: map[string][]byte{},
		sizes: map[string]int64{}}
	t.line(map[string]any{"version": 2, "width": request.Columns, "height": request.Rows, "timestamp": t.start.Unix(),
		"title": fmt.Sprintf("%s by %s: %s", request.Component, env.Spec.Shell.RequestedBy, request.Reason)})
	return t, t.err
}

// add records text in one direction. The session ends with the first error (failed).
func (t *transcript) add(direction string, text []byte) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.sizes[direction] += int64(len(text))
	text = append(t.partial[direction], text...)
	whole := wholeRunes(text)
	t.partial[direction] = append([]byte(nil), text[whole:]...)
	if whole > 0 {
		t.line([]any{time.Since(t.start).Seconds(), direction, string(text[:whole])}) // what is no UTF-8 becomes U+FFFD
	}
}

// resize records another size of the window.
func (t *transcript) resize(columns, rows int) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.line([]any{time.Since(t.start).Seconds(), resized, fmt.Sprintf("%dx%d", columns, rows)})
}

// wholeRunes returns the length of a text without an incomplete character at its end.
func wholeRunes(text []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if start := len(text) - back; utf8.RuneStart(text[start]) {
			if !utf8.FullRune(text[start:]) {
				return start
			}
			break
		}
	}
	return len(text)
}

func (t *transcript) line(value any) {
	line, err := json.Marshal(value)
	if err == nil {
		line = append(line, '\n')
		t.digest.Write(line)
		_, err = t.file.Write(line)
	}
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("write the transcript: %w", err)
	}
}

// failed returns why the transcript is not complete.
func (t *transcript) failed() error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.err
}

// close completes the file, and the result with what it has.
func (t *transcript) close(result *api.ShellResult) error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	result.InputBytes, result.OutputBytes = t.sizes[typed], t.sizes[shown]
	result.Transcript = "sha256:" + hex.EncodeToString(t.digest.Sum(nil))
	if err := errors.Join(t.file.Sync(), t.file.Close()); err != nil && t.err == nil {
		t.err = fmt.Errorf("write the transcript: %w", err)
	}
	return t.err
}
