package runner

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/telemetry/status"
	"github.com/nuon-toolkit/nuon/runnerd/apiclient"
)

// keys holds the runner key for API calls. There are two during a rotation: the new one
// is on disk before it is used, and the old one is removed when the new one has been used
// successfully. When one is rejected the other is used.
type keys struct {
	dir string
	log *slog.Logger

	mutex      sync.Mutex
	identity   identity
	current    string
	rejections int // consecutive rejections
}

// rejectionsUntilReplaced is the number of consecutive rejections, of all keys together,
// after which the runner logs that it was replaced. A single one may happen at the moment
// in which a key changes.
const rejectionsUntilReplaced = 4

func newKeys(dir string, log *slog.Logger, known identity) *keys {
	k := &keys{dir: dir, log: log, identity: known, current: known.RunnerKey}
	if known.NextKey != "" {
		k.current = known.NextKey
	}
	return k
}

// currentKey returns the key to use.
func (k *keys) currentKey() seal.Secret {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return seal.NewSecret([]byte(k.current))
}

// isReplaced reports whether another key than used is to be used by now.
func (k *keys) isReplaced(used seal.Secret) bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return string(used.Reveal()) != k.current
}

// age returns the age of the key, and whether its successor has not been used yet. A key
// that was issued in the future, by a clock that has since been set back, has the maximum age.
func (k *keys) age() (age time.Duration, follows bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if age = time.Since(k.identity.KeySince); age < 0 {
		age = math.MaxInt64
	}
	return age, k.identity.NextKey != ""
}

// setNext stores a new key and uses it from then on.
func (k *keys) setNext(next string) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	changed := k.identity
	changed.NextKey = next
	if err := saveIdentity(k.dir, changed); err != nil {
		return err
	}
	k.identity, k.current = changed, next
	return nil
}

// markValid records that a call with the key succeeded, so that the other one is no longer needed.
func (k *keys) markValid(used seal.Secret) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	key := string(used.Reveal())
	if key == k.current {
		k.rejections = 0
	}
	if k.identity.NextKey == "" || key != k.identity.NextKey && key != k.current {
		return
	}
	changed := k.identity
	if key == changed.NextKey {
		changed.RunnerKey, changed.KeySince = key, time.Now().UTC()
	}
	changed.NextKey = ""
	if err := saveIdentity(k.dir, changed); err != nil {
		k.log.Warn("cannot store which runner key is valid; keeping both", "error", err)
		return
	}
	k.identity, k.current = changed, changed.RunnerKey
	k.log.Info("the new runner key is in use", "since", changed.KeySince)
}

// markRejected records that the control plane does not know the key, and switches to the other one.
// It reports whether all keys were rejected.
func (k *keys) markRejected(used seal.Secret) (all bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if string(used.Reveal()) != k.current {
		return false // it has changed in the meantime
	}
	k.rejections++
	if k.identity.NextKey != "" {
		if k.current == k.identity.NextKey {
			k.current = k.identity.RunnerKey
		} else {
			k.current = k.identity.NextKey
		}
	}
	if k.rejections == rejectionsUntilReplaced {
		k.log.Error("the control plane no longer accepts this runner's key: it was replaced, or --url is of " +
			"another control " +
			"plane. The runner delivers pending results with the jobs' own tokens and takes no more jobs; to continue " +
			"here, create a registration token (nuon runners replace) and start runnerd in this directory with " +
			"NUON_REGISTRATION_TOKEN set")
	}
	return k.rejections >= 2
}

// setRegistered stores the result of a registration in a used directory.
func (k *keys) setRegistered(known identity) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if known.RunnerID != k.identity.RunnerID {
		return fmt.Errorf("NUON_REGISTRATION_TOKEN belongs to the runner %s (%s), and %s to the runner %s (%s); use a "+
			"separate directory for each with --dir. The token is used up: create another one for %s",
			known.Name, known.RunnerID, k.dir, k.identity.Name, k.identity.RunnerID, known.Name)
	}
	if err := saveIdentity(k.dir, known); err != nil {
		return err
	}
	k.identity, k.current, k.rejections = known, known.RunnerKey, 0
	return nil
}

// registerAgain exchanges the token that this runner was started with after its keys
// were rejected: the runner was replaced and shall continue. A rejected token is only
// logged, because the spool still has to be delivered; a token of another runner
// is an error for a person.
func (r *runner) registerAgain(ctx context.Context) error {
	if r.Token.IsZero() && r.Claim.IsZero() {
		return nil
	}
	key, err := seal.LoadIdentity(KeyFile(r.Dir))
	if err != nil {
		return err
	}
	if r.Token.IsZero() {
		return r.claimAgain(ctx, key)
	}
	// Neither a new rule nor a stop may interrupt the exchange of the token,
	// which works only once.
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*r.Timing.CallTimeout)
	defer stop()
	known, err := r.register(ctx, key)
	if err != nil && ctx.Err() != nil {
		return nil // no response; the token remains for the next rejection
	}
	r.Token = seal.Secret{}
	if err != nil {
		r.log.Error("cannot register again", "error", err)
		return nil
	}
	if err := r.keys.setRegistered(known); err != nil {
		return err
	}
	r.log.Info("registered again with the existing install key")
	return nil
}

// rotateLoop replaces the runner key when it is old. It waits for that, and for the
// first use of the new key.
func (r *runner) rotateLoop(ctx context.Context) {
	task := status.Register(ctx, "runner key")
	defer task.Unregister()
	for {
		age, follows := r.keys.age()
		wait := r.Timing.KeyMaxAge - age
		if follows || wait <= 0 {
			task.SetWorking("changing the runner key")
			err := r.rotate(ctx, follows)
			task.ReportResult(err)
			if err != nil && ctx.Err() == nil {
				r.log.Warn("cannot rotate the runner key now; the current one stays valid", "error", err)
			}
			wait = r.Timing.KeyMaxAge / 24
		}
		task.SetWaiting("for the runner key to be old")
		if !backoff.Pause(ctx, wait) {
			return
		}
	}
}

// rotate requests a new key unless one is pending, and proves it with an empty heartbeat.
func (r *runner) rotate(ctx context.Context, follows bool) error {
	if !follows {
		answer, err := r.short.RotateKeyWithResponse(ctx)
		if err == nil {
			err = apiclient.CheckResponse("rotate the runner key", answer.HTTPResponse, answer.Body)
		}
		if err == nil && (answer.JSON200 == nil || answer.JSON200.RunnerKey == "") {
			err = fmt.Errorf("rotate the runner key: the response contains none")
		}
		if err != nil {
			return err
		}
		r.secrets.Add([]byte(answer.JSON200.RunnerKey))
		if err := r.keys.setNext(answer.JSON200.RunnerKey); err != nil {
			return err
		}
	}
	_, err := r.heartbeat(ctx, nil)
	return err
}
