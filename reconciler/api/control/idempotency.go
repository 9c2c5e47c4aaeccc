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

// keyLength is the most characters of an idempotency key.
const keyLength = 128

// repeatable is a create that a client may repeat under a key of its own. Without a key it is simply done.
type repeatable struct {
	operation string // what is created, and in what
	key       string
	request   any
}

// once does a create: the answer is kept under the client's key in the unit of work that made it, and given again to the same
// request. Another request under the same key is refused.
func once[T any](ctx context.Context, s *Server, r repeatable, do func(context.Context, *store.Tx) (T, error)) (T, error) {
	var answer, none T
	if len(r.key) > keyLength {
		return none, problem.New(http.StatusBadRequest, "bad_request", fmt.Sprintf("the idempotency key has more than %d characters", keyLength), "Use a random one, such as a UUID.")
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
	// Who lost a race for the key made nothing: its unit of work was rolled back. The winner's answer is the answer.
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

// recall reads the answer that is kept under a request's key into answer; known is false when there is none.
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
		return true, problem.New(http.StatusConflict, "idempotency_key_reused", "the idempotency key was used for another request", "Use a new key for each create.")
	}
	var sealed seal.Sealed
	if err := json.Unmarshal(kept.Response, &sealed); err != nil {
		return true, fmt.Errorf("read the remembered answer: %w", err)
	}
	plain, err := s.key.Open(sealed, r.context(tx.Org))
	if err != nil {
		return true, fmt.Errorf("read the remembered answer: %w", err)
	}
	return true, json.Unmarshal(plain.Reveal(), answer)
}

// remember keeps an answer under a request's key. It is sealed, because an answer may hold what is shown once, such as a
// registration token.
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
		return fmt.Errorf("seal the answer: %w", err)
	}
	response, err := json.Marshal(sealed)
	if err != nil {
		return err
	}
	if err := tx.ForgetAnswers(ctx, tx.Org); err != nil {
		return fmt.Errorf("forget old answers: %w", err)
	}
	if err := tx.RememberAnswer(ctx, store.RememberAnswerParams{OrgID: tx.Org, Key: r.key, Request: print, Response: response}); err != nil {
		return fmt.Errorf("remember the answer: %w", err)
	}
	return nil
}

// context is what the kept answer is sealed for.
func (r repeatable) context(org string) seal.Context {
	return seal.Context{Org: org, Kind: seal.KindAnswer, Path: r.key}
}

// fingerprint names what was asked for, and by whom as far as that decides what it means: a token for one app is not given the answer
// that another got.
func (r repeatable) fingerprint(app string) ([]byte, error) {
	body, err := json.Marshal(r.request)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append([]byte(app+"\n"+r.operation+"\n"), body...))
	return sum[:], nil
}
