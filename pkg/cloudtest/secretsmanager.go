package cloudtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// SecretsManager is a stand-in for AWS Secrets Manager that speaks its protocol. The id of a version is v and its
// number. Point the SDK to it with AWS_ENDPOINT_URL_SECRETS_MANAGER.
type SecretsManager struct {
	mu        sync.Mutex
	secrets   map[string]*managedSecret
	denied    map[string]bool
	expired   bool
	throttled int
	requests  []string
}

type managedSecret struct {
	versions []string // values
	deleted  bool
}

// NewSecretsManager returns a stand-in without secrets.
func NewSecretsManager() *SecretsManager {
	return &SecretsManager{secrets: map[string]*managedSecret{}, denied: map[string]bool{}}
}

// Put stores a secret with these versions, the oldest first. Without versions it has no value.
func (m *SecretsManager) Put(name string, versions ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.secrets[name] = &managedSecret{versions: versions}
}

// launch stores what a stack has as the value of a secret, unless it has that value already. Without one it is
// generated once.
func (m *SecretsManager) launch(name string, entered any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, given := entered.(string)
	s := m.secrets[name]
	switch {
	case s != nil && (!given || len(s.versions) > 0 && s.versions[len(s.versions)-1] == value):
		return
	case s == nil:
		s = &managedSecret{}
		m.secrets[name] = s
	}
	if !given {
		value = randomHex(16) //nolint:mnd // bytes
	}
	s.versions = append(s.versions, value)
}

// Has reports whether a secret exists.
func (m *SecretsManager) Has(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.secrets[name] != nil
}

// Deny denies access to a secret, or grants it again.
func (m *SecretsManager) Deny(name string, denied bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.denied[name] = denied
}

// Expire makes all requests fail as if the caller's token had expired.
func (m *SecretsManager) Expire() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expired = true
}

// Throttle throttles the next requests.
func (m *SecretsManager) Throttle(requests int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.throttled = requests
}

// Requests returns the actions of the requests so far, each with the region that it was signed for.
func (m *SecretsManager) Requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.requests...)
}

// ServeHTTP answers a request. Requests without an action or a signature are refused.
func (m *SecretsManager) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	fail := func(code, message string) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"__type": code, "Message": message})
	}
	_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "secretsmanager.")
	scope := strings.Split(r.Header.Get("Authorization"), "/")
	if r.Method != http.MethodPost || action == "" || len(scope) < 4 { //nolint:mnd // key, date, region, service
		fail("MissingAuthenticationTokenException", "Request is missing Authentication Token")
		return
	}
	m.requests = append(m.requests, action+" "+scope[2])
	var body struct {
		SecretID     string `json:"SecretId"`
		Name         string
		SecretString string
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	name := body.SecretID + body.Name
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
		m.secrets[name] = &managedSecret{versions: []string{body.SecretString}}
		_ = json.NewEncoder(w).Encode(map[string]any{"Name": name})
	case found == nil:
		fail("ResourceNotFoundException", "Secrets Manager can't find the specified secret.")
	case found.deleted && action != "RestoreSecret" && action != "DescribeSecret":
		fail("InvalidRequestException",
			"You can't perform this operation on the secret because it was marked for deletion.")
	default:
		answer := found.answer(action, body.SecretString)
		if answer == nil {
			fail("UnknownOperationException", action)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	}
}

// answer does an action on an existing secret. It returns nil for an action that the stand-in does not have.
func (s *managedSecret) answer(action, value string) map[string]any {
	version := func() string { return fmt.Sprintf("v%d", len(s.versions)) }
	switch action {
	case "DescribeSecret":
		stages := map[string][]string{}
		for i := range s.versions {
			stages[fmt.Sprintf("v%d", i+1)] = []string{"AWSPREVIOUS"}
		}
		if len(s.versions) > 0 {
			stages[version()] = []string{"AWSCURRENT"}
		}
		answer := map[string]any{"VersionIdsToStages": stages}
		if s.deleted {
			answer["DeletedDate"] = 1764000000.5
		}
		return answer
	case "GetSecretValue":
		if len(s.versions) == 0 {
			return nil
		}
		return map[string]any{"SecretString": s.versions[len(s.versions)-1], "VersionId": version()}
	case "PutSecretValue":
		s.versions = append(s.versions, value)
		return map[string]any{"VersionId": version()}
	case "RestoreSecret":
		s.deleted = false
	case "DeleteSecret":
		s.deleted = true
	default:
		return nil
	}
	return map[string]any{}
}
