package runner_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/cloudproof"
	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/api/ratelimit"
	"github.com/nuon-toolkit/nuon/reconciler/api/runner"
	"github.com/nuon-toolkit/nuon/reconciler/cloudclaim"
	"github.com/nuon-toolkit/nuon/reconciler/cloudidentity"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/phonehome"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

const customer = "123456789012" // the customer's account on AWS

// clouded is the runner API with a simulated cloud.
type clouded struct {
	served
	cloud  *cloudtest.Cloud
	claims *cloudclaim.Service
	phone  *phonehome.Service
}

// serveCloud serves the runner API. Apps have a stack on AWS with a secret, license.
func serveCloud(t *testing.T) clouded {
	t.Helper()
	return serveCloudBounded(t, ratelimit.Options{Rate: 10_000})
}

func serveCloudBounded(t *testing.T, claimQuota ratelimit.Options) clouded {
	t.Helper()
	w := jobstest.New(t)
	cloud, err := cloudtest.Start(t.TempDir())
	must(t, err)
	t.Cleanup(func() { must(t, cloud.Close()) })
	server := httptest.NewUnstartedServer(nil)
	address := "http://" + server.Listener.Addr().String()
	claims := cloudclaim.New(w.Store, cloudidentity.New(cloudidentity.Options{RunnerURL: address,
		AzureAudience: "api://nuon.example.com", Client: cloud.Client()}))
	w.Runners.UseClaims(claims)
	app := &appconfig.App{Stack: &format.Stack{}, Runner: &format.Runner{Type: "aws"},
		Secrets: []appconfig.Secret{{Name: "license"}}}
	phone := phonehome.New(w.Store, claims, func(context.Context, *store.Tx, store.Install) ([]*appconfig.App, error) {
		return []*appconfig.App{app}, nil
	})
	server.Config.Handler = runner.New(runner.Options{Jobs: w.Jobs, Runners: w.Runners, States: w.States, Logs: w.Logs,
		PhoneHome: phone, Quota: ratelimit.Options{Rate: 10_000}, ClaimQuota: claimQuota})
	server.Start()
	t.Cleanup(server.Close)
	t.Cleanup(w.Jobs.Drain)
	return clouded{served{w, address}, cloud, claims, phone}
}

// claimed is an install whose runner has not registered yet.
type claimed struct {
	install, runner, claim string
	key                    seal.Identity
}

// claimed creates an install for an account, given as JSON.
func (c clouded) claimed(t *testing.T, account string) claimed {
	t.Helper()
	row, _, err := c.CreateRunner(t, runners.NewRunner{Name: id.New("r"), Kind: runners.KindInstall})
	must(t, err)
	component := c.Component(t, jobstest.Runner{Caller: runners.Caller{Org: c.Org.ID, Runner: row.ID}})
	install := c.InstallOf(t, component)
	c.Exec(t, "update installs set account = $1 where id = $2", account, install)
	keys, err := c.Store.Tokens(t.Context())
	must(t, err)
	key, err := seal.NewIdentity()
	must(t, err)
	return claimed{install, row.ID, keys.Derive(token.Claim, c.Org.ID, install), key}
}

const ofCustomer = `{"aws_account":{"account_id":"` + customer + `","region":"eu-central-1"}}`

// session starts a session of a role of an account.
func (c clouded) session(account, role, name string) cloudtest.Session {
	return c.cloud.AWS.NewSession(c.cloud.AWS.AddRole(cloudtest.Role{Account: account, Name: role}), name, time.Hour)
}

// machine is the session of the install's runner.
func (c clouded) machine(i claimed) cloudtest.Session {
	return c.session(customer, installstack.RunnerRoleName(i.install), "i-0123456789abcdef0")
}

// prove signs a request for a nonce as a session.
func (c clouded) prove(t *testing.T, s cloudtest.Session, nonce string) api.CloudIdentity {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://sts.eu-central-1.amazonaws.com/",
		strings.NewReader(cloudproof.STSBody))
	must(t, err)
	host, err := cloudproof.Host(c.url)
	must(t, err)
	for name, value := range map[string]string{"Content-Type": cloudproof.STSContentType,
		cloudproof.HeaderAudience: host, cloudproof.HeaderNonce: nonce} {
		request.Header.Set(name, value)
	}
	sum := sha256.Sum256([]byte(cloudproof.STSBody))
	must(t, v4.NewSigner().SignHTTP(t.Context(), s.Credentials(), request, hex.EncodeToString(sum[:]), "sts",
		"eu-central-1", time.Now()))
	return api.CloudIdentity{Cloud: "aws", AwsRequest: api.SignedRequest{
		Authorization: request.Header.Get("Authorization"), Date: request.Header.Get("X-Amz-Date"),
		SessionToken: request.Header.Get("X-Amz-Security-Token")}}
}

