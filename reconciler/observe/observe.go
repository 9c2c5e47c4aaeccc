package observe

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/gitpack"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Options configure how a control plane polls git.
type Options struct {
	// MirrorDir stores the mirrors; created if missing, and used by this process only. Required.
	MirrorDir string
	// AllowFileRemotes are the directories below which file:// repositories may be read; none
	// means that file:// is not allowed.
	AllowFileRemotes []string
	// AllowPrivate allows https:// repositories in private networks, and http:// ones on the
	// loopback address.
	AllowPrivate bool
	// GitMirrors are read instead of the servers whose repositories they have. They may be in private
	// networks and on the loopback address, because the operator names them.
	GitMirrors []GitMirror
	// Interval is how often a watch is polled, give or take a tenth; zero means a minute. A watch
	// with a webhook is polled every 15 minutes.
	Interval time.Duration
	// Roots are the certificate authorities for https:// servers; nil means the system's.
	Roots *x509.CertPool
	// Limits bound what one fetch may receive; zero means gitpack.Default.
	Limits gitpack.Limits
	// OnPoll is called after every poll: outcome is moved, same, trouble or error. It may be nil.
	OnPoll func(outcome string, took time.Duration)
}

// Bounds of one poll.
const (
	defaultInterval = time.Minute
	// maxErrorPause is the longest time between two polls of a repository that cannot be read.
	maxErrorPause = 15 * time.Minute
	// announcedPause is the time between two polls of a repository with a webhook: the delay of a
	// push whose delivery was lost.
	announcedPause = 15 * time.Minute
	// settleTime is how long after a delivery a repository is polled at the usual interval: some
	// forges deliver before all of their servers have the commit.
	settleTime = 2 * time.Minute
	// maxReadTime bounds a poll. It is below the five minutes of a job in the reconciler's work
	// queue.
	maxReadTime = 4 * time.Minute
)

// Observer polls watches and reads revisions. It is safe for concurrent use; replicas share the
// database, but not the mirrors.
type Observer struct {
	store        *store.Store
	identity     seal.Identity
	options      Options
	mirrors      *mirrors
	client       *http.Client
	mirrorClient *http.Client // for Options.GitMirrors
}

// New returns an Observer. identity opens the credentials, which are sealed to the server's key.
func New(s *store.Store, identity seal.Identity, options Options) *Observer {
	if options.Interval == 0 {
		options.Interval = defaultInterval
	}
	if options.Limits == (gitpack.Limits{}) {
		options.Limits = gitpack.Default()
	}
	ofOperator := options
	ofOperator.AllowPrivate = true
	return &Observer{
		store: s, identity: identity, options: options, mirrors: newMirrors(options.MirrorDir),
		client: newClient(options), mirrorClient: newClient(ofOperator),
	}
}

// Poll polls one watched ref. If the ref has moved, it adds a revision and enqueues the catalog's
// work for every app that reads the watch; else it only records the poll. If the repository
// cannot be read, Poll stores the reason with the watch, polls later and returns no error. An
// error means that the poll itself failed and must be tried again.
func (o *Observer) Poll(ctx context.Context, org, watchID string) error {
	at, err := o.loadWatch(ctx, org, watchID)
	if errors.Is(err, errUnwatched) {
		return nil
	}
	var seen *observation
	began := time.Now()
	if err == nil {
		seen, err = o.readTipInTime(ctx, org, at)
		o.reportPoll(seen, time.Since(began), err)
	}
	var trouble *RepoError
	switch {
	case errors.As(err, &trouble):
		err = o.saveError(ctx, org, at, trouble)
	case err == nil && seen == nil:
		err = o.recordPoll(ctx, org, at)
	case err == nil:
		err = o.saveRevision(ctx, org, at, *seen, began)
	}
	if err != nil {
		return fmt.Errorf("poll watch %s: %w", watchID, err)
	}
	return nil
}

// reportPoll reports the outcome of a poll.
func (o *Observer) reportPoll(seen *observation, took time.Duration, err error) {
	if o.options.OnPoll == nil {
		return
	}
	var trouble *RepoError
	outcome := "same"
	switch {
	case errors.As(err, &trouble):
		outcome = "trouble"
	case err != nil:
		outcome = "error"
	case seen != nil:
		outcome = "moved"
	}
	o.options.OnPoll(outcome, took)
}

// readTipInTime is look with a timeout.
func (o *Observer) readTipInTime(ctx context.Context, org string, at watchState) (*observation, error) {
	looking, stop := context.WithTimeout(ctx, maxReadTime)
	defer stop()
	seen, err := o.readTip(looking, org, at)
	if err != nil && looking.Err() != nil && ctx.Err() == nil {
		return nil, repoErrorf("%s did not answer in full within %s; check the server and the size of the repository",
			at.watch.URL, maxReadTime)
	}
	return seen, err
}

// watchState is the stored state of a watch before a poll.
type watchState struct {
	watch      store.Watch
	previous   *store.Revision
	credential credential
}

// errUnwatched is the error for a watch without readers: it is not polled until there is one.
var errUnwatched = errors.New("nothing uses this watch")

