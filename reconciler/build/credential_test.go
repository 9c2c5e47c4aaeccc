package build_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// vault is a world with credentials for modules.
type vault struct {
	*jobstest.World
	t       *testing.T
	key     seal.Identity
	service *build.ModuleCredentials
}

func newVault(t *testing.T) vault {
	t.Helper()
	key, err := seal.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	w := jobstest.New(t)
	return vault{World: w, t: t, key: key, service: build.NewModuleCredentials(w.Store, key)}
}

// add stores a credential whose secret is its name.
func (v vault) add(name string, modules ...string) {
	v.t.Helper()
	row := id.New("crd")
	use := seal.Context{Org: v.Org.ID, Kind: seal.KindCredential, Component: row}
	sealed, err := v.key.Recipient().Seal(use, []byte(name))
	if err != nil {
		v.t.Fatal(err)
	}
	encoded, err := json.Marshal(sealed)
	if err != nil {
		v.t.Fatal(err)
	}
	patterns, err := build.ChangeModules(nil, modules, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	v.In(v.t, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.AddCredential(ctx, store.AddCredentialParams{OrgID: v.Org.ID, ID: row, Name: name, Username: "git",
			Sealed: encoded, Modules: patterns})
		return err
	})
}

// attempt starts a job of a kind and returns its attempt as a caller.
func (v vault) attempt(kind, component string) (runners.Caller, api.AttemptRef) {
	v.t.Helper()
	runner := v.Runner(v.t, "build")
	v.Enqueue(v.t, runner, jobs.NewJob{Kind: kind, ComponentKind: component})
	ref, _ := v.Start(v.t, runner)
	return runners.Caller{Org: v.Org.ID, Runner: runner.Runner, Job: ref.Job, Attempt: ref.Attempt}, ref
}

// get returns the secret that an attempt gets for an address.
func (v vault) get(caller runners.Caller, ref api.AttemptRef, address string) (string, error) {
	v.t.Helper()
	own, err := seal.NewIdentity()
	if err != nil {
		v.t.Fatal(err)
	}
	found, err := v.service.Get(v.t.Context(), caller, ref,
		api.ModuleCredentialRequest{Address: address, Recipient: own.Recipient().String()})
	if err != nil || found.Secret == nil {
		return "", err
	}
	secret, err := own.Open(*found.Secret, seal.ModuleCredentialContext(v.Org.ID, ref.Job, address))
	if err != nil {
		v.t.Fatal(err)
	}
	return string(secret.Reveal()), nil
}

// TestModuleCredentials: a build gets the credential that names an address most closely, and none for
// any other address. Jobs of other kinds, other attempts and other orgs get none. Uses are audited.
func TestModuleCredentials(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.add("registry", "https://app.terraform.io")
	v.add("owner", "https://github.com/acme/*", "ssh://git@github.com/acme/*")
	v.add("one", "https://github.com/acme/infra.git", "https://Files.Test/modules/vpc.zip")
	v.add("without modules")
	caller, ref := v.attempt("build", "terraform_module")
	for address, want := range map[string]string{
		"https://app.terraform.io":              "registry",
		"https://app.terraform.io/archive/x":    "",
		"https://app.terraform.io.evil.test":    "",
		"https://github.com":                    "",
		"https://github.com/acme":               "",
		"https://github.com/acme/dns":           "owner",
		"https://github.com/acme/dns.git":       "owner",
		"https://github.com/acme/infra":         "one",
		"https://github.com/acme-other/dns":     "",
		"https://github.com:8443/acme/dns":      "",
		"ssh://git@github.com/acme/dns.git":     "owner",
		"ssh://root@github.com/acme/dns.git":    "",
		"https://files.test/modules/vpc.zip":    "one",
		"https://files.test/modules/other.zip":  "",
		"https://files.test/modules/vpc.zip/..": "refused",
		"https://github.com/acme/%2e%2e/x":      "refused",
		"http://github.com/acme/dns":            "refused",
		"https://a:b@github.com/acme/dns":       "refused",
		"file:///etc/passwd":                    "refused",
		"https://github.com/acme/dns?x=1":       "refused",
	} {
		got, err := v.get(caller, ref, address)
		if refusedAs(err, "bad_module_address") {
			got, err = "refused", nil
		}
		if err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", address, got, err, want)
		}
	}
	if audited := v.Text(t, "select string_agg(detail->>'address', ' ') from audit_events "+
		"where action = 'credential.use' and detail->>'name' = 'registry'"); audited != "https://app.terraform.io" {
		t.Errorf("the audit log has %q", audited)
	}
	for kind, component := range map[string]string{"action": "", "sync": "terraform_module"} {
		other, of := v.attempt(kind, component)
		if got, err := v.get(other, of, "https://app.terraform.io"); got != "" || err != nil {
			t.Errorf("a job of kind %s got %q, %v", kind, got, err)
		}
		if got, err := v.get(other, ref, "https://app.terraform.io"); got != "" || !errors.Is(err, jobs.ErrNotFound) {
			t.Errorf("another runner got %q, %v", got, err)
		}
	}
	charts, of := v.attempt("build", "helm_chart")
	if got, err := v.get(charts, of, "https://app.terraform.io"); got != "" || err != nil {
		t.Errorf("a build of a chart got %q, %v", got, err)
	}
	foreign := v.AddOrg(t)
	if got, err := v.get(runners.Caller{Org: foreign.ID, Runner: caller.Runner, Job: ref.Job, Attempt: ref.Attempt}, ref,
		"https://app.terraform.io"); got != "" || !errors.Is(err, jobs.ErrNotFound) {
		t.Errorf("another org got %q, %v", got, err)
	}
}

