package registrylogin

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/pkg/oci/ocitest"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

const ecrRegistry = "111122223333.dkr.ecr.eu-central-1.amazonaws.com"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newCloud(t *testing.T) *cloudtest.Cloud {
	t.Helper()
	c, err := cloudtest.Start(t.TempDir())
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

// setenv sets NAME=VALUE for the test.
func setenv(t *testing.T, environ ...string) {
	t.Helper()
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
}

// runner sets the identity of this process to that of a build runner in AWS, and returns its role.
func runner(t *testing.T, c *cloudtest.Cloud, allows func(action, resource string) bool) cloudtest.Role {
	t.Helper()
	role := c.AWS.AddRole(cloudtest.Role{Account: "111122223333", Name: "builds", Allows: allows})
	setenv(t, c.AWS.NewSession(role, "i-1", time.Hour).Environ()...)
	setenv(t, "AWS_REGION=eu-central-1", "AWS_CA_BUNDLE=")
	return role
}

func open(t *testing.T, c *cloudtest.Cloud, host string, as Identity) *Session {
	t.Helper()
	s, err := New(host, as, c.Client())
	must(t, err)
	return s
}

// TestOtherRegistries: no login is sent to a registry that is none of a cloud.
func TestOtherRegistries(t *testing.T) {
	if _, err := New("ghcr.io", Identity{}, nil); err == nil || !strings.Contains(err.Error(), "no registry of AWS") {
		t.Errorf("a login to another registry: %v", err)
	}
}

// TestECR: a push with the program's own identity creates the repository that it needs, and a new login replaces the
// one that expires.
func TestECR(t *testing.T) {
	c := newCloud(t)
	runner(t, c, nil)
	c.AWS.ServeECR(ocitest.Handler(t.TempDir()))
	s := open(t, c, ecrRegistry, Identity{})
	base := c.Client()
	base.Transport = s.Transport(base.Transport)
	repository, err := oci.OpenClient(artifact.Reference{Host: ecrRegistry, Repository: "nuon/builds/api"},
		oci.Renewed(s.Credential), base)
	must(t, err)
	content := []byte("layer")
	blob := artifact.Blob{Digest: sha256digest.Of(content), Size: int64(len(content))}
	must(t, repository.PutBlob(t.Context(), blob, bytes.NewReader(content)))
	if found, err := repository.HasBlob(t.Context(), blob); err != nil || !found {
		t.Errorf("the blob is there: %v, %v", found, err)
	}
	logins := func() (n int) {
		for _, r := range c.Requests() {
			if strings.HasSuffix(r.Action, ".GetAuthorizationToken") {
				n++
			}
		}
		return n
	}
	_, first, err := s.Credential(t.Context())
	must(t, err)
	if logins() != 1 {
		t.Errorf("%d logins, want 1", logins())
	}
	s.now = func() time.Time { return time.Now().Add(12*time.Hour - renewBefore + time.Minute) }
	_, second, err := s.Credential(t.Context())
	must(t, err)
	if logins() != 2 || first == second {
		t.Errorf("%d logins after the first one expired, want 2", logins())
	}
}

// TestECRRefuses: a refusal of AWS is an error with its words.
func TestECRRefuses(t *testing.T) {
	c := newCloud(t)
	runner(t, c, func(action, _ string) bool { return action == "ecr:GetAuthorizationToken" })
	c.AWS.ServeECR(ocitest.Handler(t.TempDir()))
	s := open(t, c, ecrRegistry, Identity{})
	base := c.Client()
	base.Transport = s.Transport(base.Transport)
	repository, err := oci.OpenClient(artifact.Reference{Host: ecrRegistry, Repository: "api"},
		oci.Renewed(s.Credential), base)
	must(t, err)
	err = repository.PutBlob(t.Context(), artifact.Blob{Digest: sha256digest.Of(nil)}, bytes.NewReader(nil))
	for _, want := range []string{"forbidden", "the repository is missing, and cannot be created",
		"ecr:CreateRepository"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestARoleForEachSource: a role of another account is assumed, if its trust policy accepts the external id.
func TestARoleForEachSource(t *testing.T) {
	c := newCloud(t)
	own := runner(t, c, nil)
	c.AWS.ServeECR(ocitest.Handler(t.TempDir()))
	pull := c.AWS.AddRole(cloudtest.Role{Account: "444455556666", Name: "pull", TrustedBy: []string{own.ARN()},
		ExternalID: "org_1"})
	_, password, err := open(t, c, ecrRegistry, Identity{Role: pull.ARN(), ExternalID: "org_1"}).Credential(t.Context())
	must(t, err)
	if sessions := c.AWS.Sessions("pull"); password == "" || len(sessions) != 1 || sessions[0].Name != sessionName {
		t.Errorf("the password %q of %+v", password, sessions)
	}
	_, _, err = open(t, c, ecrRegistry, Identity{Role: pull.ARN(), ExternalID: "org_2"}).Credential(t.Context())
	if err == nil || !strings.Contains(err.Error(), "AccessDenied") || !strings.Contains(err.Error(), ecrRegistry) {
		t.Errorf("with another external id: %v", err)
	}
}

// TestArtifactRegistry: a program logs in with its own identity on Google Cloud, as a service account, and with an
// identity in AWS that a workload identity provider accepts.
func TestArtifactRegistry(t *testing.T) {
	c := newCloud(t)
	const host, account = "europe-west3-docker.pkg.dev", "pull@acme.iam.gserviceaccount.com"
	const provider = "projects/1/locations/global/workloadIdentityPools/nuon/providers/aws"
	federated := "federated:" + "//iam.googleapis.com/" + provider
	c.GCP.ServeTokens(func(caller, as string) bool {
		return as == account && (caller == "builds@acme.iam.gserviceaccount.com" || caller == federated)
	})
	environ, _, err := c.GCP.StartMachine(cloudtest.Machine{Project: "acme",
		ServiceAccount: "builds@acme.iam.gserviceaccount.com"})
	must(t, err)
	setenv(t, environ...)
	runner(t, c, nil)
	for name, test := range map[string]struct {
		as   Identity
		want string
	}{
		"its own identity":  {Identity{}, "builds@acme.iam.gserviceaccount.com"},
		"a service account": {Identity{ServiceAccount: account}, account},
		"from AWS":          {Identity{ServiceAccount: account, WorkloadProvider: provider}, account},
		"from AWS, without": {Identity{WorkloadProvider: provider}, federated},
	} {
		user, password, err := open(t, c, host, test.as).Credential(t.Context())
		if err != nil || user != googleUser || c.GCP.TokenHolder(password) != test.want {
			t.Errorf("%s: %s %s, %v, want a token of %s", name, user, c.GCP.TokenHolder(password), err, test.want)
		}
	}
	_, _, err = open(t, c, host, Identity{ServiceAccount: "admin@acme.iam.gserviceaccount.com"}).Credential(t.Context())
	if err == nil || !strings.Contains(err.Error(), "getAccessToken") {
		t.Errorf("as another service account: %v", err)
	}
}

// certificate returns a certificate with its key, and both in PEM.
func certificate(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "acr"},
		NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	pair, err := tls.X509KeyPair(text, text)
	must(t, err)
	return pair, text
}

// TestACR: a program logs in with the managed identity of its machine, and as an application with a secret or a
// certificate.
func TestACR(t *testing.T) {
	c := newCloud(t)
	const host = "acme.azurecr.io"
	pair, text := certificate(t)
	c.Azure.ServeRegistries(cloudtest.AzureApplication{Tenant: "t1", Client: "app", Secret: "s3cret"},
		cloudtest.AzureApplication{Tenant: "t1", Client: "signer", Certificate: &pair})
	address, err := c.Azure.StartMachine(cloudtest.AzureMachine{Tenant: "t1", Resource: "/subscriptions/1/builds"})
	must(t, err)
	t.Setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", address)
	for want, as := range map[string]Identity{
		"/subscriptions/1/builds": {},
		"app":                     {Tenant: "t1", Client: "app", Secret: seal.NewSecret([]byte("s3cret"))},
		"signer":                  {Tenant: "t1", Client: "signer", Secret: seal.NewSecret(text), Certificate: true},
	} {
		user, password, err := open(t, c, host, as).Credential(t.Context())
		if err != nil || user != azureUser || c.Azure.LoginHolder(password) != want {
			t.Errorf("%s: %s %s, %v", want, user, c.Azure.LoginHolder(password), err)
		}
	}
	for as, want := range map[string]Identity{
		"Invalid client secret": {Tenant: "t1", Client: "app", Secret: seal.NewSecret([]byte("other"))},
		"needs a certificate":   {Tenant: "t1", Client: "signer", Secret: seal.NewSecret([]byte("x")), Certificate: true},
	} {
		if _, _, err := open(t, c, host, want).Credential(t.Context()); err == nil || !strings.Contains(err.Error(), as) ||
			strings.Contains(err.Error(), "other") {
			t.Errorf("got %v, want %q", err, as)
		}
	}
}

// TestTransportLeavesOtherHosts: a repository is created only on the registry of the session.
func TestTransportLeavesOtherHosts(t *testing.T) {
	c := newCloud(t)
	runner(t, c, nil)
	c.AWS.ServeECR(http.NotFoundHandler())
	c.Handle("elsewhere.test", http.NotFoundHandler())
	transport := open(t, c, ecrRegistry, Identity{}).Transport(c.Client().Transport)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		"https://elsewhere.test/v2/api/blobs/uploads/", nil)
	must(t, err)
	response, err := transport.RoundTrip(request)
	must(t, err)
	must(t, response.Body.Close())
	for _, r := range c.Requests() {
		if strings.HasPrefix(r.Host, "api.ecr") {
			t.Errorf("a request to %s of %s", r.Action, r.Host)
		}
	}
}

// answer returns a handler with one response for every request.
func answer(status int, content string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(content)) // the client may have gone
	})
}

