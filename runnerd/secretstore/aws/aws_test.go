package aws_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore/aws"
)

// newManager starts a stand-in for Secrets Manager and lets the SDK use it with a fixed identity.
func newManager(t *testing.T) (*cloudtest.SecretsManager, *aws.Store) {
	t.Helper()
	m := cloudtest.NewSecretsManager()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Amz-Security-Token") != "session" {
			t.Errorf("a request without the session: %v", r.Header)
		}
		m.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_SECRETS_MANAGER": server.URL, "AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
		"AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_SESSION_TOKEN": "session",
	} {
		t.Setenv(name, value)
	}
	store, err := aws.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return m, store
}

var mail = secretstore.Name{Install: "ins_1", Secret: "smtp_password"}

func TestSecretsManager(t *testing.T) {
	m, store := newManager(t)
	if _, err := store.Version(t.Context(), mail); !errors.Is(err, secretstore.ErrMissing) {
		t.Fatalf("of a secret that does not exist: %v", err)
	}
	for i, want := range []string{"v1", "v2"} {
		if err := store.Set(t.Context(), mail, seal.NewSecret([]byte(fmt.Sprint("value", i)))); err != nil {
			t.Fatal(err)
		}
		version, err := store.Version(t.Context(), mail)
		if err != nil || version != want {
			t.Fatalf("%s %v", version, err)
		}
	}
	if !m.Has("ins_1/smtp_password") {
		t.Error("the secret is not named as the install stack names it")
	}
	found, err := store.Get(t.Context(), mail)
	if err != nil || string(found.Secret.Reveal()) != "value1" || found.Version != "v2" {
		t.Fatalf("%q %s %v", found.Secret.Reveal(), found.Version, err)
	}
}

// TestVersionReadsNoValue checks that a change is found without the value.
func TestVersionReadsNoValue(t *testing.T) {
	m, store := newManager(t)
	m.Put("ins_1/smtp_password", "a", "b")
	if version, err := store.Version(t.Context(), mail); err != nil || version != "v2" {
		t.Fatal(version, err)
	}
	if got := m.Requests(); len(got) != 1 || got[0] != "DescribeSecret eu-central-1" {
		t.Errorf("%q", got)
	}
}

func TestDeletedSecret(t *testing.T) {
	m, store := newManager(t)
	m.Put("ins_1/smtp_password", "a")
	if err := store.Delete(t.Context(), mail); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Version(t.Context(), mail); !errors.Is(err, secretstore.ErrMissing) {
		t.Errorf("the version of a secret that is scheduled for deletion: %v", err)
	}
	if _, err := store.Get(t.Context(), mail); !errors.Is(err, secretstore.ErrMissing) {
		t.Errorf("the value of a secret that is scheduled for deletion: %v", err)
	}
	if err := store.Set(t.Context(), mail, seal.NewSecret([]byte("b"))); err != nil {
		t.Fatal(err)
	}
	if found, err := store.Get(t.Context(), mail); err != nil || string(found.Secret.Reveal()) != "b" {
		t.Errorf("after it was set again: %v", err)
	}
}

func TestSecretWithoutValue(t *testing.T) {
	m, store := newManager(t)
	m.Put("ins_1/smtp_password")
	if _, err := store.Version(t.Context(), mail); !errors.Is(err, secretstore.ErrMissing) {
		t.Error(err)
	}
}

// TestMissingIsNotNotPermitted checks that the two have different errors, and that neither is an expired identity.
func TestMissingIsNotNotPermitted(t *testing.T) {
	m, store := newManager(t)
	m.Deny("ins_1/smtp_password", true)
	_, err := store.Version(t.Context(), mail)
	if !errors.Is(err, secretstore.ErrNotPermitted) || errors.Is(err, secretstore.ErrMissing) {
		t.Errorf("denied: %v", err)
	}
	m.Deny("ins_1/smtp_password", false)
	m.Expire()
	_, err = store.Version(t.Context(), mail)
	if err == nil || errors.Is(err, secretstore.ErrNotPermitted) || errors.Is(err, secretstore.ErrMissing) ||
		!strings.Contains(err.Error(), "expired") {
		t.Errorf("with an expired token: %v", err)
	}
}

func TestThrottling(t *testing.T) {
	m, store := newManager(t)
	m.Put("ins_1/smtp_password", "a")
	m.Throttle(2)
	if version, err := store.Version(t.Context(), mail); err != nil || version != "v1" {
		t.Error(version, err)
	}
}

func TestAddressOfAnotherSecret(t *testing.T) {
	m, store := newManager(t)
	arn := "arn:aws:secretsmanager:us-east-1:123456789012:secret:rds!db-1-AbCdEf"
	m.Put(arn, "x")
	name := secretstore.Name{Install: "ins_1", Secret: "db", Address: arn}
	if version, err := store.Version(t.Context(), name); err != nil || version != "v1" {
		t.Fatal(version, err)
	}
	if got := m.Requests(); got[0] != "DescribeSecret us-east-1" {
		t.Errorf("the request is for another region than the ARN's: %s", got[0])
	}
	for _, wrong := range []string{"ins_2/db", "arn:aws:s3:::bucket", "arn:aws:secretsmanager:us-east-1:1:secret:x"} {
		if _, err := store.Version(t.Context(), secretstore.Name{Install: "ins_1", Secret: "db",
			Address: wrong}); err == nil {
			t.Errorf("%s is taken for an ARN", wrong)
		}
	}
	if got := m.Requests(); len(got) != 1 {
		t.Errorf("%q", got)
	}
}
