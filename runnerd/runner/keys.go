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
	"github.com/nuon-toolkit/nuon/runnerd/contact"
)

// keys holds the runner key that calls are made with. There are two while it changes: the new one is on disk before it is used,
// and the old one goes when the new one has been used with success. Whichever is refused makes room for the other.
type keys struct {
	dir string
	log *slog.Logger

	mutex    sync.Mutex
	identity identity
	current  string
	refusals int // in a row
}

// saidReplaced is after how many refusals in a row, of each key there is, the runner says that it was replaced. One may be the
// moment in which a key changes.
const saidReplaced = 4

func newKeys(dir string, log *slog.Logger, known identity) *keys {
	k := &keys{dir: dir, log: log, identity: known, current: known.RunnerKey}
	if known.NextKey != "" {
		k.current = known.NextKey
	}
	return k
}

// now gives the key to use.
func (k *keys) now() seal.Secret {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return seal.NewSecret([]byte(k.current))
}

// age gives how old the key is, and whether one that follows is waiting for its first use. A key that was got in the future, by a
// clock that has been put back since, is as old as can be.
func (k *keys) age() (age time.Duration, follows bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if age = time.Since(k.identity.KeySince); age < 0 {
		age = math.MaxInt64
	}
	return age, k.identity.NextKey != ""
}

// offer keeps a new key and uses it from now on.
func (k *keys) offer(next string) error {
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

// proven notes that a call with the key had success: the other one has no use any more.
func (k *keys) proven(used seal.Secret) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	key := string(used.Reveal())
	if key == k.current {
		k.refusals = 0
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
		k.log.Warn("cannot note which runner key is good; both are kept until it can be", "error", err)
		return
	}
	k.identity, k.current = changed, changed.RunnerKey
	k.log.Info("the runner key is settled", "since", changed.KeySince)
}

// refused notes that the control plane does not know the key, and turns to the other one. It tells whether all that there are
// were refused.
func (k *keys) refused(used seal.Secret) (all bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if string(used.Reveal()) != k.current {
		return false // it has changed meanwhile
	}
	k.refusals++
	if k.identity.NextKey != "" {
		if k.current == k.identity.NextKey {
			k.current = k.identity.RunnerKey
		} else {
			k.current = k.identity.NextKey
		}
	}
	if k.refusals == saidReplaced {
		k.log.Error("the control plane does not know this runner's key any more: it was replaced, or its control plane is another one. What it still holds is delivered with the jobs' own tokens, and it takes no more jobs; to go on here, make a registration token (nuon runners replace) and start runnerd in this directory with NUON_REGISTRATION_TOKEN set")
	}
	return k.refusals >= 2
}

// registered takes what a registration in a used directory gave.
func (k *keys) registered(known identity) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if known.RunnerID != k.identity.RunnerID {
		return fmt.Errorf("NUON_REGISTRATION_TOKEN is of the runner %s (%s), and %s belongs to the runner %s (%s); give each a directory of its own with --dir. The token is used up: make another one for %s",
			known.Name, known.RunnerID, k.dir, k.identity.Name, k.identity.RunnerID, known.Name)
	}
	if err := saveIdentity(k.dir, known); err != nil {
		return err
	}
	k.identity, k.current, k.refusals = known, known.RunnerKey, 0
	return nil
}

// registerAgain trades the token that this runner was started with, when its keys are refused: it was replaced, and is to go on. A
// token that is refused too ends nothing, for what is in the spool is still to be delivered; one of another runner is an error, for
// a person.
func (r *runner) registerAgain(ctx context.Context) error {
	if r.Token.IsZero() {
		return nil
	}
	key, err := seal.LoadIdentity(KeyFile(r.Dir))
	if err != nil {
		return err
	}
	// Neither another rule nor a stop may come between the token, which is good once, and what is got for it.
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*r.Timing.Call)
	defer stop()
	known, err := r.register(ctx, key)
	if err != nil && ctx.Err() != nil {
		return nil // it did not answer; the token is still there for the next refusal
	}
	r.Token = seal.Secret{}
	if err != nil {
		r.log.Error("cannot register again", "error", err)
		return nil
	}
	if err := r.keys.registered(known); err != nil {
		return err
	}
	r.log.Info("registered again, with the install key that is here")
	return nil
}

// rotateLoop gets a new runner key when the one in use is old. It waits for that, and for the first use of the new one.
func (r *runner) rotateLoop(ctx context.Context) {
	task := status.Enter(ctx, "runner key")
	defer task.Leave()
	for {
		age, follows := r.keys.age()
		wait := r.Timing.KeyLife - age
		if follows || wait <= 0 {
			task.Works("changing the runner key")
			err := r.rotate(ctx, follows)
			task.Came(err)
			if err != nil && ctx.Err() == nil {
				r.log.Warn("cannot change the runner key now; the one in use stays good", "error", err)
			}
			wait = r.Timing.KeyLife / 24
		}
		task.Waits("for the runner key to be old")
		if !backoff.Pause(ctx, wait) {
			return
		}
	}
}

// rotate asks for a key unless one waits already, and proves it with an empty heartbeat.
func (r *runner) rotate(ctx context.Context, follows bool) error {
	if !follows {
		answer, err := r.quick.RotateKeyWithResponse(ctx)
		if err == nil {
			err = contact.Check("ask for a new runner key", answer.HTTPResponse, answer.Body)
		}
		if err == nil && (answer.JSON200 == nil || answer.JSON200.RunnerKey == "") {
			err = fmt.Errorf("ask for a new runner key: the answer holds none")
		}
		if err != nil {
			return err
		}
		r.secrets.Add([]byte(answer.JSON200.RunnerKey))
		if err := r.keys.offer(answer.JSON200.RunnerKey); err != nil {
			return err
		}
	}
	_, err := r.heartbeat(ctx, nil)
	return err
}
