package attack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"

	"github.com/nuon-toolkit/nuon/pkg/version"
)

// Attack is one kind of attempt of a hostile party.
type Attack struct {
	// Name describes the attempt, such as "exec in a health job".
	Name string
	// Try makes one attempt with random choices from r. It returns a *Breach if the party achieved
	// something forbidden; any other error means that the attempt could not be made.
	Try func(ctx context.Context, r *rand.Rand) error
}

// Breach is the error for something forbidden that a hostile party achieved.
type Breach struct{ What string }

// Error describes what was achieved.
func (b *Breach) Error() string { return "breach: " + b.What }

// Breached returns a Breach.
func Breached(format string, args ...any) error { return &Breach{What: fmt.Sprintf(format, args...)} }

// Try makes one attempt with random choices from r.
type Try = func(ctx context.Context, r *rand.Rand) error

// Judged returns a Try that makes an attempt and then judges its effects.
func Judged(try Try, judge func(ctx context.Context) error) Try {
	return func(ctx context.Context, r *rand.Rand) error {
		if err := try(ctx, r); err != nil {
			return err
		}
		return judge(ctx)
	}
}

// Send sends an API request with a token, and returns the status. It reads and discards the body.
func Send(ctx context.Context, method, url, token string, body []byte) (int, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(version.HeaderAPI, fmt.Sprint(version.API))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, err
}

// Campaign makes n attempts, with attacks chosen by the seed, and reports each to progress, which
// may be nil. It returns every breach, with the seed of its attempt, and stops at the first attempt
// that could not be made.
func Campaign(ctx context.Context, attacks []Attack, seed uint64, n int, progress func(line string)) error {
	choose := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a seed is to give the same attempts again
	var breaches []error
	for i := range n {
		attack := attacks[choose.IntN(len(attacks))]
		if i < len(attacks) {
			attack = attacks[i] // each kind at least once, if n is large enough
		}
		own := choose.Uint64()
		err := attack.Try(ctx, rand.New(rand.NewPCG(own, 1))) //nolint:gosec // as above
		var breach *Breach
		switch {
		case errors.As(err, &breach):
			breaches = append(breaches, fmt.Errorf("%s (seed %d): %w", attack.Name, own, err))
		case err != nil:
			return errors.Join(append(breaches, fmt.Errorf(
				"%s (seed %d): the attempt could not be made: %w", attack.Name, own, err))...)
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
