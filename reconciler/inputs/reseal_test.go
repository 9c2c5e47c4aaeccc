package inputs_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/reconciler/inputs"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

const planted = "planted-secret-77ab"

// bench is an install on a runner that has not registered yet, on a real database.
type bench struct {
	*testing.T
	store        *store.Store
	org          string
	seed         *pgx.Conn
	jobs         *jobs.Service
	runners      *runners.Service
	ours, theirs seal.Identity
	install      store.Install
	registration string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	t.Parallel()
	b := &bench{T: t, ours: identity(t), theirs: identity(t)}
	dsn := storetest.DSN(t)
	var err error
	b.store, err = store.Open(t.Context(), dsn)
	must(t, err)
	t.Cleanup(b.store.Close)
	b.seed, err = pgx.Connect(t.Context(), dsn)
	must(t, err)
	t.Cleanup(func() { _ = b.seed.Close(context.WithoutCancel(t.Context())) })
	org, err := b.store.AddOrg(t.Context(), id.New("org"), "acme")
	must(t, err)
	b.org = org.ID
	b.runners = runners.New(b.store)
	b.jobs = jobs.New(b.store, store.NewNotifier(), b.runners, nil)
	b.runners.OnRegistered(func(ctx context.Context, tx *store.Tx, r store.Runner) error {
		return inputs.ResealToRunner(ctx, tx, b.ours, r)
	})
	must(t, b.in(func(ctx context.Context, tx *store.Tx) error {
		var r store.Runner
		if r, b.registration, err = runners.Create(ctx, tx, runners.NewRunner{Name: "acme", Kind: "install"}); err != nil {
			return err
		}
		app, err := tx.AddApp(ctx, store.AddAppParams{OrgID: tx.Org, ID: id.New("app"), Name: "hello", Directory: "."})
		if err != nil {
			return err
		}
		b.install, err = tx.AddInstall(ctx,
			store.AddInstallParams{OrgID: tx.Org, ID: id.New("ins"), AppID: app.ID, Name: "acme", RunnerID: r.ID,
				Approval: "prompt"})
		return err
	}))
	return b
}

func identity(t *testing.T) seal.Identity {
	t.Helper()
	key, err := seal.NewIdentity()
	must(t, err)
	return key
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bench) in(work func(context.Context, *store.Tx) error) error {
	return b.store.InTx(b.Context(), b.org, work)
}

func (b *bench) seal(to seal.Identity, name, plain string) api.InputValue {
	b.Helper()
	sealed, err := to.Recipient().Seal(seal.InputContext(b.install.ID, name), []byte(plain))
	must(b, err)
	return api.InputValue{Name: name, Sealed: sealed}
}

func (b *bench) put(values ...api.InputValue) error {
	return b.in(func(ctx context.Context, tx *store.Tx) error { return inputs.Put(ctx, tx, b.ours, b.install, values) })
}

func (b *bench) register(ctx context.Context) error {
	_, err := jobstest.Register(ctx, b.runners, b.registration, b.theirs,
		api.Registration{Version: "1", Capacity: 1})
	return err
}

// kept returns the stored row of an input.
func (b *bench) kept(name string) (value *string, sealed seal.Sealed, hash string) {
	b.Helper()
	var raw []byte
	must(b, b.seed.QueryRow(b.Context(), "select value, sealed, hash from install_inputs where name = $1",
		name).Scan(&value, &raw, &hash))
	if raw != nil {
		must(b, json.Unmarshal(raw, &sealed))
	}
	return value, sealed, hash
}

// holds checks that an input is stored sealed to a key, and its plain value.
func (b *bench) holds(key seal.Identity, name, want string) {
	b.Helper()
	value, sealed, _ := b.kept(name)
	if value != nil {
		b.Errorf("input %s is kept in clear", name)
	}
	secret, err := key.Open(sealed, seal.InputContext(b.install.ID, name))
	if err != nil || string(secret.Reveal()) != want {
		b.Errorf("input %s: opened %d bytes, %v", name, len(secret.Reveal()), err)
	}
}

