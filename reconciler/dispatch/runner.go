package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// The kinds of runner. The column's constraint has the same values.
const (
	RunnerBuild   = "build"
	RunnerInstall = "install"
)

// NewRunner describes a runner to create.
type NewRunner struct {
	Name   string // lower case letters, digits, - and _
	Kind   string // RunnerBuild or RunnerInstall
	Shared bool   // of kind install: it takes installs that name no runner
}

var runnerName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// CreateRunner creates the record of a runner and the token with which it can register, once and
// within an hour. The token is a secret and its plain text is not stored. Errors: ErrInvalid;
// ErrNameTaken, after which the transaction can only be rolled back.
func CreateRunner(
	ctx context.Context, tx *store.Tx, n NewRunner,
) (runner store.Runner, registrationToken string, err error) {
	if !runnerName.MatchString(n.Name) {
		return store.Runner{}, "", invalid("a runner's name has 1 to 63 lower case letters, digits, - and _ and starts with a letter or digit; %.80q is none", n.Name)
	}
	if n.Kind != RunnerBuild && n.Kind != RunnerInstall {
		return store.Runner{}, "", invalid("a runner is of kind %s or %s, not %.80q",
			RunnerBuild, RunnerInstall, n.Kind)
	}
	if n.Shared && n.Kind != RunnerInstall {
		return store.Runner{}, "", invalid("only a runner of kind %s can be shared", RunnerInstall)
	}
	runner, err = tx.InsertRunner(ctx, store.InsertRunnerParams{
		OrgID: tx.Org, ID: id.New("run"), Name: n.Name, Kind: n.Kind, Shared: n.Shared,
	})
	if _, taken := store.IsUniqueViolation(err); taken {
		return store.Runner{}, "", fmt.Errorf("runner %s: %w", n.Name, ErrNameTaken)
	}
	if err != nil {
		return store.Runner{}, "", fmt.Errorf("create runner %s: %w", n.Name, err)
	}
	registrationToken, err = addRegistration(ctx, tx, runner)
	return runner, registrationToken, err
}

// touch records that a runner was seen. A nil policy leaves the stored one unchanged.
func touch(ctx context.Context, tx *store.Tx, runner, version string, policy *api.RunnerPolicy) error {
	var kept json.RawMessage
	if policy != nil {
		// A struct of texts and numbers always marshals.
		kept, _ = json.Marshal(policy)
	}
	return tx.TouchRunner(ctx, store.TouchRunnerParams{
		OrgID: tx.Org, ID: runner, Version: shown(version), Policy: kept, EverySeconds: touchEvery.Seconds(),
	})
}

// mostShown bounds short texts that runners report about themselves, in runes.
const mostShown = 64

// shown makes a short text from a runner fit for a column and a screen: printable, one line,
// bounded.
func shown(text string) string { return printable(text, mostShown) }

// printable removes what is not printable from a text and cuts it to at most most runes.
func printable(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most])
	}
	return text
}
