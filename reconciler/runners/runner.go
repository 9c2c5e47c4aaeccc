package runners

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
)

// The kinds of runner. The column's constraint has the same values.
const (
	KindBuild   = "build"
	KindInstall = "install"
)

// NewRunner describes a runner to create.
type NewRunner struct {
	Name   string // lower case letters, digits, - and _
	Kind   string // KindBuild or KindInstall
	Shared bool   // of kind install: it takes installs that name no runner
}

var runnerName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// Create creates the record of a runner and the token with which it can register, once and
// within an hour. The token is a secret and its plain text is not stored. Errors: ErrBadRunner;
// ErrNameTaken, after which the transaction can only be rolled back.
func Create(
	ctx context.Context, tx *store.Tx, n NewRunner,
) (runner store.Runner, registrationToken string, err error) {
	if !runnerName.MatchString(n.Name) {
		return store.Runner{}, "", ErrBadRunner.With("a runner's name has 1 to 63 lower case letters, digits, - and _ and "+
			"starts with a letter or digit; %.80q is invalid", n.Name)
	}
	if id.Valid("run", n.Name) { // requests find a runner by its id or its name
		return store.Runner{}, "", ErrBadRunner.With("a runner's name cannot have the form of an id, as %.80q has: choose "+
			"another name", n.Name)
	}
	if n.Kind != KindBuild && n.Kind != KindInstall {
		return store.Runner{}, "", ErrBadRunner.With("a runner is of kind %s or %s, not %.80q",
			KindBuild, KindInstall, n.Kind)
	}
	if n.Shared && n.Kind != KindInstall {
		return store.Runner{}, "", ErrBadRunner.With("only a runner of kind %s can be shared", KindInstall)
	}
	runner, err = tx.InsertRunner(ctx, store.InsertRunnerParams{
		OrgID: tx.Org, ID: id.New("run"), Name: n.Name, Kind: n.Kind, Shared: n.Shared,
	})
	if _, taken := store.IsUniqueViolation(err); taken {
		return store.Runner{}, "", ErrNameTaken.With("%q", n.Name)
	}
	if err != nil {
		return store.Runner{}, "", fmt.Errorf("create runner %s: %w", n.Name, err)
	}
	registrationToken, err = AddRegistrationToken(ctx, tx, runner)
	return runner, registrationToken, err
}

// RecordSeen records that a runner was seen. A nil policy leaves the stored one unchanged.
func RecordSeen(ctx context.Context, tx *store.Tx, runner, version string, policy *api.RunnerPolicy) error {
	var kept json.RawMessage
	if policy != nil {
		// A struct of texts and numbers always marshals.
		kept, _ = json.Marshal(policy)
	}
	return tx.TouchRunner(ctx, store.TouchRunnerParams{
		OrgID: tx.Org, ID: runner, Version: PrintableShort(version), Policy: kept,
		EverySeconds: timing.SeenInterval.Seconds(),
	})
}

// Wake makes all polls of the runners query for jobs again.
func Wake(ctx context.Context, tx *store.Tx, runners ...string) error {
	payloads := make([]string, 0, len(runners))
	for _, runner := range runners {
		payloads = append(payloads, tx.Org+"/"+runner)
	}
	return tx.Notify(ctx, store.ChannelJobs, payloads...)
}
