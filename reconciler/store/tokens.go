package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/nuon-toolkit/nuon/reconciler/token"
)

// errNoTokenKey is the error for a database that was not migrated, or was emptied.
var errNoTokenKey = errors.New("the database has no key to check tokens; add a row of 32 random bytes to " +
	"token_keys")

// tokenCache stores the token keys, which a replica reads once: they change only with the
// database, or manually.
type tokenCache struct{ read atomic.Pointer[token.Keys] }

func (k *tokenCache) get(ctx context.Context, q *Queries) (token.Keys, error) {
	if keys := k.read.Load(); keys != nil {
		return *keys, nil
	}
	rows, err := q.TokenKeys(ctx)
	if err == nil && len(rows) == 0 {
		err = errNoTokenKey
	}
	if err != nil {
		return token.Keys{}, err
	}
	keys := token.NewKeys(rows...)
	k.read.Store(&keys)
	return keys, nil
}

// Tokens returns the keys that create and check this control plane's tokens. If Postgres is
// unreachable before they were read, the error is an *Unavailable.
func (s *Store) Tokens(ctx context.Context) (token.Keys, error) {
	keys, err := s.tokens.get(ctx, New(s.pool))
	if isUnavailable(ctx, err, true) {
		err = &Unavailable{Err: err}
	}
	if err != nil {
		return keys, fmt.Errorf("read the keys of tokens: %w", err)
	}
	return keys, nil
}

// Tokens returns the same keys as [Store.Tokens], read in this transaction.
func (t *Tx) Tokens(ctx context.Context) (token.Keys, error) {
	keys, err := t.tokens.get(ctx, t.Queries)
	if err != nil {
		return keys, fmt.Errorf("read the keys of tokens: %w", err)
	}
	return keys, nil
}
