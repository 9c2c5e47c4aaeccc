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

// The kinds of runner, as the column's constraint has them.
const (
	RunnerBuild   = "build"
	RunnerInstall = "install"
)

// NewRunner is a runner to be made.
type NewRunner struct {
	Name   string // lower case letters, digits, - and _
	Kind   string // RunnerBuild or RunnerInstall
	Shared bool   // of kind install: it takes installs that name no runner
}

var runnerName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// CreateRunner makes the record of a runner that has yet to register, and the token with which it can, once and within an hour.
// The token is a secret and is not kept. Errors: ErrInvalid; ErrNameTaken, after which the transaction can only be rolled back.
func CreateRunner(ctx context.Context, tx *store.Tx, n NewRunner) (runner store.Runner, registrationToken string, err error) {
	if !runnerName.MatchString(n.Name) {
		return store.Runner{}, "", invalid("a runner's name has 1 to 63 lower case letters, digits, - and _ and starts with a letter or digit; %.80q is none", n.Name)
	}
	if n.Kind != RunnerBuild && n.Kind != RunnerInstall {
		return store.Runner{}, "", invalid("a runner is of kind %s or %s, not %.80q", RunnerBuild, RunnerInstall, n.Kind)
	}
	if n.Shared && n.Kind != RunnerInstall {
		return store.Runner{}, "", invalid("only a runner of kind %s can be shared", RunnerInstall)
	}
	runner, err = tx.InsertRunner(ctx, store.InsertRunnerParams{OrgID: tx.Org, ID: id.New("run"), Name: n.Name, Kind: n.Kind, Shared: n.Shared})
	if _, taken := store.IsConflict(err); taken {
		return store.Runner{}, "", fmt.Errorf("runner %s: %w", n.Name, ErrNameTaken)
	}
	if err != nil {
		return store.Runner{}, "", fmt.Errorf("create runner %s: %w", n.Name, err)
	}
	registrationToken, err = addRegistration(ctx, tx, runner)
	return runner, registrationToken, err
}

// touch notes that a runner was heard of. A nil policy leaves what is kept.
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

// mostShown bounds short texts that runners say of themselves, in runes.
const mostShown = 64

// shown makes a short text of a runner's fit for a column and a screen: printable, one line, bounded.
func shown(text string) string { return printable(text, mostShown) }

// printable is shown for a text of at most so many runes.
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