// rows returns every row of the tables that are related to inputs or runners.
func (b *bench) rows() string {
	b.Helper()
	var all strings.Builder
	for _, table := range []string{"install_inputs", "installs", "runners", "registrations", "audit_events",
		"idempotency_keys", "river.river_job"} {
		rows, err := b.seed.Query(b.Context(), "select t::text from "+table+" t")
		must(b, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		must(b, err)
		all.WriteString(strings.Join(lines, "\n"))
	}
	return all.String()
}

func TestHandOver(t *testing.T) {
	b := newBench(t)
	must(t, b.put(b.seal(b.ours, "token", planted), b.seal(b.ours, "empty", ""),
		api.InputValue{Name: "region", Value: "eu"}))
	b.holds(b.ours, "token", planted)
	_, old, oldHash := b.kept("token")
	must(t, b.register(t.Context()))
	b.holds(b.theirs, "token", planted)
	b.holds(b.theirs, "empty", "")
	if value, _, _ := b.kept("region"); value == nil || *value != "eu" {
		t.Errorf("the plain input is %v", value)
	}
	if _, _, hash := b.kept("token"); hash != oldHash || !strings.HasPrefix(hash, "sealed:") {
		t.Errorf("the hash was %s and is %s: handing over is no change of the value", oldHash, hash)
	}
	var asked string
	must(t, b.seed.QueryRow(t.Context(),
		"select args->>'install' from river.river_job where kind = 'rollout'").Scan(&asked))
	if asked != b.install.ID {
		t.Errorf("install %q is looked at, want the one that waited for the key", asked)
	}
	all := b.rows()
	for what, text := range map[string]string{"the old ciphertext": base64.StdEncoding.EncodeToString(old.Ciphertext),
		"the old key's id": b.ours.KeyID(), "the value": planted} {
		if strings.Contains(all, text) {
			t.Errorf("%s is still in a row", what)
		}
	}
}

// TestHandOverTouchesOnlyItsOwn: values of another runner's install stay sealed until that runner
// registers.
func TestHandOverTouchesOnlyItsOwn(t *testing.T) {
	b := newBench(t)
	must(t, b.put(b.seal(b.ours, "token", planted)))
	must(t, b.in(func(ctx context.Context, tx *store.Tx) (err error) {
		_, b.registration, err = runners.Create(ctx, tx, runners.NewRunner{Name: "other", Kind: "install"})
		return err
	}))
	must(t, b.register(t.Context()))
	b.holds(b.ours, "token", planted)
}

// TestHandOverToAMachineWithAnotherKey: after a person has declared the install key lost, values
// that are entered again are for the next key. The others remain sealed to the lost key, which
// nobody has.
func TestHandOverToAMachineWithAnotherKey(t *testing.T) {
	b := newBench(t)
	lost := b.theirs
	must(t, b.register(t.Context()))
	must(t, b.put(b.seal(lost, "token", planted), b.seal(lost, "password", planted)))
	must(t, b.in(func(ctx context.Context, tx *store.Tx) error {
		replaced, err := b.jobs.Replace(ctx, tx,
			jobs.Replacement{Runner: b.install.RunnerID, Reason: "burnt", NewKey: true})
		b.registration = replaced.RegistrationToken
		return err
	}))
	if err := b.put(b.seal(lost, "token", planted)); err == nil {
		t.Error("a value is kept under a key that is lost")
	}
	must(t, b.put(b.seal(b.ours, "token", "again"))) // before the new machine registers
	b.holds(b.ours, "token", "again")
	b.theirs = identity(t)
	must(t, b.register(t.Context()))
	b.holds(b.theirs, "token", "again")
	b.holds(lost, "password", planted)
	must(t, b.put(b.seal(b.theirs, "password", "again")))
	b.holds(b.theirs, "password", "again")
}

// TestPutAfterRegistration: a value that a client sealed to the control plane's key just before the
// registration is resealed.
func TestPutAfterRegistration(t *testing.T) {
	b := newBench(t)
	must(t, b.register(t.Context()))
	for _, to := range []seal.Identity{b.ours, b.theirs} {
		must(t, b.put(b.seal(to, "token", planted)))
		b.holds(b.theirs, "token", planted)
	}
	if strings.Contains(b.rows(), b.ours.KeyID()) {
		t.Error("something is still sealed to our key")
	}
}

func TestPutRefusesWhatNobodyCouldRead(t *testing.T) {
	b := newBench(t)
	damaged := b.seal(b.ours, "token", planted)
	damaged.Sealed.Ciphertext[len(damaged.Sealed.Ciphertext)-1] ^= 1
	relabelled := b.seal(b.theirs, "token", planted)
	relabelled.Sealed.KeyID = b.ours.KeyID()
	refuse := func(v api.InputValue, code string) {
		t.Helper()
		var p *refusal.Error
		if err := b.put(api.InputValue{Name: "region", Value: "eu"}, v); !errors.As(err, &p) ||
			p.Kind != refusal.Invalid || p.Code != code {
			t.Errorf("error %v, want %s", err, code)
		}
		var n int
		must(t, b.seed.QueryRow(t.Context(), "select count(*) from install_inputs").Scan(&n))
		if n != 0 {
			t.Errorf("%d rows after a refusal: it is all or nothing", n)
		}
	}
	refuse(damaged, "unreadable_secret")
	refuse(relabelled, "unreadable_secret")
	refuse(b.seal(b.theirs, "token", planted), "wrong_key") // the runner has not registered: the key is unknown
	must(t, b.register(t.Context()))
	refuse(b.seal(identity(t), "token", planted), "wrong_key")
}

// TestSecretThatIsEnteredAnewIsAChange: a secret counts as changed even if it is the same; an equal
// plain value does not.
func TestSecretThatIsEnteredAnewIsAChange(t *testing.T) {
	b := newBench(t)
	hash := func(v api.InputValue) string {
		t.Helper()
		must(t, b.put(v))
		_, _, hash := b.kept(v.Name)
		return hash
	}
	if first, again := hash(b.seal(b.ours, "token", planted)), hash(b.seal(b.ours, "token", planted)); first == again {
		t.Error("the hash of a secret can be compared with a guess")
	}
	if first, again := hash(api.InputValue{Name: "region", Value: "eu"}), hash(
		api.InputValue{Name: "region", Value: "eu"}); first != again {
		t.Errorf("the same plain value has the hashes %s and %s", first, again)
	}
	if a, c := hash(api.InputValue{Name: "region", Value: "eu"}), hash(api.InputValue{Name: "region",
		Value: "us"}); a == c {
		t.Error("two plain values have one hash")
	}
}

// TestSecretThatComesWhileTheRunnerRegisters: in either order, the value ends sealed to the
// runner's key.
func TestSecretThatComesWhileTheRunnerRegisters(t *testing.T) {
	b := newBench(t)
	registered := make(chan error, 1)
	must(t, b.in(func(ctx context.Context, tx *store.Tx) error {
		if err := inputs.Put(ctx, tx, b.ours, b.install, []api.InputValue{b.seal(b.ours, "token", planted)}); err != nil {
			return err
		}
		go func() { registered <- b.register(ctx) }()
		return b.blockedOrDone(registered)
	}))
	must(t, testtime.Receive(t, registered, "the runner registers"))
	b.holds(b.theirs, "token", planted)
}

// blockedOrDone waits until a registration waits for a lock of this database, or has ended.
func (b *bench) blockedOrDone(registered chan error) error {
	const locks = "select exists (select from pg_stat_activity where datname = current_database() and wait_event_type " +
		"= 'Lock')"
	var failed error
	testtime.Until(b, "the registration waits or ends", func() (waiting bool) {
		if failed = b.seed.QueryRow(b.Context(), locks).Scan(&waiting); failed != nil {
			return true
		}
		select {
		case err := <-registered:
			registered <- err
			return true
		default:
			return waiting
		}
	})
	return failed
}