// TestBrokenAnswersOfAzure: an answer without a token is an error that names who answered, and repeats no secret.
func TestBrokenAnswersOfAzure(t *testing.T) {
	const registry, authority, secret = "acme.azurecr.io", "login.microsoftonline.com", "s3cr3t-of-the-app"
	const granted = `{"access_token": "t0ken-of-the-app"}`
	as := Identity{Tenant: "t1", Client: "app", Secret: seal.NewSecret([]byte(secret))}
	for name, test := range map[string]struct {
		authority, registry http.Handler
		want                []string
	}{
		"the login is refused": {answer(401, `{"error_description": "AADSTS7000215: Invalid client secret"}`), nil,
			[]string{"application app", "401", "AADSTS7000215"}},
		"the login has no token":        {answer(200, `{}`), nil, []string{"application app", "200"}},
		"the login is no JSON":          {answer(502, "<html>"), nil, []string{authority, "502", "without JSON"}},
		"the exchange is refused":       {answer(200, granted), answer(401, `{"errors": [{"message": "denied"}]}`), []string{registry, "401", "denied"}},
		"the exchange states no reason": {answer(200, granted), answer(403, `{}`), []string{registry, "403"}},
		"the exchange has no token":     {answer(200, granted), answer(200, `{"refresh_token": ""}`), []string{registry, "200"}},
		"the exchange is no JSON":       {answer(200, granted), answer(200, "OK"), []string{registry, "without JSON"}},
		"the exchange is too long": {answer(200, granted), answer(200, `{"refresh_token": "`+strings.Repeat("x", maxAnswer)+`"}`),
			[]string{registry, "without JSON"}},
		"the exchange redirects": {answer(200, granted),
			http.RedirectHandler("https://elsewhere.test/", http.StatusTemporaryRedirect),
			[]string{registry, "307"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			c.Handle(authority, test.authority)
			if test.registry != nil {
				c.Handle(registry, test.registry)
			}
			c.Handle("elsewhere.test", answer(200, `{"refresh_token": "stolen"}`))
			_, password, err := open(t, c, registry, as).Credential(t.Context())
			if err == nil || password != "" {
				t.Fatalf("got the password %q, %v", password, err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
			if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "t0ken") {
				t.Errorf("the error repeats a secret: %v", err)
			}
			for _, r := range c.Requests() {
				if r.Host == "elsewhere.test" {
					t.Error("a token was sent to where the registry redirects to")
				}
			}
		})
	}
}

// TestBrokenAnswersOfECR: a token of another form is an error, and no login.
func TestBrokenAnswersOfECR(t *testing.T) {
	for name, test := range map[string]struct{ content, want string }{
		"no token":          {`{"authorizationData": []}`, "no token"},
		"no base64":         {`{"authorizationData": [{"authorizationToken": "s3cr3t!"}]}`, "unknown form"},
		"no password":       {`{"authorizationData": [{"authorizationToken": "czNjcjN0"}]}`, "unknown form"},
		"nothing in it":     {`{"authorizationData": [{}]}`, "unknown form"},
		"an unknown answer": {`{}`, "no token"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			runner(t, c, nil)
			c.Handle("api.ecr.eu-central-1.amazonaws.com", answer(200, test.content))
			_, password, err := open(t, c, ecrRegistry, Identity{}).Credential(t.Context())
			if err == nil || password != "" || !strings.Contains(err.Error(), test.want) ||
				!strings.Contains(err.Error(), ecrRegistry) || strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("got %q, %v, want %q", password, err, test.want)
			}
		})
	}
}