// TestCredentialsFillNoAuditLog checks that one attempt of a build receives a bounded number of credentials, each of
// which adds a record to the audit log, and that another attempt has its own number.
func TestCredentialsFillNoAuditLog(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.add("registry", "https://app.terraform.io")
	caller, ref := v.attempt("build", "terraform_module")
	v.Exec(t, "update attempts set credential_uses = 998 where job_id = $1", ref.Job)
	for use, want := range []string{"", "", "too_many_credentials", "too_many_credentials"} {
		got, err := v.get(caller, ref, "https://app.terraform.io")
		if want == "" && (err != nil || got != "registry") || want != "" && (!refusedAs(err, want) || got != "") {
			t.Errorf("use %d: got %q, %v, want %q", use, got, err, want)
		}
	}
	if n := v.Text(t, "select count(*)::text from audit_events where action = 'credential.use'"); n != "2" {
		t.Errorf("there are %s records, want 2", n)
	}
	caller, ref = v.attempt("build", "terraform_module")
	if got, err := v.get(caller, ref, "https://app.terraform.io"); err != nil || got != "registry" {
		t.Errorf("another attempt got %q, %v", got, err)
	}
}

// TestModulePatterns checks which addresses a credential may name, and how they are stored.
func TestModulePatterns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://App.Terraform.io/":            "https://app.terraform.io",
		"https://github.com/Acme/Infra.git":    "https://github.com/Acme/Infra",
		"https://github.com/acme/*":            "https://github.com/acme/*",
		"https://files.test/*":                 "https://files.test/*",
		"ssh://git@github.com/acme/*":          "ssh://git@github.com/acme/*",
		"https://github.com/*/infra":           "",
		"https://*":                            "",
		"*":                                    "",
		"github.com/acme":                      "",
		"http://github.com/acme":               "",
		"https://token@github.com/acme":        "",
		"ssh://git:word@github.com/acme":       "",
		"https://github.com/acme/../other":     "",
		"https://github.com/acme?ref=x":        "",
		"https://" + strings.Repeat("a", 5000): "",
	} {
		got, err := build.ModulePattern(text)
		if got != want || (err == nil) != (want != "") || err != nil && !refusedAs(err, "bad_module_address") {
			t.Errorf("%.60s: got %q, %v, want %q", text, got, err, want)
		}
	}
	now, err := build.ChangeModules([]string{"https://a.test"}, []string{"https://b.test", "https://A.test"}, nil)
	if err != nil || !slices.Equal(now, []string{"https://a.test", "https://b.test"}) {
		t.Errorf("got %v, %v", now, err)
	}
	if _, err := build.ChangeModules(now, nil, []string{"https://c.test"}); !refusedAs(err, "bad_module_address") {
		t.Errorf("got %v", err)
	}
	if now, err = build.ChangeModules(now, nil, []string{"https://a.test"}); err != nil || len(now) != 1 {
		t.Errorf("got %v, %v", now, err)
	}
}
