package redact

import (
	"errors"
	"io"
	"sync"
)

// errClosed is the error of Write after Close.
var errClosed = errors.New("redact: write after close")

// Writer forwards text without secrets. It holds back only the end of the text that may be the
// start of a secret, so ordinary lines pass immediately. Close forwards what is held back. It is
// safe for concurrent use, but if two texts are interleaved, a secret of one that is interrupted by
// the other is not found.
type Writer struct {
	set *Set
	out io.Writer

	mutex   sync.Mutex
	machine *automaton
	state   int32
	// held contains the bytes that may still turn out to be secret; hidden contains, for each,
	// whether it already has.
	held   []byte
	hidden []bool
	// marked is true if the last output was a Mark, so that more secret bytes need no further Mark.
	marked bool
	ready  []byte
	failed error
}

// Writer returns a Writer to out. Secrets that are added later apply from the bytes on that are
// still held back.
func (s *Set) Writer(out io.Writer) *Writer { return &Writer{set: s, out: out} }

// Write accepts all of text or returns the error of the underlying writer.
func (w *Writer) Write(text []byte) (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.failed != nil {
		return 0, w.failed
	}
	w.refresh()
	if w.machine == nil {
		w.ready = append(w.ready, text...)
	} else {
		w.scan(text)
	}
	if err := w.emit(); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Flush forwards what is held back, as if the text ended here. A secret that continues in the next
// Write is then not found.
func (w *Writer) Flush() error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.failed != nil {
		return w.failed
	}
	w.refresh()
	w.release(len(w.held))
	w.state = root
	return w.emit()
}

// Close flushes and makes further writes fail. It does not close the underlying writer.
func (w *Writer) Close() error {
	err := w.Flush()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.failed == nil {
		w.failed = errClosed
	} else if errors.Is(w.failed, errClosed) {
		return nil
	}
	return err
}

// refresh switches to the newest automaton and scans the held bytes again.
func (w *Writer) refresh() {
	machine := w.set.search()
	if machine == w.machine {
		return
	}
	w.machine, w.state = machine, root
	for i, b := range w.held {
		w.state = machine.step(w.state, b)
		hide(w.hidden[:i+1], machine.nodes[w.state].match)
	}
}

func (w *Writer) scan(text []byte) {
	for len(text) > 0 {
		if w.state == root {
			plain := w.machine.plain(text)
			if plain > 0 {
				w.ready, w.marked = append(w.ready, text[:plain]...), false
				text = text[plain:]
				continue
			}
		}
		w.state = w.machine.step(w.state, text[0])
		w.held, w.hidden = append(w.held, text[0]), append(w.hidden, false)
		text = text[1:]
		hide(w.hidden, w.machine.nodes[w.state].match)
		// Bytes that are not part of a possible start of a form are settled.
		w.release(len(w.held) - int(w.machine.nodes[w.state].depth))
	}
}

// plain returns the number of bytes at the start of text before the first byte that a form starts
// with.
func (a *automaton) plain(text []byte) int {
	for i, b := range text {
		if a.begins[b] {
			return i
		}
	}
	return len(text)
}

// hide marks the last n bytes as secret.
func hide(hidden []bool, n int32) {
	for i := len(hidden) - int(n); i < len(hidden); i++ {
		hidden[i] = true
	}
}

// release moves the first n held bytes to ready.
func (w *Writer) release(n int) {
	if n <= 0 {
		return
	}
	for i := range n {
		if !w.hidden[i] {
			w.ready, w.marked = append(w.ready, w.held[i]), false
		} else if !w.marked {
			w.ready, w.marked = append(w.ready, Mark...), true
		}
	}
	w.held = append(w.held[:0], w.held[n:]...)
	w.hidden = append(w.hidden[:0], w.hidden[n:]...)
}

func (w *Writer) emit() error {
	if len(w.ready) == 0 {
		return nil
	}
	_, err := w.out.Write(w.ready)
	w.ready = w.ready[:0]
	if err != nil {
		w.failed = err
	}
	return err
}
