package render

import (
	"errors"
	"fmt"
)

// Limits of one template and one rendering. They are far above what real configs need (the largest known is half a megabyte) and
// low enough that a hostile one ends in well under a second.
const (
	// MaxText is the largest template text, in bytes. It is the limit of a referenced file of an app config.
	MaxText = 4 << 20
	// MaxOutput is the largest result of a template, in bytes. It does not hold for a text without `.nuon`, which is returned
	// untouched.
	MaxOutput = 1 << 20

	maxActions   = 20_000   // {{ }} pairs in one text
	maxCode      = 1 << 20  // bytes inside of them; the parser takes a hundred times that
	maxVariables = 100      // text/template looks through all of them for each that is read
	maxNesting   = 100      // if, range and with inside each other
	maxWork      = 64 << 20 // units of work of one rendering, about a byte each
	roundCost    = 256      // units for one round of a range
	nodeCost     = 8        // units for one step of evaluation inside a round: a key, a variable, a literal
	callCost     = 64       // units for one function call
	valueCost    = 16       // units for one value that a function reads
)

var (
	errTooMuchWork   = errors.New("it does more work than a template may")
	errTooMuchOutput = fmt.Errorf("its output is larger than %d bytes", MaxOutput)
)

// budget counts the work of one rendering. text/template cannot be interrupted from outside, so every function and every round of
// a range pays here and the first one that cannot pay ends the rendering.
type budget struct{ left int }

func (b *budget) spend(units int) error {
	if units < 0 || units > b.left {
		b.left = 0
		return errTooMuchWork
	}
	b.left -= units
	return nil
}

// walk pays for everything inside a value, which a function is about to read. A value made of the same part twice is paid for
// twice, as it would be written.
func (b *budget) walk(v any, depth int) error {
	if depth > maxDepth {
		return errTooDeep
	}
	switch v := v.(type) {
	case string:
		return b.spend(valueCost + len(v))
	case []any:
		for _, item := range v {
			if err := b.walk(item, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, item := range v {
			if err := b.spend(valueCost + len(key)); err != nil {
				return err
			}
			if err := b.walk(item, depth+1); err != nil {
				return err
			}
		}
	}
	return b.spend(valueCost)
}

// limitedWriter collects a template's output and refuses what is too much.
type limitedWriter struct{ data []byte }

func (w *limitedWriter) Write(p []byte) (int, error) {
	if len(w.data)+len(p) > MaxOutput {
		return 0, errTooMuchOutput
	}
	w.data = append(w.data, p...)
	return len(p), nil
}
