package render

import (
	"errors"
	"fmt"
)

// Limits of one template and one rendering. They are far above what real configs need (the largest
// known config is half a megabyte), and low enough that a hostile template ends in well under a
// second.
const (
	// MaxText is the maximum size of a template text in bytes. It is the limit of a referenced file
	// of an app config.
	MaxText = 4 << 20
	// MaxOutput is the maximum size of a rendered template in bytes. It does not apply to a text
	// without `.nuon`, which is returned unchanged.
	MaxOutput = 1 << 20

	maxActions   = 20_000   // {{ }} pairs in one text
	maxCode      = 1 << 20  // bytes inside of them; the parser takes a hundred times as much memory
	maxVariables = 100      // text/template searches all of them for each read
	maxNesting   = 100      // nested if, range and with blocks
	maxWork      = 64 << 20 // units of work of one rendering, about a byte each
	roundCost    = 256      // units for one iteration of a range
	nodeCost     = 8        // units for one evaluation step in an iteration: a key, a variable, a literal
	callCost     = 64       // units for one function call
	valueCost    = 16       // units for one value that a function reads
)

var (
	errTooMuchWork   = errors.New("it does more work than a template may")
	errTooMuchOutput = fmt.Errorf("its output is larger than %d bytes", MaxOutput)
)

// budget counts the work of one rendering. text/template cannot be interrupted from outside, so
// every function call and every iteration of a range spends units, and the rendering ends when they
// are used up.
type budget struct{ left int }

func (b *budget) spend(units int) error {
	if units < 0 || units > b.left {
		b.left = 0
		return errTooMuchWork
	}
	b.left -= units
	return nil
}

// walk spends the units for everything inside a value that a function is about to read. If a value
// contains the same part twice, both count, as they would when written out.
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

// limitedWriter collects the output of a template and rejects output beyond MaxOutput.
type limitedWriter struct{ data []byte }

func (w *limitedWriter) Write(p []byte) (int, error) {
	if len(w.data)+len(p) > MaxOutput {
		return 0, errTooMuchOutput
	}
	w.data = append(w.data, p...)
	return len(p), nil
}
