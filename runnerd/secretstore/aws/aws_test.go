package aws_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore/aws"
)

// secret is a secret of the stand-in.
type secret struct {
	versions []string // values; the id of a version is v and its number
	deleted  bool
}

// manager is a stand-in for Secrets Manager that speaks its protocol.
type manager struct {
	*testing.T
	mutex   sync.Mutex
	secrets map[string]*secret
	denied  map[string]bool
	expired bool
	// throttled is how many requests are still to be throttled.
	throttled int
	requests  []string // the actions, with the region that each was signed for
}

// newManager starts the stand-in and lets the SDK use it with a fixed identity.
func newManager(t *testing.T) (*manager, *aws.Store) {
	t.Helper()
	m := &manager{T: t, secrets: map[string]*secret{}, denied: map[string]bool{}}
	server := httptest.NewServer(m)
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

func (m *manager) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "secretsmanager.")
	region := strings.Split(r.Header.Get("Authorization"), "/")
	if r.Method != http.MethodPost || action == "" || len(region) < 4 ||
		r.Header.Get("X-Amz-Security-Token") != "session" {
		m.Errorf("a request without an action, a signature or the session: %v", r.Header)
	} else {
		m.requests = append(m.requests, action+" "+region[2])
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	var body struct {
		SecretID     string `json:"SecretId"`
		Name         string
		SecretString string
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	name := body.SecretID + body.Name
	fail := func(code, message string) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"__type": code, "Message": message})
	}
	found := m.secrets[name]
	switch {
	case m.throttled > 0:
		m.throttled--
		fail("ThrottlingException", "Rate exceeded")
	case m.expired:
		fail("ExpiredTokenException", "The security token included in the request is expired")
	case m.denied[name]:
		fail("AccessDeniedException", "User: arn:aws:sts::1:assumed-role/runner is not authorized to perform: "+action)
	case action == "CreateSecret":
		m.secrets[name] = &secret{versions: []string{body.SecretString}}
		_ = json.NewEncoder(w).Encode(map[string]any{"Name": name})
	case found == nil:
		fail("ResourceNotFoundException", "Secrets Manager can't find the specified secret.")
	case found.deleted && action != "RestoreSecret" && action != "DescribeSecret":
		fail("InvalidRequestException",
			"You can't perform this operation on the secret because it was marked for deletion.")
	default:
		_ = json.NewEncoder(w).Encode(m.answer(action, found, body.SecretString))
	}
}

func (m *manager) answer(action string, found *secret, value string) map[string]any {
	version := func() string { return fmt.Sprintf("v%d", len(found.versions)) }
	switch action {
	case "DescribeSecret":
		stages := map[string][]string{}
		for i := range found.versions {
			stages[fmt.Sprintf("v%d", i+1)] = []string{"AWSPREVIOUS"}
		}
		if len(found.versions) > 0 {
			stages[version()] = []string{"AWSCURRENT"}
		}
		answer := map[string]any{"VersionIdsToStages": stages}
		if found.deleted {
			answer["DeletedDate"] = 1764000000.5
		}
		return answer
	case "GetSecretValue":
		return map[string]any{"SecretString": found.versions[len(found.versions)-1], "VersionId": version()}
	case "PutSecretValue":
		found.versions = append(found.versions, value)
		return map[string]any{"VersionId": version()}
	case "RestoreSecret":
		found.deleted = false
	case "DeleteSecret":
		found.deleted = true
	default:
		m.Errorf("action %s", action)
	}
	return map[string]any{}
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
	if m.secrets["ins_1/smtp_password"] == nil {
		t.Errorf("the secret is not named as the install stack names it: %v", m.secrets)
	}
	found, err := store.Get(t.Context(), mail)
	if err != nil || string(found.Secret.Reveal()) != "value1" || found.Version != "v2" {
		t.Fatalf("%q %s %v", found.Secret.Reveal(), found.Version, err)
	}
}

// TestVersionReadsNoValue checks that a change is found without the value.
func TestVersionReadsNoValue(t *testing.T) {
	m, store := newManager(t)
	m.secrets["ins_1/smtp_password"] = &secret{versions: []string{"a", "b"}}
	if version, err := store.Version(t.Context(), mail); err != nil || version != "v2" {
		t.Fatal(version, err)
	}
	if len(m.requests) != 1 || m.requests[0] != "DescribeSecret eu-central-1" {
		t.Errorf("%q", m.requests)
	}
}

func TestDeletedSecret(t *testing.T) {
	m, store := newManager(t)
	m.secrets["ins_1/smtp_password"] = &secret{versions: []string{"a"}}
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
	m.secrets["ins_1/smtp_password"] = &secret{}
	if _, err := store.Version(t.Context(), mail); !errors.Is(err, secretstore.ErrMissing) {
		t.Error(err)
	}
}

// TestMissingIsNotNotPermitted checks that the two have different errors, and that neither is an expired identity.
func TestMissingIsNotNotPermitted(t *testing.T) {
	m, store := newManager(t)
	m.denied["ins_1/smtp_password"] = true
	_, err := store.Version(t.Context(), mail)
	if !errors.Is(err, secretstore.ErrNotPermitted) || errors.Is(err, secretstore.ErrMissing) {
		t.Errorf("denied: %v", err)
	}
	m.denied, m.expired = nil, true
	_, err = store.Version(t.Context(), mail)
	if err == nil || errors.Is(err, secretstore.ErrNotPermitted) || errors.Is(err, secretstore.ErrMissing) ||
		!strings.Contains(err.Error(), "expired") {
		t.Errorf("with an expired token: %v", err)
	}
}

func TestThrottling(t *testing.T) {
	m, store := newManager(t)
	m.secrets["ins_1/smtp_password"] = &secret{versions: []string{"a"}}
	m.throttled = 2
	if version, err := store.Version(t.Context(), mail); err != nil || version != "v1" {
		t.Error(version, err)
	}
}

func TestAddressOfAnotherSecret(t *testing.T) {
	m, store := newManager(t)
	arn := "arn:aws:secretsmanager:us-east-1:123456789012:secret:rds!db-1-AbCdEf"
	m.secrets[arn] = &secret{versions: []string{"x"}}
	name := secretstore.Name{Install: "ins_1", Secret: "db", Address: arn}
	if version, err := store.Version(t.Context(), name); err != nil || version != "v1" {
		t.Fatal(version, err)
	}
	if m.requests[0] != "DescribeSecret us-east-1" {
		t.Errorf("the request is for another region than the ARN's: %s", m.requests[0])
	}
	for _, wrong := range []string{"ins_2/db", "arn:aws:s3:::bucket", "arn:aws:secretsmanager:us-east-1:1:secret:x"} {
		if _, err := store.Version(t.Context(), secretstore.Name{Install: "ins_1", Secret: "db",
			Address: wrong}); err == nil {
			t.Errorf("%s is taken for an ARN", wrong)
		}
	}
	if len(m.requests) != 1 {
		t.Errorf("%q", m.requests)
	}
}
