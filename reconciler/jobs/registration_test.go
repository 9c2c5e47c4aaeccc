package jobs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// TestARunnerProvesItsKey checks that a machine cannot register a key that it does not hold,
// neither for a new runner nor in place of another machine, and that a proof is valid once.
func TestARunnerProvesItsKey(t *testing.T) {
	w := jobstest.New(t)
	heard := 0
	w.Runners.OnRegistered(func(context.Context, *store.Tx, store.Runner) error { heard++; return nil })
	newKey := func() seal.Identity {
		key, err := seal.NewIdentity()
		must(t, err)
		return key
	}
	own, victim := newKey(), newKey()
	_, token, err := w.CreateRunner(t, runners.NewRunner{Name: "berlin", Kind: runners.KindInstall})
	must(t, err)
	_, elsewhere, err := w.CreateRunner(t, runners.NewRunner{Name: "paris", Kind: runners.KindInstall})
	must(t, err)
	attempt := func(token string, key seal.Identity, proof string) error {
		_, err := w.Runners.Register(t.Context(), token, api.Registration{
			Capacity: 1, Recipient: key.Recipient().String(), Proof: proof,
		})
		return err
	}
	prove := func(token string, key seal.Identity) string {
		proof, err := jobstest.Proof(t.Context(), w.Runners, token, key)
		must(t, err)
		return proof
	}
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, runners.ErrProof) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("no challenge was asked for", attempt(token, victim, ""))
	_, err = w.Runners.Challenge(t.Context(), token, victim.Recipient().String()) // this machine cannot read its nonce
	must(t, err)
	refused("an empty proof", attempt(token, victim, ""))
	_, err = w.Runners.Challenge(t.Context(), token, victim.Recipient().String())
	must(t, err)
	refused("a guess", attempt(token, victim, "guess"))
	refused("the proof of another key", attempt(token, victim, prove(token, own)))
	refused("the proof of another runner", attempt(token, own, prove(elsewhere, own)))
	old := prove(token, own)
	prove(token, own)
	refused("a proof before the newest", attempt(token, own, old))
	proof := prove(token, own)
	refused("a wrong try takes the challenge", attempt(token, own, "guess"))
	refused("and the right one is void", attempt(token, own, proof))
	if heard != 0 {
		t.Fatalf("%d runners were registered", heard)
	}

	proof = prove(token, own)
	must(t, attempt(token, own, proof))
	refused("a copy of the registration", attempt(token, own, proof))
	wantIs(t, attempt(token, victim, proof), runners.ErrRegistration)
	_, err = w.Runners.Challenge(t.Context(), token, victim.Recipient().String())
	wantIs(t, err, runners.ErrRegistration)
	refused("a proof for another token", attempt(elsewhere, own, proof))

	// In place of a registered machine: its public key is known, and does not suffice.
	runner := w.Runner(t, runners.KindInstall)
	again := replace(t, w, runner, false).RegistrationToken
	refused("the key of the machine before", attempt(again, runner.InstallKey, ""))
	takeOver(t, w, again, runner.InstallKey)

	w.Exec(t, "update registrations set expires_at = now() - interval '1 second' where used_at is null")
	_, err = w.Runners.Challenge(t.Context(), elsewhere, own.Recipient().String())
	wantIs(t, err, runners.ErrRegistration)
	for _, bad := range []string{"", "age1nonsense"} {
		_, err = w.Runners.Challenge(t.Context(), elsewhere, bad)
		wantIs(t, err, refusal.ErrInvalid)
	}
}

// TestARegistrationWhoseResponseIsLost checks that a machine whose runner key never arrived registers
// again with the same token, that no other machine can, and that the first poll ends it.
func TestARegistrationWhoseResponseIsLost(t *testing.T) {
	for _, kind := range []string{runners.KindInstall, runners.KindBuild} {
		t.Run(kind, func(t *testing.T) {
			w := jobstest.New(t)
			_, token, err := w.CreateRunner(t, runners.NewRunner{Name: "berlin", Kind: kind})
			must(t, err)
			own, err := seal.NewIdentity()
			must(t, err)
			another, err := seal.NewIdentity()
			must(t, err)
			register := func(token string, key seal.Identity) (api.Registered, error) {
				return jobstest.Register(t.Context(), w.Runners, token, key, api.Registration{Capacity: 1})
			}
			lost, err := register(token, own)
			must(t, err)
			_, err = register(token, another)
			wantIs(t, err, runners.ErrRegistration)
			arrived, err := register(token, own)
			must(t, err)
			if arrived.RunnerID != lost.RunnerID || arrived.RunnerKey == lost.RunnerKey {
				t.Errorf("registered %s again as %s, with the same key: %t", lost.RunnerID, arrived.RunnerID,
					arrived.RunnerKey == lost.RunnerKey)
			}
			_, err = w.Runners.Authenticate(t.Context(), lost.RunnerKey)
			wantIs(t, err, runners.ErrUnknownToken)

			caller, err := w.Runners.Authenticate(t.Context(), arrived.RunnerKey)
			must(t, err)
			_, err = w.Jobs.Lease(t.Context(), caller, api.LeaseRequest{WaitSeconds: -1}, nil)
			must(t, err)
			_, err = register(token, own)
			wantIs(t, err, runners.ErrRegistration)

			// A replacement voids the token of the machine before, which has polled or not.
			runner := jobstest.Runner{Caller: caller, InstallKey: own}
			second := replace(t, w, runner, false).RegistrationToken
			_, err = register(second, own)
			must(t, err)
			third := replace(t, w, runner, false).RegistrationToken
			for _, void := range []string{token, second} {
				_, err = register(void, own)
				wantIs(t, err, runners.ErrRegistration)
			}
			_, err = register(third, own)
			must(t, err)
			w.Exec(t, "update registrations set expires_at = now() - interval '1 second'")
			_, err = register(third, own)
			wantIs(t, err, runners.ErrRegistration)
		})
	}
}

// TestRegistrationsFillNoAuditLog checks that a machine that registers again and again before its first poll leaves
// one record, and that it cannot do so any more once it has asked for another key.
func TestRegistrationsFillNoAuditLog(t *testing.T) {
	w := jobstest.New(t)
	_, token, err := w.CreateRunner(t, runners.NewRunner{Name: "berlin", Kind: runners.KindInstall})
	must(t, err)
	own, err := seal.NewIdentity()
	must(t, err)
	register := func() (api.Registered, error) {
		return jobstest.Register(t.Context(), w.Runners, token, own, api.Registration{Capacity: 1})
	}
	var registered api.Registered
	for range 5 {
		registered, err = register()
		must(t, err)
	}
	caller, err := w.Runners.Authenticate(t.Context(), registered.RunnerKey)
	must(t, err)
	_, err = w.Runners.RotateKey(t.Context(), caller)
	must(t, err)
	_, err = register()
	wantIs(t, err, runners.ErrRegistration)
	got := w.Text(t, "select string_agg(action, ' ' order by id) from audit_events where subject = $1", caller.Runner)
	if got != "runner.register runner.ask_key" {
		t.Errorf("the audit log has %s", got)
	}
}
