package aws_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/cloudproof"
	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
	"github.com/nuon-toolkit/nuon/runnerd/cloud/aws"
)

const (
	runnerURL = "https://runners.example.com"
	nonce     = "NONCE"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// machine starts a cloud with a machine, whose identity the SDK finds by its metadata service.
func machine(t *testing.T) *cloudtest.Cloud {
	t.Helper()
	c, err := cloudtest.Start(t.TempDir())
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	role := c.AWS.AddRole(cloudtest.Role{Account: "123456789012", Name: "ins_1-runner"})
	environ, err := c.AWS.StartInstance(cloudtest.Instance{Role: role, ID: "i-0123456789abcdef0", Region: "eu-central-1"})
	must(t, err)
	for _, v := range append(append(environ, c.Environ()...), "AWS_REGION=eu-central-1") {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	return c
}

// ask sends a signed request as the control plane does.
func ask(t *testing.T, c *cloudtest.Cloud, s api.SignedRequest, host, nonce string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://sts.eu-central-1.amazonaws.com/",
		strings.NewReader(cloudproof.STSBody))
	must(t, err)
	for name, value := range map[string]string{"Authorization": s.Authorization, "X-Amz-Date": s.Date,
		"X-Amz-Security-Token": s.SessionToken, "Content-Type": cloudproof.STSContentType,
		cloudproof.HeaderAudience: host, cloudproof.HeaderNonce: nonce} {
		request.Header.Set(name, value)
	}
	answer, err := c.Client().Do(request)
	must(t, err)
	defer answer.Body.Close() //nolint:errcheck // only read
	body, err := io.ReadAll(answer.Body)
	must(t, err)
	return answer.StatusCode, string(body)
}

// TestProve checks the proofs of a machine: a signed request for one control plane and one nonce,
// which it does not send itself, and a token where the account issues them.
func TestProve(t *testing.T) {
	c := machine(t)
	proof, err := aws.Prove(t.Context(), runnerURL, nonce)
	must(t, err)
	signed := "SignedHeaders=" + cloudproof.SignedHeaders + ","
	if proof.Token != "" || !strings.Contains(proof.AwsRequest.Authorization, signed) {
		t.Fatalf("proof %+v", proof)
	}
	if status, body := ask(t, c, proof.AwsRequest, "runners.example.com", nonce); status != 200 ||
		!strings.Contains(body, "assumed-role/ins_1-runner/i-0123456789abcdef0") {
		t.Errorf("%d %s", status, body)
	}
	for _, other := range [][2]string{{"other.example.com", nonce}, {"runners.example.com", "OTHER"}} {
		if status, body := ask(t, c, proof.AwsRequest, other[0], other[1]); status != 403 {
			t.Errorf("for %v: %d %s", other, status, body)
		}
	}
	c.AWS.EnableFederation("123456789012")
	proof, err = aws.Prove(t.Context(), runnerURL, nonce)
	must(t, err)
	if proof.Token == "" || proof.AwsRequest != (api.SignedRequest{}) {
		t.Errorf("proof %+v", proof)
	}
	sent := slices.DeleteFunc(c.Requests(), func(r cloudtest.Request) bool { return r.Action != "GetCallerIdentity" })
	if len(sent) != 1 { // the first of ask; the others are refused before their action is read
		t.Errorf("sent %v", sent)
	}
}