func (o *Observer) loadWatch(ctx context.Context, org, watchID string) (at watchState, err error) {
	err = o.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		at = watchState{}
		// Locked, as by EnsureWatch: an app that starts to read it now is either found here, or finds
		// that it is not due and makes it due.
		if at.watch, err = tx.LockWatch(ctx, org, watchID); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		readers, err := tx.AppsOfWatch(ctx, org, watchID)
		if err != nil {
			return err
		}
		if at.watch.ID == "" || len(readers) == 0 {
			at.watch.ID = ""
			return tx.ClearDue(ctx, org, store.DueWatch, watchID)
		}
		// No other poll needs to start while this one runs; its end schedules the next one.
		err = tx.SetDueIn(ctx, store.SetDueInParams{OrgID: org, Kind: store.DueWatch, ID: watchID,
			InSeconds: maxReadTime.Seconds()})
		if err != nil {
			return err
		}
		if at.watch.RevisionID != nil {
			previous, err := tx.WatchRevision(ctx, org, *at.watch.RevisionID)
			if err != nil {
				return err
			}
			at.previous = &previous
		}
		at.credential, err = o.credentialOf(ctx, tx, at.watch)
		return err
	})
	if err == nil && at.watch.ID == "" {
		return at, errUnwatched
	}
	return at, err
}

// credentialOf opens the credential of a watch.
func (o *Observer) credentialOf(ctx context.Context, tx *store.Tx, watch store.Watch) (credential, error) {
	if watch.CredentialID == "" {
		return credential{}, nil
	}
	row, err := tx.CredentialOfWatch(ctx, tx.Org, watch.CredentialID)
	if err != nil {
		return credential{}, fmt.Errorf("read credential %s: %w", watch.CredentialID, err)
	}
	var sealed seal.Sealed
	if err := json.Unmarshal(row.Sealed, &sealed); err != nil {
		return credential{}, fmt.Errorf("read credential %s: %w", row.Name, err)
	}
	password, err := o.identity.Open(sealed, seal.Context{Org: tx.Org, Kind: seal.KindCredential, Component: row.ID})
	if err != nil {
		return credential{}, &RepoError{
			Message: fmt.Sprintf("the credential %s cannot be opened with the control plane's key; create it again", row.Name),
			Err:     err}
	}
	username := row.Username
	if username == "" {
		username = "git"
	}
	return credential{name: row.Name, username: username, password: password, repositories: row.Repositories}, nil
}

// remoteOf opens the remote of a watch.
func (o *Observer) remoteOf(url string, with credential) (remote, error) {
	at, err := parseRepository(url)
	if err != nil {
		return nil, err
	}
	if with.name != "" && !patternsCover(with.repositories, url) {
		return nil, notAllowedError(with.name, at.String())
	}
	if mirror, to, found := o.mirrorOf(at); found {
		return o.openMirrored(at, mirror, to, with)
	}
	switch {
	case at.scheme == "file":
		return openFileRemote(url, at.path, o.options)
	case at.scheme == "https", o.options.AllowPrivate:
		return &httpRemote{url: at.String(), shown: at.String(), client: o.client, login: with,
			limits: o.options.Limits}, nil
	}
	return nil, repoErrorf("%s", plainHTTPMessage)
}

// setDue schedules the next poll of a watch: after a pause that varies by a tenth, so that a thousand
// watches that were created at once do not stay in step.
func (o *Observer) setDue(ctx context.Context, tx *store.Tx, watchID string, pause time.Duration) error {
	jitter := 0.9 + 0.2*rand.Float64() //nolint:gosec // spreads load; nothing depends on it being secret
	return tx.SetDueIn(ctx, store.SetDueInParams{OrgID: tx.Org, Kind: store.DueWatch, ID: watchID,
		InSeconds: pause.Seconds() * jitter})
}

// pause returns the time until the next poll of a watch that was just read. before is the watch
// when the poll started; ago is how many seconds ago a webhook last reported a push.
func (o *Observer) pause(watch, before store.Watch, ago float64) time.Duration {
	switch {
	case deliveredMeanwhile(watch, before):
		return 0 // the push may be newer than what was read
	case watch.WebhookID == nil, ago < settleTime.Seconds():
		return o.options.Interval
	}
	return max(announcedPause, o.options.Interval)
}

// deliveredMeanwhile reports whether a webhook reported a push during a poll.
func deliveredMeanwhile(watch, before store.Watch) bool {
	return watch.DeliveredAt != nil && (before.DeliveredAt == nil || !watch.DeliveredAt.Equal(*before.DeliveredAt))
}

// missedDelivery reports whether a ref has moved without a delivery although it has a webhook: none
// came since the last poll, nor shortly before it. Then the webhook no longer works.
func (o *Observer) missedDelivery(watch, before store.Watch, ago float64) bool {
	if watch.WebhookID == nil || watch.DeliveredAt == nil || before.CheckedAt == nil {
		return false
	}
	return watch.DeliveredAt.Before(*before.CheckedAt) && ago > (settleTime+2*o.options.Interval).Seconds()
}

// errorPause returns the time until the next poll of a repository that cannot be read. It
// equals the time since the last successful poll, so the pause doubles without a counter.
func (o *Observer) errorPause(unread time.Duration) time.Duration {
	return min(max(unread, o.options.Interval), max(maxErrorPause, o.options.Interval))
}
