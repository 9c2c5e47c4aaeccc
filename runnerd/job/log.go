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

// MaxLogBytes is the size at which a job's log is cut, with a line that says so.
const MaxLogBytes = 16 << 20

// maxMessage is the largest message of one line in bytes; a longer one goes on in the next line. Escaped as JSON it still fits
// into a chunk.
const maxMessage = 8 << 10

// Log is what people will read about the job, for any number of goroutines. Every message passes the redactor before it is
// written anywhere.
type Log struct {
	out    io.Writer
	redact *redact.Set
	now    func() time.Time

	mutex   sync.Mutex
	left    int64
	pace    pace
	trouble error
}

// NewLog writes to out one JSON object of an api.LogLine per line and per Write.
func NewLog(out io.Writer, secrets *redact.Set) *Log {
	return &Log{out: out, redact: secrets, now: time.Now, left: MaxLogBytes}
}

// Debug writes what only a developer of the product wants to know.
func (l *Log) Debug(format string, args ...any) { l.print(api.Debug, fmt.Sprintf(format, args...)) }

// Info writes what happens.
func (l *Log) Info(format string, args ...any) { l.print(api.Info, fmt.Sprintf(format, args...)) }

// Warn writes what may be wrong.
func (l *Log) Warn(format string, args ...any) { l.print(api.Warn, fmt.Sprintf(format, args...)) }

// Error writes what is wrong.
func (l *Log) Error(format string, args ...any) { l.print(api.Error, fmt.Sprintf(format, args...)) }

// Trouble gives the first error of writing the log, nil when all was written.
func (l *Log) Trouble() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.trouble
}

// Redacted returns a text without secrets. Who cuts a text calls it first: of a secret that is cut in two, neither part is found.
func (l *Log) Redacted(text string) string { return l.redact.String(text) }

func (l *Log) print(level api.LogLineL, text string) {
	for line := range strings.Lines(l.redact.String(text)) {
		l.line(level, line)
	}
}

// line writes one line that has passed the redactor, in pieces if it is long.
func (l *Log) line(level api.LogLineL, text string) {
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

// clean takes out what no later reader can hold: line ends, broken UTF-8, and NUL, which JSON in Postgres refuses.
func clean(text string) string {
	text = strings.TrimRight(text, "\r\n")
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

func (l *Log) write(level api.LogLineL, message string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := l.now()
	// What is wrong is worth its room: only what a tool tells of its work is held to a pace.
	if level == api.Warn || level == api.Error {
		l.keep(now, level, message)
		return
	}
	before := l.pace.dropping
	switch fits := l.pace.admit(now, len(message)); {
	case fits:
		if mark := l.pace.droppedTo(); mark != "" {
			l.keep(now, api.Warn, mark)
		}
		l.keep(now, level, message)
	case !before:
		l.keep(now, api.Warn, droppedFrom)
	}
}

// Close says what was dropped last. The writer below stays open.
func (l *Log) Close() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if mark := l.pace.droppedTo(); mark != "" {
		l.keep(l.now(), api.Warn, mark)
	}
}

// keep writes one line while the log has room.
func (l *Log) keep(now time.Time, level api.LogLineL, message string) {
	if l.left <= 0 {
		return
	}
	encoded, err := json.Marshal(api.LogLine{T: now.UTC(), L: level, M: message})
	if err != nil {
		l.trouble = err
		return
	}
	l.put(encoded)
	if l.left -= int64(len(encoded)) + 1; l.left > 0 {
		return
	}
	cut, err := json.Marshal(api.LogLine{T: now.UTC(), L: api.Warn, M: fmt.Sprintf("the log of this job has reached %d MiB; the rest is not kept", MaxLogBytes>>20)})
	if err == nil {
		l.put(cut)
	}
}

// put makes one Write per line: appended at once, lines of two processes do not mix.
func (l *Log) put(encoded []byte) {
	if _, err := l.out.Write(append(encoded, '\n')); err != nil && l.trouble == nil {
		l.trouble = err
	}
}

// Writer gives a writer whose text becomes lines of that level; for the output of a tool. A secret that goes over several writes
// or lines is found. Close writes a last line without its end.
func (l *Log) Writer(level api.LogLineL) io.WriteCloser {
	lines := &lineWriter{log: l, level: level}
	return &logWriter{Writer: l.redact.Writer(lines), lines: lines}
}

type logWriter struct {
	*redact.Writer
	lines *lineWriter
}

// Close passes on what is held.
func (w *logWriter) Close() error {
	err := w.Writer.Close()
	w.lines.close()
	return err
}

// lineWriter gets text that has passed the redactor, under the redactor's lock.
type lineWriter struct {
	log   *Log
	level api.LogLineL
	held  []byte
}

// Write splits into lines and holds the last one without an end, up to maxMessage.
func (w *lineWriter) Write(text []byte) (int, error) {
	w.held = append(w.held, text...)
	for {
		end := bytes.IndexByte(w.held, '\n')
		if end < 0 {
			break
		}
		w.log.line(w.level, string(w.held[:end]))
		w.held = w.held[end+1:]
	}
	if len(w.held) > maxMessage {
		w.close()
	}
	return len(text), nil
}

func (w *lineWriter) close() {
	if len(w.held) > 0 {
		w.log.line(w.level, string(w.held))
		w.held = nil
	}
}