// registration returns a request to register as a session.
func (c clouded) registrationOf(t *testing.T, i claimed, s cloudtest.Session) api.ClaimRegistration {
	t.Helper()
	var challenge api.ClaimChallenge
	c.ok(t, "POST", "/runner/v1/claim/challenge", i.claim,
		api.ClaimChallengeRequest{Recipient: i.key.Recipient().String()}, &challenge)
	proof, err := i.key.Open(challenge.Sealed, seal.RegistrationContext(i.key.Recipient()))
	must(t, err)
	return api.ClaimRegistration{Nonce: challenge.Nonce, Identity: c.prove(t, s, challenge.Nonce),
		Registration: api.Registration{Version: "0.1.0", Capacity: 2, Recipient: i.key.Recipient().String(),
			Proof: string(proof.Reveal())}}
}

func (c clouded) register(t *testing.T, i claimed, r api.ClaimRegistration) answer {
	t.Helper()
	return c.call(t, "POST", "/runner/v1/claim/register", i.claim, r)
}

// view returns a runner as the control API shows it.
func (c clouded) view(t *testing.T, i claimed) api.Runner {
	t.Helper()
	var view api.Runner
	c.In(t, func(ctx context.Context, tx *store.Tx) error {
		row, err := tx.ViewRunner(ctx, tx.Org, i.runner)
		view = runners.View(row, tx.Now())
		return err
	})
	return view
}

// TestRegisterByIdentity checks that the machine of an install registers by its role and account, once, and
// again only as long as its runner key may not have arrived.
func TestRegisterByIdentity(t *testing.T) {
	c := serveCloud(t)
	i := c.claimed(t, ofCustomer)
	request := c.registrationOf(t, i, c.machine(i))
	a := c.register(t, i, request)
	var registered api.Registered
	if a.status != 200 || json.Unmarshal(a.body, &registered) != nil || registered.RunnerID != i.runner {
		t.Fatalf("%d %s", a.status, a.body)
	}
	another := i
	var err error
	another.key, err = seal.NewIdentity()
	must(t, err)
	if a := c.register(t, another, c.registrationOf(t, another, c.machine(i))); a.status != 409 ||
		a.code(t) != "registered" {
		t.Errorf("another key before the first request: %d %s", a.status, a.body)
	}
	a = c.register(t, i, c.registrationOf(t, i, c.session(customer, installstack.RunnerRoleName(i.install), "i-1")))
	if a.status != 409 || a.code(t) != "registered" {
		t.Errorf("another machine with the same key: %d %s", a.status, a.body)
	}
	lost := registered.RunnerKey
	a = c.register(t, i, c.registrationOf(t, i, c.machine(i)))
	if a.status != 200 || json.Unmarshal(a.body, &registered) != nil || registered.RunnerID != i.runner {
		t.Fatalf("the response was lost: %d %s", a.status, a.body)
	}
	if a := c.call(t, "POST", "/runner/v1/heartbeat", lost, api.Heartbeat{}); a.status != 401 {
		t.Errorf("the key that was lost: %d %s", a.status, a.body)
	}
	c.ok(t, "POST", "/runner/v1/heartbeat", registered.RunnerKey, api.Heartbeat{}, nil)
	view := c.view(t, i)
	if view.RegisteredBy != "identity" || view.Identity == nil || view.Identity.Account != customer ||
		view.Identity.Machine != "i-0123456789abcdef0" || view.KeyID != i.key.KeyID() {
		t.Errorf("the runner is %+v, %+v", view, view.Identity)
	}
	if a := c.register(t, i, request); a.status != 403 || a.code(t) != "nonce_refused" {
		t.Errorf("a copy of the first request: %d %s", a.status, a.body)
	}
	if a := c.register(t, i, c.registrationOf(t, i, c.machine(i))); a.status != 409 || a.code(t) != "registered" {
		t.Errorf("another machine: %d %s", a.status, a.body)
	}
	events := c.Text(t, "select string_agg(action || ' ' || detail::text, '|') from audit_events where subject = $1",
		i.runner)
	if strings.Count(events, "runner.register") != 1 || !strings.Contains(events, customer) {
		t.Errorf("recorded %s", events)
	}
}

