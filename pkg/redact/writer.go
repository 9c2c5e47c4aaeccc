package redact

import (
	"errors"
	"io"
	"slices"
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
	// pending contains the bytes that may still turn out to be secret; hidden contains, for each,
	// whether it already has.
	pending []byte
	masked  []bool
	// maskWritten is true if the last output was a Mask, so that more secret bytes need no further Mask.
	maskWritten bool
	ready       []byte
	err         error
}

// Writer returns a Writer to out. Secrets that are added later apply from the bytes on that are
// still held back.
func (s *Set) Writer(out io.Writer) *Writer { return &Writer{set: s, out: out} }

// Write accepts all of text or returns the error of the underlying writer.
func (w *Writer) Write(text []byte) (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.err != nil {
		return 0, w.err
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
	if w.err != nil {
		return w.err
	}
	w.refresh()
	w.release(len(w.pending))
	w.state = root
	return w.emit()
}

// Reveal forwards what is held back if it may be the start of a secret of which at most n bytes have come. The rest of
// that secret is still masked, so never more than n bytes of one are shown. The echo of single characters of an
// interactive program must not wait for the next one.
func (w *Writer) Reveal(n int) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.err != nil {
		return w.err
	}
	if len(w.pending) == 0 || slices.Contains(w.masked, true) || int(w.machine.nodes[w.state].depth) > n {
		return nil
	}
	w.release(len(w.pending))
	return w.emit()
}

// Close flushes and makes further writes fail. It does not close the underlying writer.
func (w *Writer) Close() error {
	err := w.Flush()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.err == nil {
		w.err = errClosed
	} else if errors.Is(w.err, errClosed) {
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
	for i, b := range w.pending {
		w.state = machine.step(w.state, b)
		mask(w.masked[:i+1], machine.nodes[w.state].match)
	}
}

func (w *Writer) scan(text []byte) {
	for len(text) > 0 {
		if w.state == root {
			plain := w.machine.skipUnmatched(text)
			if plain > 0 {
				w.ready, w.maskWritten = append(w.ready, text[:plain]...), false
				text = text[plain:]
				continue
			}
		}
		w.state = w.machine.step(w.state, text[0])
		w.pending, w.masked = append(w.pending, text[0]), append(w.masked, false)
		text = text[1:]
		mask(w.masked, w.machine.nodes[w.state].match)
		// Bytes that are not part of a possible start of a form are settled.
		w.release(len(w.pending) - int(w.machine.nodes[w.state].depth))
	}
}

// skipUnmatched returns the number of bytes at the start of text before the first byte that a form starts
// with.
func (a *automaton) skipUnmatched(text []byte) int {
	for i, b := range text {
		if a.starts[b] {
			return i
		}
	}
	return len(text)
}

// mask marks the last n bytes as secret. Some of them may have been revealed.
func mask(hidden []bool, n int32) {
	for i := max(0, len(hidden)-int(n)); i < len(hidden); i++ {
		hidden[i] = true
	}
}

// release moves the first n held bytes to ready.
func (w *Writer) release(n int) {
	if n <= 0 {
		return
	}
	for i := range n {
		if !w.masked[i] {
			w.ready, w.maskWritten = append(w.ready, w.pending[i]), false
		} else if !w.maskWritten {
			w.ready, w.maskWritten = append(w.ready, Mask...), true
		}
	}
	w.pending = append(w.pending[:0], w.pending[n:]...)
	w.masked = append(w.masked[:0], w.masked[n:]...)
}

func (w *Writer) emit() error {
	if len(w.ready) == 0 {
		return nil
	}
	_, err := w.out.Write(w.ready)
	w.ready = w.ready[:0]
	if err != nil {
		w.err = err
	}
	return err
}
