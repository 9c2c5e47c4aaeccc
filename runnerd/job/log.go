package job

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
)

// MaxLogBytes is the size at which a job's log is cut. Its last line then states that.
const MaxLogBytes = 16 << 20

// maxMessage is the largest message of one line in bytes; a longer one continues in the next
// line. Escaped as JSON it still fits into a chunk.
const maxMessage = 8 << 10

// Log is the job's log for people. It is safe for concurrent use. Every message passes
// the redactor before it is written.
type Log struct {
	out    io.Writer
	redact *redact.Set
	now    func() time.Time

	mutex   sync.Mutex
	left    int64
	limiter rateLimiter
	err     error
}

// NewLog returns a Log that writes one api.LogLine as JSON per line and per Write to out.
func NewLog(out io.Writer, secrets *redact.Set) *Log {
	return &Log{out: out, redact: secrets, now: time.Now, left: MaxLogBytes}
}

// Debug logs details for developers of the product.
func (l *Log) Debug(format string, args ...any) { l.print(api.Debug, fmt.Sprintf(format, args...)) }

// Info logs progress.
func (l *Log) Info(format string, args ...any) { l.print(api.Info, fmt.Sprintf(format, args...)) }

// Warn logs a possible problem.
func (l *Log) Warn(format string, args ...any) { l.print(api.Warn, fmt.Sprintf(format, args...)) }

// Error logs a problem.
func (l *Log) Error(format string, args ...any) { l.print(api.Error, fmt.Sprintf(format, args...)) }

// Err returns the first error of writing the log, or nil.
func (l *Log) Err() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.err
}

// Redacted returns a text without secrets. Callers use it before they cut a text, because
// neither half of a secret that is cut in two would be found.
func (l *Log) Redacted(text string) string { return l.redact.String(text) }

func (l *Log) print(level api.LogLineL, text string) {
	for line := range strings.Lines(l.redact.String(text)) {
		l.writeLine(level, line)
	}
}

// writeLine writes one line that has passed the redactor, split if it is too long.
func (l *Log) writeLine(level api.LogLineL, text string) {
	text = clean(text)
	for {
		piece := text
		if len(piece) > maxMessage {
			piece = strings.ToValidUTF8(text[:maxMessage], "")
		}
		l.write(level, piece)
		if text = text[len(piece):]; text == "" {
			return
		}
	}
}

// clean removes what later readers cannot store: line ends, invalid UTF-8, and NUL,
// which Postgres does not accept in JSON.
func clean(text string) string {
	text = strings.TrimRight(text, "\r\n")
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

func (l *Log) write(level api.LogLineL, message string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := l.now()
	// Only the progress messages of a tool are rate limited; warnings and errors never are.
	if level == api.Warn || level == api.Error {
		l.writeWithinLimit(now, level, message)
		return
	}
	before := l.limiter.dropping
	switch fits := l.limiter.allow(now, len(message)); {
	case fits:
		if mark := l.limiter.droppedSummary(); mark != "" {
			l.writeWithinLimit(now, api.Warn, mark)
		}
		l.writeWithinLimit(now, level, message)
	case !before:
		l.writeWithinLimit(now, api.Warn, droppedMark)
	}
}

// Close logs how many lines were dropped last. It does not close the underlying writer.
func (l *Log) Close() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if mark := l.limiter.droppedSummary(); mark != "" {
		l.writeWithinLimit(l.now(), api.Warn, mark)
	}
}

// writeWithinLimit writes one line while the log has room.
func (l *Log) writeWithinLimit(now time.Time, level api.LogLineL, message string) {
	if l.left <= 0 {
		return
	}
	encoded, err := json.Marshal(api.LogLine{T: now.UTC(), L: level, M: message})
	if err != nil {
		l.err = err
		return
	}
	l.writeEncoded(encoded)
	if l.left -= int64(len(encoded)) + 1; l.left > 0 {
		return
	}
	cut, err := json.Marshal(api.LogLine{T: now.UTC(), L: api.Warn, M: fmt.Sprintf(
		"the log of this job has reached %d MiB; the rest is not kept", MaxLogBytes>>20)})
	if err == nil {
		l.writeEncoded(cut)
	}
}

// writeEncoded makes exactly one Write per line, so that appended lines of two processes do not mix.
func (l *Log) writeEncoded(encoded []byte) {
	if _, err := l.out.Write(append(encoded, '\n')); err != nil && l.err == nil {
		l.err = err
	}
}

// Writer returns a writer that logs its text as lines of a level, for the output of a tool. It
// finds secrets that span several writes or lines. Close writes a last line without a newline.
func (l *Log) Writer(level api.LogLineL) io.WriteCloser {
	lines := &lineWriter{log: l, level: level}
	return &logWriter{Writer: l.redact.Writer(lines), lines: lines}
}

type logWriter struct {
	*redact.Writer
	lines *lineWriter
}

// Close flushes the pending text.
func (w *logWriter) Close() error {
	err := w.Writer.Close()
	w.lines.close()
	return err
}

// lineWriter receives text that has passed the redactor. The redactor's lock is
// held during each Write.
type lineWriter struct {
	log     *Log
	level   api.LogLineL
	partial []byte
}

// Write splits the text into lines and holds back an incomplete last line of
// up to maxMessage bytes.
func (w *lineWriter) Write(text []byte) (int, error) {
	w.partial = append(w.partial, text...)
	for {
		end := bytes.IndexByte(w.partial, '\n')
		if end < 0 {
			break
		}
		w.log.writeLine(w.level, string(w.partial[:end]))
		w.partial = w.partial[end+1:]
	}
	if len(w.partial) > maxMessage {
		w.close()
	}
	return len(text), nil
}

func (w *lineWriter) close() {
	if len(w.partial) > 0 {
		w.log.writeLine(w.level, string(w.partial))
		w.partial = nil
	}
}