// TestForeignMachines checks that nobody else registers, regardless of what is proven.
func TestForeignMachines(t *testing.T) {
	c := serveCloud(t)
	i, other := c.claimed(t, ofCustomer), c.claimed(t, ofCustomer)
	role := installstack.RunnerRoleName(i.install)
	attempt := func(name, code string, s cloudtest.Session, change func(*api.ClaimRegistration)) {
		t.Helper()
		r := c.registrationOf(t, i, s)
		change(&r)
		if a := c.register(t, i, r); a.status < 400 || a.code(t) != code {
			t.Errorf("%s: %d %s, want %s", name, a.status, a.body, code)
		}
	}
	same := func(*api.ClaimRegistration) {}
	attempt("another account", "foreign_identity", c.session("999999999999", role, "i-1"), same)
	attempt("another role", "foreign_identity", c.session(customer, "admin", "i-1"), same)
	attempt("the role of the stack's function", "foreign_identity",
		c.session(customer, installstack.PhoneHomeRoleName(i.install), "i-1"), same)
	attempt("the role of another install", "foreign_identity",
		c.session(customer, installstack.RunnerRoleName(other.install), "i-1"), same)
	attempt("no proof", "identity_refused", c.machine(i),
		func(r *api.ClaimRegistration) { r.Identity = api.CloudIdentity{} })
	attempt("another nonce", "nonce_refused", c.machine(i), func(r *api.ClaimRegistration) { r.Nonce = "x" })
	attempt("a wrong proof of the key", "proof_refused", c.machine(i),
		func(r *api.ClaimRegistration) { r.Registration.Proof = "guess" })
	stranger, err := seal.NewIdentity()
	must(t, err)
	attempt("another key than the nonce is for", "proof_refused", c.machine(i),
		func(r *api.ClaimRegistration) { r.Registration.Recipient = stranger.Recipient().String() })
	attempt("the nonce of another install", "nonce_refused", c.machine(i), func(r *api.ClaimRegistration) {
		*r = c.registrationOf(t, other, c.machine(other))
	})
	c.Exec(t, "update identity_nonces set expires_at = now() - interval '1 second'")
	late := c.registrationOf(t, i, c.machine(i))
	c.Exec(t, "update identity_nonces set expires_at = now() - interval '1 second'")
	if a := c.register(t, i, late); a.code(t) != "nonce_refused" {
		t.Errorf("an old nonce: %d %s", a.status, a.body)
	}
	c.cloud.MoveClock(10 * time.Minute)
	attempt("a clock that is 10 minutes off", "identity_refused", c.machine(i), same)
	c.cloud.MoveClock(-10 * time.Minute)
	if view := c.view(t, i); view.Registered {
		t.Errorf("the runner is registered: %+v", view)
	}
	if n := c.Text(t, "select count(*)::text from cloud_claims where confirmed_at is null"); n != "0" {
		t.Errorf("%s claims of strangers are listed", n)
	}
}

// TestFirstUse checks that the machine of an unknown account waits until a person confirms it, and
// that nothing else than what was confirmed registers then.
func TestFirstUse(t *testing.T) {
	c := serveCloud(t)
	i := c.claimed(t, `{"aws_account":{"region":"eu-central-1"}}`)
	role := installstack.RunnerRoleName(i.install)
	stranger := c.session("999999999999", role, "i-666")
	for range 2 {
		if a := c.register(t, i, c.registrationOf(t, i, stranger)); a.code(t) != "waiting_for_confirmation" ||
			a.header.Get("Retry-After") == "" {
			t.Fatalf("a stranger: %d %s", a.status, a.body)
		}
	}
	if a := c.register(t, i, c.registrationOf(t, i, c.machine(i))); a.code(t) != "waiting_for_confirmation" {
		t.Fatalf("the customer: %d %s", a.status, a.body)
	}
	claims := c.waiting(t, i)
	if len(claims) != 2 || claims[0].Account != customer || claims[1].Account != "999999999999" {
		t.Fatalf("claims %+v", claims)
	}
	c.confirm(t, i, claims[0].ID)
	if a := c.register(t, i, c.registrationOf(t, i, stranger)); a.code(t) != "waiting_for_confirmation" {
		t.Errorf("a stranger after that: %d %s", a.status, a.body)
	}
	if a := c.register(t, i, c.registrationOf(t, i, c.machine(i))); a.status != 200 {
		t.Fatalf("the customer after that: %d %s", a.status, a.body)
	}
	if n := c.Text(t, "select count(*)::text from audit_events where action = 'install.confirm_account'"); n != "1" {
		t.Errorf("%s confirmations are recorded", n)
	}
}

