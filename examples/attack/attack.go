package attack

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
)

// Attack is one kind of attempt of a hostile party.
type Attack struct {
	// Name says what is tried, such as "exec in a health job".
	Name string
	// Try makes one attempt with the choices of r. A *Breach is what the party achieved and must not; any other error says that the
	// attempt could not be made.
	Try func(ctx context.Context, r *rand.Rand) error
}

// Breach is what a hostile party achieved.
type Breach struct{ What string }

// Error returns what was achieved.
func (b *Breach) Error() string { return "breach: " + b.What }

// Breached returns a Breach.
func Breached(format string, args ...any) error { return &Breach{What: fmt.Sprintf(format, args...)} }

// Campaign makes n attempts, each of an attack that the seed chooses, and reports each to progress, which may be nil. It returns every
// breach, with the seed of its attempt, and stops at the first attempt that could not be made.
func Campaign(ctx context.Context, attacks []Attack, seed uint64, n int, progress func(line string)) error {
	choose := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a seed is to give the same attempts again
	var breaches []error
	for i := range n {
		attack := attacks[choose.IntN(len(attacks))]
		if i < len(attacks) {
			attack = attacks[i] // each kind at least once, when there is room for it
		}
		own := choose.Uint64()
		err := attack.Try(ctx, rand.New(rand.NewPCG(own, 1))) //nolint:gosec // as above
		var breach *Breach
		switch {
		case errors.As(err, &breach):
			breaches = append(breaches, fmt.Errorf("%s (seed %d): %w", attack.Name, own, err))
		case err != nil:
			return errors.Join(append(breaches, fmt.Errorf("%s (seed %d): the attempt could not be made: %w", attack.Name, own, err))...)
		}
		if progress != nil {
			progress(fmt.Sprintf("%d/%d %s: %s", i+1, n, attack.Name, outcome(err)))
		}
	}
	return errors.Join(breaches...)
}

func outcome(err error) string {
	if err != nil {
		return err.Error()
	}
	return "held"
}