// TestRepositoriesOfUploads: only the request that begins an upload creates a repository.
func TestRepositoriesOfUploads(t *testing.T) {
	const host = "111122223333.dkr.ecr.eu-central-1.amazonaws.com"
	for request, want := range map[string]string{
		"POST https://" + host + "/v2/a/b/blobs/uploads/":                "a/b",
		"POST https://" + host + "/v2/a/blobs/uploads":                   "a",
		"POST https://" + host + "/v2/a/blobs/uploads/?mount=sha256:1":   "a",
		"GET https://" + host + "/v2/a/blobs/uploads/":                   "",
		"POST https://" + host + "/v2/a/blobs/uploads/1":                 "",
		"POST https://" + host + "/v2//blobs/uploads/":                   "",
		"PUT https://" + host + "/v2/a/manifests/latest":                 "",
		"POST https://elsewhere.test/v2/a/blobs/uploads/":                "",
		"POST https://" + host + ".elsewhere.test/v2/a/blobs/uploads/":   "",
		"POST https://" + host + ":8443/v2/a/blobs/uploads/":             "",
		"POST https://elsewhere.test/" + host + "/v2/a/blobs/uploads/":   "",
		"POST https://" + host + "/other/v2/a/blobs/uploads/":            "",
		"POST https://" + host + "/v2/a/blobs/uploads/?x=/blobs/uploads": "a",
	} {
		method, address, _ := strings.Cut(request, " ")
		made, err := http.NewRequestWithContext(t.Context(), method, address, nil)
		must(t, err)
		created := &creations{}
		response, err := transport{creator: created, host: host, base: created}.RoundTrip(made)
		must(t, err)
		must(t, response.Body.Close())
		if got := strings.Join(created.repositories, " "); got != want {
			t.Errorf("%s creates %q, want %q", request, got, want)
		}
		if sent := 1 + len(created.repositories); created.requests != sent {
			t.Errorf("%s is sent %d times, want %d", request, created.requests, sent)
		}
	}
}

// creations is a registry in which every repository is missing. It records those that are created.
type creations struct {
	repositories []string
	requests     int
}

func (c *creations) create(_ context.Context, repository string) error {
	c.repositories = append(c.repositories, repository)
	return nil
}

func (c *creations) RoundTrip(request *http.Request) (*http.Response, error) {
	c.requests++
	return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Request: request}, nil
}
