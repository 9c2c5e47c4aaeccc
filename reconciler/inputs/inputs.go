// Package inputs stores the input values of installs. It checks them against the app's config,
// stores sensitive ones only as ciphertext to the install's key (before that key exists, to the
// control plane's own) and reseals them when the install's runner registers. It never returns a
// value. The control API calls it, and package runners when a runner registers.
package inputs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/riverqueue/river"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Check returns everything that is wrong with the values given for an install of an app, in one
// error. kept are the values that the install has already; those that the app no longer declares
// are ignored.
func Check(app *appconfig.App, kept []store.InstallInput, given []api.InputValue) error {
	c := check{refusal.Problems{File: "inputs"}}
	declared, named := map[string]appconfig.Input{}, map[string]int{}
	for _, in := range app.Inputs {
		declared[in.Name] = in
	}
	for _, v := range given {
		named[v.Name]++
		switch in, known := declared[v.Name]; {
		case named[v.Name] == 2:
			c.Addf("input %s is set twice", v.Name)
		case named[v.Name] > 2: // reported already
		case !known:
			c.Addf("the app has no input %.60q; its inputs are %s", v.Name,
				strings.Join(slices.Sorted(maps.Keys(declared)), ", "))
		case !v.Sealed.IsZero() && (v.Sealed.KeyID == "" || len(v.Sealed.Ciphertext) == 0):
			c.Addf("input %s is sealed, but its key or its ciphertext is missing", v.Name)
		default:
			c.checkForm(in, !v.Sealed.IsZero())
			if wrong := in.Check(v.Value); wrong != "" && !in.Sensitive {
				c.Addf("the value of input %s %s", in.Name, wrong)
			}
		}
	}
	for _, k := range kept {
		if in, known := declared[k.Name]; known && named[k.Name] == 0 {
			named[k.Name] = 1
			c.checkForm(in, k.Sealed != nil)
		}
	}
	for _, in := range app.Inputs {
		if named[in.Name] == 0 && in.Required && in.Default == nil {
			c.Addf("input %s has no value and is required: %s", in.Name, in.Description)
		}
	}
	return c.Err("bad_inputs", "the inputs are invalid for the app")
}

// check collects the errors.
type check struct{ refusal.Problems }

// checkForm reports a plain value that must be sealed, or the other way round.
func (c *check) checkForm(in appconfig.Input, sealed bool) {
	switch {
	case in.Sensitive && !sealed:
		c.Addf("input %s is sensitive: set it with --secret %s, so that it is sealed before it leaves", in.Name,
			in.Name)
	case !in.Sensitive && sealed:
		c.Addf("input %s is not sensitive: set it with --input %s=…", in.Name, in.Name)
	}
}

// Differ reports whether values differ from those of an install. A sensitive value that is entered again does.
func Differ(kept []store.InstallInput, given []api.InputValue) bool {
	return slices.ContainsFunc(given, func(v api.InputValue) bool {
		return !slices.ContainsFunc(kept, func(k store.InstallInput) bool {
			return k.Name == v.Name && k.Value != nil && v.Sealed.IsZero() && *k.Value == v.Value
		})
	})
}

// Put stores values of an install's inputs that Check has accepted. ours is the control plane's
// key. Put locks the install's runner like the registration does: if the runner registered its
// key concurrently, neither transaction would see the other's row, and a secret would stay sealed
// to the control plane's key.
func Put(ctx context.Context, tx *store.Tx, ours seal.Identity, install store.Install, values []api.InputValue) error {
	runner, err := tx.LockRunner(ctx, tx.Org, install.RunnerID)
	if err != nil {
		return fmt.Errorf("runner of install %s: %w", install.Name, err)
	}
	for _, v := range values {
		p := store.PutInstallInputParams{OrgID: tx.Org, InstallID: install.ID, Name: v.Name}
		if v.Sealed.IsZero() {
			p.Value, p.Hash = &v.Value, store.PlainHash(v.Value)
		} else {
			sealed, err := sealForStorage(ours, runner, install.ID, v)
			if err != nil {
				return err
			}
			// The hash is of the ciphertext as received: entering a value again counts as a
			// change, and the hash reveals nothing about it.
			p.Hash = store.SealedHash(v.Sealed.Ciphertext)
			if p.Sealed, err = json.Marshal(sealed); err != nil {
				return err
			}
		}
		if err := tx.PutInstallInput(ctx, p); err != nil {
			return fmt.Errorf("store input %s: %w", v.Name, err)
		}
	}
	return nil
}

