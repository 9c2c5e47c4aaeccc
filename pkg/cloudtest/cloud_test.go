package cloudtest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/compute/metadata"
	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"
	"github.com/aws/smithy-go"

	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func start(t testing.TB) *cloudtest.Cloud {
	t.Helper()
	c, err := cloudtest.Start(t.TempDir())
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

// setenv sets the variables NAME=VALUE of a program for the test.
func setenv(t testing.TB, environ []string) {
	t.Helper()
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
}

// wantCode checks the code of an error of AWS.
func wantCode(t testing.TB, err error, code string) {
	t.Helper()
	if e := smithy.APIError(nil); !errors.As(err, &e) || e.ErrorCode() != code {
		t.Errorf("error %v, want %s", err, code)
	}
}

// TestAWS talks to the stand-ins with the SDK: a machine that gets its credentials from its metadata service, asks who
// it is, assumes a role, and gets a web identity token.
func TestAWS(t *testing.T) {
	c := start(t)
	role := c.AWS.AddRole(cloudtest.Role{Account: "123456789012", Name: "runner"})
	deploy := c.AWS.AddRole(cloudtest.Role{Account: "123456789012", Name: "deploy", TrustedBy: []string{role.ARN()}})
	environ, err := c.AWS.StartInstance(cloudtest.Instance{Role: role, ID: "i-0123456789abcdef0", Region: "eu-central-1"})
	must(t, err)
	setenv(t, environ)
	t.Setenv("AWS_CA_BUNDLE", "") // the client of the cloud has its own
	settings, err := config.LoadDefaultConfig(t.Context(), config.WithRegion("eu-central-1"),
		config.WithHTTPClient(c.Client()))
	must(t, err)
	client := sts.NewFromConfig(settings)

	c.Throttle("sts.eu-central-1.amazonaws.com", 2) // the SDK tries again
	who, err := client.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	must(t, err)
	if got := *who.Arn; got != "arn:aws:sts::123456789012:assumed-role/runner/i-0123456789abcdef0" {
		t.Errorf("the machine is %s", got)
	}
	assumed, err := client.AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: aws.String(deploy.ARN()),
		RoleSessionName: aws.String("job_1"), Tags: []types.Tag{{Key: aws.String("install"), Value: aws.String("acme")}}})
	must(t, err)
	if got := *assumed.AssumedRoleUser.Arn; got != "arn:aws:sts::123456789012:assumed-role/deploy/job_1" {
		t.Errorf("assumed %s", got)
	}
	if got := c.AWS.Sessions("deploy"); len(got) != 1 || got[0].Tags["install"] != "acme" || !got[0].Chained {
		t.Errorf("sessions %+v", got)
	}
	_, err = client.AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: aws.String(role.ARN()),
		RoleSessionName: aws.String("job_1")})
	wantCode(t, err, "AccessDenied")

	token := &sts.GetWebIdentityTokenInput{Audience: []string{"https://example.com"},
		SigningAlgorithm: aws.String("ES384")}
	_, err = client.GetWebIdentityToken(t.Context(), token)
	wantCode(t, err, "OutboundWebIdentityFederationDisabledException")
	c.AWS.EnableFederation("123456789012")
	made, err := client.GetWebIdentityToken(t.Context(), token)
	must(t, err)
	if strings.Count(*made.WebIdentityToken, ".") != 2 || made.Expiration.After(c.Now().Add(6*time.Minute)) {
		t.Errorf("token %s until %s", *made.WebIdentityToken, made.Expiration)
	}
}

// TestAuthenticate checks that a request counts as its session's only with the whole and current signature.
func TestAuthenticate(t *testing.T) {
	c := start(t)
	session := c.AWS.NewSession(c.AWS.AddRole(cloudtest.Role{Account: "123456789012", Name: "runner"}), "i-1", time.Hour)
	const body = "Action=GetCallerIdentity&Version=2011-06-15"
	sign := func(at time.Time, change func(r *http.Request)) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://sts.eu-central-1.amazonaws.com/",
			strings.NewReader(body))
		must(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
		r.Header.Set("X-Nonce", "one")
		sum := sha256.Sum256([]byte(body))
		must(t, v4.NewSigner().SignHTTP(context.Background(), session.Credentials(), r, hex.EncodeToString(sum[:]), "sts",
			"eu-central-1", at))
		change(r)
		answer, err := c.Client().Do(r)
		must(t, err)
		defer answer.Body.Close() //nolint:errcheck // only read
		var text bytes.Buffer
		_, err = text.ReadFrom(answer.Body)
		must(t, err)
		return answer.StatusCode, text.String()
	}
	status, text := sign(time.Now(), func(*http.Request) {})
	if status != http.StatusOK || !strings.Contains(text, "<Account>123456789012</Account>") {
		t.Fatalf("%d %s", status, text)
	}
	for name, test := range map[string]struct {
		at     time.Duration
		change func(*http.Request)
		code   string
	}{
		"another header": {0, func(r *http.Request) { r.Header.Set("X-Nonce", "two") }, "SignatureDoesNotMatch"},
		"old":            {-10 * time.Minute, func(*http.Request) {}, "SignatureDoesNotMatch"},
		"early":          {10 * time.Minute, func(*http.Request) {}, "SignatureDoesNotMatch"},
		"another token":  {0, func(r *http.Request) { r.Header.Set("X-Amz-Security-Token", "x") }, "InvalidClientTokenId"},
		"unsigned":       {0, func(r *http.Request) { r.Header.Del("Authorization") }, "MissingAuthenticationToken"},
		"another path":   {0, func(r *http.Request) { r.URL.Path = "/x" }, "SignatureDoesNotMatch"},
	} {
		if status, text := sign(time.Now().Add(test.at), test.change); status != 403 || !strings.Contains(text, test.code) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	c.MoveClock(2 * time.Hour)
	if status, text := sign(c.Now(), func(*http.Request) {}); status != 403 || !strings.Contains(text, "ExpiredToken") {
		t.Errorf("expired: %d %s", status, text)
	}
}

// TestGCP reads the metadata server with Google's library.
func TestGCP(t *testing.T) {
	c := start(t)
	environ, set, err := c.GCP.StartMachine(cloudtest.Machine{Project: "acme-prod", Zone: "europe-west3-a", ID: "77",
		ServiceAccount: "runner@acme-prod.iam.gserviceaccount.com"})
	must(t, err)
	setenv(t, environ)
	set("nuon-outputs", "{}")
	client := metadata.NewClient(nil)
	project, err := client.ProjectIDWithContext(t.Context())
	must(t, err)
	outputs, err := client.InstanceAttributeValueWithContext(t.Context(), "nuon-outputs")
	must(t, err)
	token, err := client.GetWithContext(t.Context(),
		"instance/service-accounts/default/identity?audience=https://example.com&format=full")
	must(t, err)
	if project != "acme-prod" || outputs != "{}" || strings.Count(token, ".") != 2 {
		t.Errorf("project %q, outputs %q, token %q", project, outputs, token)
	}
}

// TestOtherHosts checks that nothing leaves the simulated cloud.
func TestOtherHosts(t *testing.T) {
	c := start(t)
	c.Handle("secretsmanager.*.amazonaws.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	for host, want := range map[string]int{
		"example.com": 502, "sts.amazonaws.com": 502, "secretsmanager.eu-central-1.amazonaws.com": 204,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+host+"/", nil)
		must(t, err)
		answer, err := c.Client().Do(r)
		must(t, err)
		must(t, answer.Body.Close())
		if answer.StatusCode != want {
			t.Errorf("%s: %d, want %d", host, answer.StatusCode, want)
		}
	}
}
