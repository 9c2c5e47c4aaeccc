// Package terraform makes a diff.Report from the JSON form of a Terraform or OpenTofu plan, as `terraform show -json PLANFILE`
// prints it.
//
// It owns what a plan's JSON means: actions, replacement and its causes, moves, imports, forgets, drift, deferred changes, outputs,
// checks, and the marks for sensitive and unknown values. It never runs Terraform, never reads a state, and holds every value of
// a plan as diff.Raw, so nothing leaves it unmasked. The runner calls it after a plan and again right before an apply; the
// command line calls it on a file.
//
// It reads the JSON itself, as a stream: the published Go types lack "applyable" and "errored", and turn numbers into floats.
package terraform

import (
	"errors"
	"fmt"
	"io"

	"github.com/nuon-toolkit/nuon/diff"
)

// Options say what must not be shown and how much is read. The zero value masks what the plan marks as sensitive, and every copy
// of it.
type Options struct {
	// Secrets says that a text holds a secret that is known from elsewhere, for example diff.NewSecrets(…).Contains. Several
	// goroutines call it at once. The report of a stored plan has the same digest only under the same secrets.
	Secrets func(text string) bool
	// TagKey is the key of the short display hashes of masked values. Empty means none.
	TagKey []byte
	// Limit is how many bytes of one value are shown, Lines how many lines of one line diff, Context how many lines around a change; see
	// diff.MaskOptions.
	Limit, Lines, Context int
	// MaxBytes bounds the plan; 0 means DefaultMaxBytes.
	MaxBytes int64
}

// DefaultMaxBytes is the largest plan JSON that is read: 256 MiB.
const DefaultMaxBytes = 256 << 20

// ErrNotPlan is wrapped by every error that says that the input is not a plan that can be read: not JSON, cut off, of an unknown
// format, or with an action that is not known. An unknown plan must stop, not look harmless.
var ErrNotPlan = errors.New("not a Terraform plan that can be read")

// Report reads a plan's JSON and describes it. Errors wrap ErrNotPlan, or are those of the reader; they never quote a value of
// the plan.
func Report(plan io.Reader, o Options) (*diff.Report, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	d, err := decode(&limited{r: plan, left: o.MaxBytes, max: o.MaxBytes})
	if err != nil {
		return nil, err
	}
	b := &builder{
		masker: diff.NewMasker(diff.MaskOptions{Secrets: o.Secrets, TagKey: o.TagKey, Limit: o.Limit, Lines: o.Lines, Context: o.Context}),
		report: &diff.Report{Kind: diff.KindTerraform}, learned: map[string]bool{},
	}
	b.learn(d)
	if err := b.build(d); err != nil {
		return nil, err
	}
	return b.report, nil
}

// limited fails, in words, when a plan is larger than allowed.
type limited struct {
	r         io.Reader
	left, max int64
	// failed is the first error but io.EOF, as it was before others wrapped it.
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
		// A plan of exactly the limit is fine: only one more byte is too much.
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
