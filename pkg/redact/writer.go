package redact

import (
	"errors"
	"io"
	"sync"
)

// errClosed is what Write says after Close.
var errClosed = errors.New("redact: write after close")

// Writer passes text on without what is secret. It holds back only the end of the text that may be the beginning of a secret, so
// ordinary lines pass at once. Close passes on what is held. It is for any number of goroutines, but each of two interleaved
// texts hides the secrets of the other from it.
type Writer struct {
	set *Set
	out io.Writer

	mutex   sync.Mutex
	machine *automaton
	state   int32
	// held is what may yet turn out to be secret; hidden says of each byte whether it already has.
	held   []byte
	hidden []bool
	// marked: the last thing passed on was a Mark, and the run may go on.
	marked bool
	ready  []byte
	failed error
}

// Writer gives a Writer to out. Secrets that are added later count from the bytes that are still held on.
func (s *Set) Writer(out io.Writer) *Writer { return &Writer{set: s, out: out} }

// Write takes all of text or gives the error of the writer below.
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

// Flush passes on what is held, as if the text ended here. A secret that goes on in the next Write is then not found.
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

// Close is Flush, and no Write is taken after it. The writer below stays open.
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

// refresh takes over the newest set, and reads again what is held.
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
		// What begins no form that may still go on is settled.
		w.release(len(w.held) - int(w.machine.nodes[w.state].depth))
	}
}

// plain counts the bytes at the start of text that begin no form.
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

// release moves the first n held bytes to what is ready.
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
