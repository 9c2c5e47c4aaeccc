package runners_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

func TestARegistrationTokenIsUsedOnce(t *testing.T) {
	w := jobstest.New(t)
	var heard []string
	w.Runners.OnRegistered(func(_ context.Context, _ *store.Tx, runner store.Runner) error {
		heard = append(heard, runner.Name+" "+runner.Recipient)
		return nil
	})
	runner, registration, err := w.CreateRunner(t, runners.NewRunner{
		Name: "berlin", Kind: runners.KindInstall, Shared: true,
	})
	must(t, err)
	key, err := seal.NewIdentity()
	must(t, err)
	ok := api.Registration{Version: "0.1.0", Capacity: 2, Recipient: key.Recipient().String()}
	for _, bad := range []api.Registration{
		{Version: "0.1.0", Capacity: 2}, {Capacity: 2, Recipient: "age1nonsense"}, {Recipient: ok.Recipient},
	} {
		_, err := w.Runners.Register(t.Context(), registration, bad)
		wantIs(t, err, refusal.ErrInvalid) // and the token stays valid
	}
	// Many requests at once with one proof: one gets the key.
	ok.Proof, err = jobstest.Proof(t.Context(), w.Runners, registration, key)
	must(t, err)
	var mu sync.Mutex
	var won []api.Registered
	var tries sync.WaitGroup
	for range 8 {
		tries.Go(func() {
			registered, err := w.Runners.Register(t.Context(), registration, ok)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won = append(won, registered)
			} else if !errors.Is(err, runners.ErrProof) { // it was used up
				t.Error(err)
			}
		})
	}
	tries.Wait()
	if len(won) != 1 || won[0].RunnerID != runner.ID || won[0].Name != "berlin" || won[0].Kind != "install" {
		t.Fatalf("registered %+v", won)
	}
	caller, err := w.Runners.Authenticate(t.Context(), won[0].RunnerKey)
	must(t, err)
	if caller.Org != w.Org.ID || caller.Runner != runner.ID || caller.Job != "" {
		t.Errorf("the key is %+v's", caller)
	}
	if want := "berlin " + ok.Recipient; len(heard) != 1 || heard[0] != want {
		t.Errorf("heard %q, want %q", heard, want)
	}
	kept := w.Text(t, "select coalesce(string_agg(r::text, ' '), '') || (select string_agg(g::text, ' ') from "+
		"registrations g) from runners r")
	for _, secret := range []string{won[0].RunnerKey, registration} {
		if strings.Contains(kept, secret) {
			t.Error("a token is kept in clear")
		}
	}
}

func TestTokensThatOpenNothing(t *testing.T) {
	w := jobstest.New(t)
	_, old, err := w.CreateRunner(t, runners.NewRunner{Name: "old", Kind: runners.KindBuild})
	must(t, err)
	w.Exec(t, "update registrations set expires_at = now() - interval '1 second'")
	_, good, err := w.CreateRunner(t, runners.NewRunner{Name: "good", Kind: runners.KindBuild})
	must(t, err)
	keys, err := w.Store.Tokens(t.Context())
	must(t, err)
	forged, _ := keys.Mint(token.Registration, w.Org.ID)
	elsewhere := strings.Replace(good, w.Org.ID, w.AddOrg(t).ID, 1)
	runner := w.Runner(t, runners.KindBuild)
	for name, plain := range map[string]string{
		"expired": old, "forged": forged, "moved to another org": elsewhere, "empty": "", "a runner key": runner.Key,
	} {
		if _, err := w.Runners.Register(t.Context(), plain, api.Registration{Capacity: 1}); !errors.Is(err,
			runners.ErrRegistration) {
			t.Errorf("%s: %v", name, err)
		}
	}
	forgedKey, _ := keys.Mint(token.Runner, w.Org.ID, runner.Runner)
	forgedAttempt, _ := keys.Mint(token.Attempt, w.Org.ID, "job_1", "99999999999")
	control, _ := keys.Mint(token.Control, w.Org.ID)
	for name, plain := range map[string]string{
		"a registration token": good, "forged key": forgedKey, "forged attempt": forgedAttempt,
		"control token": control, "empty": "",
		"another org": strings.Replace(runner.Key, w.Org.ID, w.AddOrg(t).ID, 1),
	} {
		_, err := w.Runners.Authenticate(t.Context(), plain)
		if !errors.Is(err, runners.ErrUnknownToken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRunnersThatCannotBe(t *testing.T) {
	w := jobstest.New(t)
	for _, n := range []runners.NewRunner{
		{Name: "", Kind: "build"}, {Name: "Upper", Kind: "build"}, {Name: "a b", Kind: "build"},
		{Name: "x", Kind: "odd"},
		{Name: "x", Kind: "build", Shared: true}, {Name: strings.Repeat("x", 64), Kind: "build"},
	} {
		_, _, err := w.CreateRunner(t, n)
		wantIs(t, err, runners.ErrBadRunner)
	}
	_, _, err := w.CreateRunner(t, runners.NewRunner{Name: "twice", Kind: "build"})
	must(t, err)
	_, _, err = w.CreateRunner(t, runners.NewRunner{Name: "twice", Kind: "build"})
	wantIs(t, err, runners.ErrNameTaken)
}
