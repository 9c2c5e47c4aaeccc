package control

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// keyLength is the maximum number of characters of an idempotency key.
const keyLength = 128

// repeatable is a create request that a client may repeat under an idempotency key. Without a key
// it is done each time.
type repeatable struct {
	operation string // what is created, and in what
	key       string
	request   any
}

// once runs a create request. It stores the response under the client's key in the same
// transaction, and returns it again to the same request. A different request under the same key is
// refused.
func once[T any](
	ctx context.Context, s *Server, r repeatable, do func(context.Context, *store.Tx) (T, error),
) (T, error) {
	var answer, none T
	if len(r.key) > keyLength {
		return none, problem.New(http.StatusBadRequest, "bad_request",
			fmt.Sprintf("the idempotency key has more than %d characters", keyLength),
			"Use a random one, such as a UUID.")
	}
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		known, err := s.recall(ctx, tx, r, &answer)
		if known || err != nil {
			return err
		}
		if answer, err = do(ctx, tx); err != nil {
			return err
		}
		return s.remember(ctx, tx, r, answer)
	})
	if err == nil || r.key == "" {
		return answer, err
	}
	// A request that lost a race for the key was rolled back, and returns the winner's response.
	var known bool
	again := s.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		known, err = s.recall(ctx, tx, r, &answer)
		return err
	})
	if known {
		return answer, again
	}
	return none, err
}

// recall reads the stored response for a request's key into answer; known is false if there is
// none.
func (s *Server) recall(ctx context.Context, tx *store.Tx, r repeatable, answer any) (known bool, err error) {
	if r.key == "" {
		return false, nil
	}
	kept, err := tx.RememberedAnswer(ctx, tx.Org, r.key)
	if isNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	print, err := r.fingerprint(tx.App)
	if err != nil {
		return false, err
	}
	if !slices.Equal(kept.Request, print) {
		return true, problem.New(http.StatusConflict, "idempotency_key_reused",
			"the idempotency key was already used for another request", "Use a new key for each create.")
	}
	var sealed seal.Sealed
	if err := json.Unmarshal(kept.Response, &sealed); err != nil {
		return true, fmt.Errorf("read the stored response: %w", err)
	}
	plain, err := s.key.Open(sealed, r.context(tx.Org))
	if err != nil {
		return true, fmt.Errorf("read the stored response: %w", err)
	}
	return true, json.Unmarshal(plain.Reveal(), answer)
}

// remember stores a response under a request's key. It is sealed, because it may contain a secret
// that is shown only once, such as a registration token.
func (s *Server) remember(ctx context.Context, tx *store.Tx, r repeatable, answer any) error {
	if r.key == "" {
		return nil
	}
	print, err := r.fingerprint(tx.App)
	if err != nil {
		return err
	}
	plain, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	sealed, err := s.key.Recipient().Seal(r.context(tx.Org), plain)
	if err != nil {
		return fmt.Errorf("seal the response: %w", err)
	}
	response, err := json.Marshal(sealed)
	if err != nil {
		return err
	}
	if err := tx.ForgetAnswers(ctx, tx.Org); err != nil {
		return fmt.Errorf("delete expired responses: %w", err)
	}
	if err := tx.RememberAnswer(ctx, store.RememberAnswerParams{
		OrgID: tx.Org, Key: r.key, Request: print, Response: response,
	}); err != nil {
		return fmt.Errorf("store the response: %w", err)
	}
	return nil
}

// context returns the context to which the stored response is sealed.
func (r repeatable) context(org string) seal.Context {
	return seal.Context{Org: org, Kind: seal.KindResponse, Path: r.key}
}

// fingerprint returns a hash of the request and of the caller's app, if the token is for one app: a
// token for one app does not receive the response that another token got.
func (r repeatable) fingerprint(app string) ([]byte, error) {
	body, err := json.Marshal(r.request)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append([]byte(app+"\n"+r.operation+"\n"), body...))
	return sum[:], nil
}