func (c clouded) waiting(t *testing.T, i claimed) []store.CloudClaim {
	t.Helper()
	var claims []store.CloudClaim
	c.In(t, func(ctx context.Context, tx *store.Tx) error {
		rows, err := tx.WaitingClaims(ctx, tx.Org, []string{i.runner})
		for _, row := range rows {
			claims = append(claims, row.CloudClaim)
		}
		return err
	})
	return claims
}

func (c clouded) confirm(t *testing.T, i claimed, claim string) {
	t.Helper()
	c.In(t, func(ctx context.Context, tx *store.Tx) error {
		install, err := tx.LockInstall(ctx, tx.Org, i.install)
		if err != nil {
			return err
		}
		confirmed, err := c.claims.Confirm(ctx, tx, install, claim, "ada")
		if err != nil {
			return err
		}
		return c.phone.Settle(ctx, tx, install, confirmed)
	})
}

// TestReplacedMachineIsConfirmed checks that after a replacement no machine registers by its identity
// without a person's decision, not even one of the right account with the right key.
func TestReplacedMachineIsConfirmed(t *testing.T) {
	c := serveCloud(t)
	i := c.claimed(t, ofCustomer)
	if a := c.register(t, i, c.registrationOf(t, i, c.machine(i))); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	c.In(t, func(ctx context.Context, tx *store.Tx) error {
		_, err := c.Jobs.Replace(ctx, tx, jobs.Replacement{Runner: i.runner, Reason: "it was stolen"})
		return err
	})
	if a := c.register(t, i, c.registrationOf(t, i, c.machine(i))); a.code(t) != "waiting_for_confirmation" {
		t.Fatalf("the machine before: %d %s", a.status, a.body)
	}
	claims := c.waiting(t, i)
	if len(claims) != 1 {
		t.Fatalf("claims %+v", claims)
	}
	c.confirm(t, i, claims[0].ID)
	thief := i
	var err error
	thief.key, err = seal.NewIdentity()
	must(t, err)
	if a := c.register(t, thief, c.registrationOf(t, thief, c.machine(i))); a.code(t) != "waiting_for_confirmation" {
		t.Errorf("a machine with another key: %d %s", a.status, a.body)
	}
	if a := c.register(t, i, c.registrationOf(t, i, c.machine(i))); a.status != 200 {
		t.Errorf("the confirmed machine: %d %s", a.status, a.body)
	}
}

// TestSharedRunners checks that the account of one install opens no runner that works for others.
func TestSharedRunners(t *testing.T) {
	c := serveCloud(t)
	i := c.claimed(t, ofCustomer)
	c.Component(t, jobstest.Runner{Caller: runners.Caller{Org: c.Org.ID, Runner: i.runner}})
	if a := c.register(t, i, c.registrationOf(t, i, c.machine(i))); a.code(t) != "runner_not_alone" {
		t.Errorf("two installs: %d %s", a.status, a.body)
	}
	shared := c.claimed(t, ofCustomer)
	c.Exec(t, "update runners set shared = true where id = $1", shared.runner)
	if a := c.register(t, shared, c.registrationOf(t, shared, c.machine(shared))); a.code(t) != "runner_not_alone" {
		t.Errorf("shared: %d %s", a.status, a.body)
	}
}

// TestClaimQuota checks that one claim token, which others can read, makes few requests, and that it
// slows no other.
func TestClaimQuota(t *testing.T) {
	now := time.Now()
	c := serveCloudBounded(t, ratelimit.Options{Now: func() time.Time { return now }})
	i, other := c.claimed(t, ofCustomer), c.claimed(t, ofCustomer)
	refused := 0
	for range 100 {
		a := c.call(t, "POST", "/runner/v1/claim/challenge", i.claim, api.ClaimChallengeRequest{})
		if a.status == 429 && a.header.Get("Retry-After") != "" {
			refused++
		} else if a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	if refused == 0 {
		t.Error("100 requests at once are admitted")
	}
	c.ok(t, "POST", "/runner/v1/claim/challenge", other.claim, api.ClaimChallengeRequest{}, nil)
}
