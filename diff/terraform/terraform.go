// Package terraform makes a diff.Report from the JSON form of a Terraform or OpenTofu plan, as
// `terraform show -json PLANFILE` prints it.
//
// It owns the meaning of a plan's JSON: actions, replacement and its causes, moves, imports,
// forgets, drift, deferred changes, outputs, checks, and the marks for sensitive and unknown
// values. It never runs Terraform, never reads a state file, and holds every value of a plan as
// diff.Raw, so no value leaves it unmasked. The runner calls it after a plan and again right before
// an apply; the command line calls it on a file.
//
// It reads the JSON as a stream and with its own types: the published Go types lack "applyable" and
// "errored", and convert numbers to floats.
package terraform

import (
	"errors"
	"fmt"
	"io"

	"github.com/nuon-toolkit/nuon/diff"
)

// Options configures masking and limits. The zero value masks what the plan marks as sensitive, and
// every copy of it.
type Options struct {
	// Secrets reports whether a text contains a secret that is known from elsewhere, for example
	// diff.NewSecrets(…).Contains. Several goroutines call it at once. The report of a stored plan
	// has the same digest only with the same secrets.
	Secrets func(text string) bool
	// TagKey is the key for the short hashes that stand for masked values. Empty means no hashes.
	TagKey []byte
	// Limit is the number of bytes shown of one value, Lines the maximum number of lines in a line
	// diff, and Context the number of lines around a change; see diff.MaskOptions.
	Limit, Lines, Context int
	// MaxBytes bounds the plan in bytes; 0 means DefaultMaxBytes.
	MaxBytes int64
}

// DefaultMaxBytes is the largest plan JSON that Report reads: 256 MiB.
const DefaultMaxBytes = 256 << 20

// ErrNotPlan is wrapped by every error about an input that is not a readable plan: not JSON,
// truncated, of an unknown format, or with an unknown action. An unknown plan must fail and not look
// harmless.
var ErrNotPlan = errors.New("not a Terraform plan that can be read")

// Report reads a plan's JSON and describes it. Errors wrap ErrNotPlan or come from the reader; they
// never quote a value of the plan.
func Report(plan io.Reader, o Options) (*diff.Report, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	d, err := decode(&limited{r: plan, left: o.MaxBytes, max: o.MaxBytes})
	if err != nil {
		return nil, err
	}
	b := &builder{
		masker: diff.NewMasker(diff.MaskOptions{Secrets: o.Secrets, TagKey: o.TagKey, Limit: o.Limit, Lines: o.Lines,
			Context: o.Context}), report: &diff.Report{Kind: diff.KindTerraform}, learned: map[string]bool{},
	}
	b.learn(d)
	if err := b.build(d); err != nil {
		return nil, err
	}
	return b.report, nil
}

// limited is a reader that fails with a clear message when a plan is larger than allowed.
type limited struct {
	r         io.Reader
	left, max int64
	// failed is the first error other than io.EOF, before others wrap it.
	failed error
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.read(p)
	if err != nil && l.failed == nil && !errors.Is(err, io.EOF) {
		l.failed = err
	}
	return n, err
}

func (l *limited) read(p []byte) (int, error) {
	if l.left <= 0 {
		// A plan of exactly the limit is allowed; try to read one more byte.
		var one [1]byte
		n, err := l.r.Read(one[:])
		if n > 0 {
			return 0, fmt.Errorf("%w: it is larger than %d bytes; raise the limit or split the module", ErrNotPlan, l.max)
		}
		return 0, err
	}
	if int64(len(p)) > l.left {
		p = p[:l.left]
	}
	n, err := l.r.Read(p)
	l.left -= int64(n)
	return n, err
}