// sealForStorage returns a sealed value as it is stored: sealed to the key of the install's runner if that
// has one, else to the control plane's.
func sealForStorage(ours seal.Identity, runner store.Runner, install string, v api.InputValue) (seal.Sealed, error) {
	if runner.Recipient != "" {
		to, err := seal.ParseRecipient(runner.Recipient)
		if err != nil {
			return seal.Sealed{}, fmt.Errorf("read the key of runner %s: %w", runner.Name, err)
		}
		if v.Sealed.KeyID == to.KeyID() {
			return v.Sealed, nil
		}
	}
	if v.Sealed.KeyID != ours.KeyID() {
		return seal.Sealed{}, &refusal.Error{
			Kind: refusal.Invalid, Code: "wrong_key",
			Title:  fmt.Sprintf("input %s is sealed to key %s, which is not this install's", v.Name, v.Sealed.KeyID),
			Remedy: "Seal it to the current key of GET /v1/sealing-key, as the nuon command does.",
		}
	}
	sealed, err := reseal(ours, runner.Recipient, seal.InputContext(install, v.Name), v.Sealed)
	if err != nil {
		return seal.Sealed{}, &refusal.Error{Kind: refusal.Invalid, Code: "unreadable_secret",
			Title: fmt.Sprintf("input %s: %v", v.Name, err)}
	}
	return sealed, nil
}

// reseal opens a value that is sealed to the control plane's key and seals it to a recipient,
// under the same context; with an empty recipient it only checks that the value can be opened.
func reseal(ours seal.Identity, recipient string, of seal.Context, sealed seal.Sealed) (seal.Sealed, error) {
	secret, err := ours.Open(sealed, of)
	if err != nil || recipient == "" {
		return sealed, err
	}
	to, err := seal.ParseRecipient(recipient)
	if err != nil {
		return seal.Sealed{}, err
	}
	return to.Seal(of, secret.Reveal())
}

// ResealToRunner seals the values that are sealed to the control plane's key to the key of the runner
// that has just registered; from then on the control plane cannot read them. It enqueues a
// reconcile of the runner's installs, which may have waited for the key.
func ResealToRunner(ctx context.Context, tx *store.Tx, ours seal.Identity, runner store.Runner) error {
	if runner.Recipient == "" {
		return nil
	}
	rows, err := tx.ViewInputsToReseal(ctx, tx.Org, runner.ID, ours.KeyID())
	if err != nil {
		return err
	}
	for _, r := range rows {
		var sealed seal.Sealed
		if err := json.Unmarshal(r.Sealed, &sealed); err != nil {
			return fmt.Errorf("read input %s: %w", r.Name, err)
		}
		if sealed, err = reseal(ours, runner.Recipient, seal.InputContext(r.InstallID, r.Name), sealed); err != nil {
			return fmt.Errorf("reseal input %s: %w", r.Name, err)
		}
		b, err := json.Marshal(sealed)
		if err != nil {
			return err
		}
		p := store.PutInstallInputParams{OrgID: tx.Org, InstallID: r.InstallID, Name: r.Name, Sealed: b, Hash: r.Hash}
		if err := tx.PutInstallInput(ctx, p); err != nil {
			return fmt.Errorf("reseal input %s: %w", r.Name, err)
		}
	}
	installs, err := tx.InstallsOfRunner(ctx, tx.Org, runner.ID)
	if err != nil {
		return err
	}
	work := make([]river.JobArgs, 0, len(installs))
	for _, install := range installs {
		work = append(work, queue.Rollout{Org: tx.Org, Install: install})
	}
	return tx.Enqueue(ctx, work...)
}
