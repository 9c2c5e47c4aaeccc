package cloudidentity_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/cloudproof"
	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
	"github.com/nuon-toolkit/nuon/reconciler/cloudidentity"
)

const (
	runnerURL     = "https://runners.example.com"
	azureAudience = "api://nuon.example.com"
	account       = "123456789012"
	nonce         = "NONCE4NONCE4NONCE4NONCE4NO"
	subscription  = "0b1f6471-1bf0-4dda-aec3-111111111111"
	tenant        = "72f988bf-86f1-41af-91ab-2d7cd011db47"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rig is a simulated cloud with a verifier that talks to it.
type rig struct {
	testing.TB
	cloud    *cloudtest.Cloud
	verifier *cloudidentity.Verifier
	session  cloudtest.Session
	machine  cloudtest.Machine
	azure    cloudtest.AzureMachine
}

func newRig(t testing.TB) *rig {
	t.Helper()
	cloud, err := cloudtest.Start(t.TempDir())
	must(t, err)
	t.Cleanup(func() { must(t, cloud.Close()) })
	role := cloud.AWS.AddRole(cloudtest.Role{Account: account, Name: "ins_1-runner"})
	cloud.AWS.EnableFederation(account)
	return &rig{TB: t, cloud: cloud,
		verifier: cloudidentity.New(cloudidentity.Options{RunnerURL: runnerURL, AzureAudience: azureAudience,
			Client: cloud.Client()}),
		session: cloud.AWS.NewSession(role, "i-0123456789abcdef0", time.Hour),
		machine: cloudtest.Machine{Project: "acme-prod", Zone: "europe-west3-a", ID: "77",
			ServiceAccount: "n01234567-runner@acme-prod.iam.gserviceaccount.com"},
		azure: cloudtest.AzureMachine{Tenant: tenant, Resource: "/subscriptions/" + subscription +
			"/resourcegroups/acme/providers/Microsoft.Compute/virtualMachineScaleSets/ins_1-runner"},
	}
}

// signing is how a sts:GetCallerIdentity request is signed.
type signing struct {
	credentials               aws.Credentials
	host, region, service     string
	body, path, method        string
	audience, nonce           string
	contentType, leave, extra string // leave is a header that is not signed, extra one that is as well
	at                        time.Time
}

func (r *rig) usual() signing {
	return signing{credentials: r.session.Credentials(), host: "sts.eu-central-1.amazonaws.com", region: "eu-central-1",
		service: "sts", body: cloudproof.STSBody, path: "/", method: http.MethodPost, audience: "runners.example.com",
		nonce: nonce, contentType: cloudproof.STSContentType, at: time.Now()}
}

func (r *rig) sign(s signing) api.CloudIdentity {
	r.Helper()
	request, err := http.NewRequestWithContext(context.Background(), s.method, "https://"+s.host+s.path,
		strings.NewReader(s.body))
	must(r, err)
	request.Header.Set("Content-Type", s.contentType)
	request.Header.Set(cloudproof.HeaderAudience, s.audience)
	request.Header.Set(cloudproof.HeaderNonce, s.nonce)
	if s.extra != "" {
		request.Header.Set(s.extra, "x")
	}
	request.Header.Del(s.leave)
	sum := sha256.Sum256([]byte(s.body))
	must(r, v4.NewSigner().SignHTTP(context.Background(), s.credentials, request, hex.EncodeToString(sum[:]), s.service,
		s.region, s.at))
	return api.CloudIdentity{Cloud: "aws", AwsRequest: api.SignedRequest{
		Authorization: request.Header.Get("Authorization"), Date: request.Header.Get("X-Amz-Date"),
		SessionToken: request.Header.Get("X-Amz-Security-Token")}}
}

// audience returns the audience of tokens for the nonce.
func audience(t testing.TB) string {
	t.Helper()
	a, err := cloudproof.Audience(runnerURL, nonce)
	must(t, err)
	return a
}

// TestGenuine checks that the proofs of all clouds are accepted, and report who they are of.
func TestGenuine(t *testing.T) {
	r := newRig(t)
	issuer := r.cloud.AWS.EnableFederation(account)
	for name, test := range map[string]struct {
		proof api.CloudIdentity
		want  cloudidentity.Subject
	}{
		"signed request": {r.sign(r.usual()), cloudidentity.Subject{Cloud: "aws", Account: account, Name: "ins_1-runner",
			Machine: "i-0123456789abcdef0", Principal: r.session.ARN()}},
		"AWS token": {api.CloudIdentity{Cloud: "aws", Token: r.cloud.AWS.SignToken(account, awsClaims(t, issuer))},
			cloudidentity.Subject{Cloud: "aws", Account: account, Name: "ins_1-runner", Principal: r.session.Role.ARN()}},
		"GCP token": {api.CloudIdentity{Cloud: "gcp", Token: r.cloud.GCP.IdentityToken(r.machine, audience(t))},
			cloudidentity.Subject{Cloud: "gcp", Account: "acme-prod", Name: "n01234567-runner", Machine: "77",
				Principal: r.machine.ServiceAccount}},
		"Azure token": {api.CloudIdentity{Cloud: "azure", Token: r.cloud.Azure.Token(r.azure, azureAudience)},
			cloudidentity.Subject{Cloud: "azure", Account: subscription, Tenant: tenant, Name: "ins_1-runner",
				Principal: r.azure.Resource}},
	} {
		got, err := r.verifier.Verify(t.Context(), test.proof, nonce)
		if err != nil || got != test.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, test.want)
		}
	}
}

func awsClaims(t testing.TB, issuer string) map[string]any {
	t.Helper()
	now := time.Now()
	return map[string]any{"iss": issuer, "sub": "arn:aws:iam::" + account + ":role/ins_1-runner", "aud": audience(t),
		"iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "jti": "1",
		"https://sts.amazonaws.com/": map[string]any{"aws_account": account,
			"principal_id": "arn:aws:iam::" + account + ":role/ins_1-runner"}}
}

// with returns claims with some changed; nil removes one.
func with(claims map[string]any, changes map[string]any) map[string]any {
	changed := maps.Clone(claims)
	for name, value := range changes {
		if changed[name] = value; value == nil {
			delete(changed, name)
		}
	}
	return changed
}

// forged are proofs that are wrong, by kind.
type forged map[string][]api.CloudIdentity

func (f forged) add(kind string, proofs ...api.CloudIdentity) { f[kind] = append(f[kind], proofs...) }

// signedRequests adds wrong signed requests.
func (f forged) signedRequests(r *rig) {
	change := func(kind string, edit func(*signing)) {
		s := r.usual()
		edit(&s)
		f.add("signed request: "+kind, r.sign(s))
	}
	for _, host := range []string{"other.example.com", "runners.example.com.evil.example", "RUNNERS.example.com", ""} {
		change("for another control plane", func(s *signing) { s.audience = host })
	}
	for _, n := range []string{"", "OTHER", strings.ToLower(nonce), nonce + "x"} {
		change("for another nonce", func(s *signing) { s.nonce = n })
	}
	for _, by := range []time.Duration{-10 * time.Minute, 10 * time.Minute, -24 * time.Hour, 6 * time.Minute} {
		change("with another clock", func(s *signing) { s.at = s.at.Add(by) })
	}
	change("of another service", func(s *signing) { s.service, s.host = "iam", "iam.amazonaws.com" })
	change("of another service", func(s *signing) { s.service = "s3" })
	for _, body := range []string{"Action=GetSessionToken&Version=2011-06-15", "Action=AssumeRole&Version=2011-06-15",
		cloudproof.STSBody + "&X=1", ""} {
		change("with another action", func(s *signing) { s.body = body })
	}
	change("with another path or method", func(s *signing) { s.path = "/x" })
	change("with another path or method", func(s *signing) { s.path = "/?Action=GetCallerIdentity" })
	change("with another path or method", func(s *signing) { s.method = http.MethodPut })
	for _, header := range []string{cloudproof.HeaderNonce, cloudproof.HeaderAudience, "Content-Type"} {
		change("that leaves out a header", func(s *signing) { s.leave = header })
	}
	change("that signs another header", func(s *signing) { s.extra = "X-Amz-Target" })
	change("with another type", func(s *signing) { s.contentType = "application/json" })
	change("of another region than its host", func(s *signing) { s.region = "us-east-1" })
	change("of no session", func(s *signing) { s.credentials.SessionToken = "" })
	change("of a session that does not exist", func(s *signing) { s.credentials.AccessKeyID = "ASIAFORGEDFORGED1" })
	change("with a wrong key", func(s *signing) { s.credentials.SecretAccessKey = "guess" })
	expired := r.cloud.AWS.NewSession(r.session.Role, "i-0123456789abcdef0", -time.Minute)
	change("of a session that has expired", func(s *signing) { s.credentials = expired.Credentials() })
	hostile := func(kind string, edit func(*api.SignedRequest)) {
		good := r.sign(r.usual())
		edit(&good.AwsRequest)
		f.add("signed request: "+kind, good)
	}
	for _, region := range []string{"evil.example/", "eu-central-1.evil.example", "eu-central-1@evil.example", "../x", "x",
		"eu-central-1:8443", "eu-central-1%2f"} {
		hostile("that leads to another host", func(s *api.SignedRequest) {
			s.Authorization = strings.Replace(s.Authorization, "/eu-central-1/", "/"+region+"/", 1)
		})
	}
	for _, junk := range []string{"\r\nHost: evil.example", "\n", "\x00", ", Signature=" + strings.Repeat("0", 64), " ",
		"é"} {
		hostile("with another header inside", func(s *api.SignedRequest) { s.Authorization += junk })
		hostile("with another header inside", func(s *api.SignedRequest) { s.SessionToken += junk })
		hostile("with another header inside", func(s *api.SignedRequest) { s.Date += junk })
	}
	hostile("that is too large", func(s *api.SignedRequest) { s.SessionToken = strings.Repeat("x", 1<<20) })
	hostile("without its parts", func(s *api.SignedRequest) { s.Authorization = "" })
	hostile("without its parts", func(s *api.SignedRequest) { s.Date = "" })
	both := r.sign(r.usual())
	both.Token = "x"
	f.add("signed request: together with a token", both)
	gcp := r.sign(r.usual())
	gcp.Cloud = "gcp"
	f.add("signed request: of a cloud that has none", gcp)
}

// tokens adds wrong tokens.
func (f forged) tokens(r *rig) {
	now, issuer := time.Now(), r.cloud.AWS.EnableFederation(account)
	foreign := r.cloud.AWS.EnableFederation("999999999999")
	good := map[string]map[string]any{"aws": awsClaims(r, issuer),
		"gcp":   claimsOf(r, r.cloud.GCP.IdentityToken(r.machine, audience(r))),
		"azure": claimsOf(r, r.cloud.Azure.Token(r.azure, azureAudience))}
	sign := map[string]func(map[string]any) string{"gcp": r.cloud.GCP.SignToken, "azure": r.cloud.Azure.SignToken,
		"aws": func(c map[string]any) string { return r.cloud.AWS.SignToken(account, c) }}
	add := func(cloud, kind string, changes map[string]any) {
		f.add(cloud+" token: "+kind, api.CloudIdentity{Cloud: cloud, Token: sign[cloud](with(good[cloud], changes))})
	}
	for cloud := range good {
		for _, aud := range []any{"https://other.example.com", []string{audience(r), "https://other.example.com"},
			strings.Replace(audience(r), nonce, "OTHER", 1), "", nil, azureAudience + "/x", "https://management.azure.com/"} {
			add(cloud, "for another audience or nonce", map[string]any{"aud": aud})
		}
		for _, iss := range []any{foreign, "https://evil.example", "https://accounts.google.com.evil.example", "",
			"accounts.google.com", "https://sts.windows.net/" + tenant + "@evil.example/", nil} {
			add(cloud, "of another issuer", map[string]any{"iss": iss})
		}
		add(cloud, "that has expired", map[string]any{"exp": now.Add(-10 * time.Minute).Unix()})
		add(cloud, "that has expired", map[string]any{"exp": nil})
		add(cloud, "of the future", map[string]any{"iat": now.Add(10 * time.Minute).Unix()})
		add(cloud, "of the future", map[string]any{"nbf": now.Add(10 * time.Minute).Unix()})
		add(cloud, "of the future", map[string]any{"iat": nil})
		add(cloud, "that is valid for ever", map[string]any{"exp": now.AddDate(10, 0, 0).Unix()})
		f.signatures(r, cloud, good[cloud], sign[cloud](good[cloud]))
		for _, other := range []string{"aws", "gcp", "azure", "AWS", ""} {
			if other != cloud {
				f.add(cloud+" token: for another cloud", api.CloudIdentity{Cloud: other, Token: sign[cloud](good[cloud])})
			}
		}
	}
	for _, sub := range []any{"arn:aws:iam::999999999999:role/ins_1-runner",
		"arn:aws:iam::" + account + ":user/ins_1-runner",
		"arn:aws:iam::" + account + ":root", "", nil, "arn:aws:iam::" + account + ":role/x\nins_1-runner"} {
		add("aws", "of another principal", map[string]any{"sub": sub})
	}
	for _, sts := range []any{nil, map[string]any{}, map[string]any{"aws_account": "999999999999"},
		map[string]any{"aws_account": account, "principal_id": "arn:aws:iam::" + account + ":role/other"}} {
		add("aws", "of another account", map[string]any{"https://sts.amazonaws.com/": sts})
	}
	for _, email := range []any{"n01234567-runner@other-prod.iam.gserviceaccount.com", "person@example.com", "", nil,
		"n01234567-runner@acme-prod.iam.gserviceaccount.com.evil.example"} {
		add("gcp", "of another principal", map[string]any{"email": email})
	}
	add("gcp", "of another principal", map[string]any{"email_verified": false})
	for _, google := range []any{nil, map[string]any{}, map[string]any{"compute_engine": map[string]any{
		"project_id": "other-prod", "instance_id": "77"}}} {
		add("gcp", "of no machine", map[string]any{"google": google})
	}
	for _, id := range []any{nil, "", "/subscriptions/" + subscription, r.azure.Resource + "/extensions/x",
		strings.Replace(r.azure.Resource, "Microsoft.Compute", "Microsoft.Web", 1)} {
		add("azure", "of no machine", map[string]any{"xms_mirid": id})
	}
	add("azure", "of a person", map[string]any{"idtyp": "user"})
	add("azure", "of another tenant", map[string]any{"tid": "00000000-0000-0000-0000-000000000000"})
}

// signatures adds tokens of a cloud whose signature is wrong or another's.
func (f forged) signatures(r *rig, cloud string, claims map[string]any, good string) {
	kind := cloud + " token: with another signature"
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(r, err)
	for _, id := range []string{"RS256", "ES384", "", "unknown"} {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
		must(r, err)
		own, err := jwt.Signed(signer).Claims(claims).Serialize()
		must(r, err)
		f.add(kind, api.CloudIdentity{Cloud: cloud, Token: own})
	}
	parts := strings.Split(good, ".")
	payload, err := json.Marshal(claims)
	must(r, err)
	encode := base64.RawURLEncoding.EncodeToString
	for _, token := range []string{
		encode([]byte(`{"alg":"none"}`)) + "." + encode(payload) + ".", // unsigned
		parts[0] + "." + encode(payload) + "." + encode([]byte("guess")),
		parts[0] + "." + parts[1] + ".", parts[0] + "." + parts[1], good + ".x", "x", strings.Repeat("x", 1<<20),
		encode([]byte(`{"alg":"HS256","kid":"RS256"}`)) + "." + encode(payload) + "." + parts[2],
	} {
		f.add(kind, api.CloudIdentity{Cloud: cloud, Token: token})
	}
	f.add(cloud+" token: none", api.CloudIdentity{Cloud: cloud})
}

func claimsOf(t testing.TB, token string) map[string]any {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	must(t, err)
	claims := map[string]any{}
	must(t, json.Unmarshal(raw, &claims))
	return claims
}

// TestForgedIdentities checks that no wrong proof is accepted, and that none makes the control plane
// talk to a host that is not a cloud's.
func TestForgedIdentities(t *testing.T) {
	r := newRig(t)
	all := forged{}
	all.signedRequests(r)
	all.tokens(r)
	count := 0
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		for i, proof := range all[kind] {
			count++
			got, err := r.verifier.Verify(t.Context(), proof, nonce)
			if err == nil || got != (cloudidentity.Subject{}) {
				t.Errorf("%s (%d) is accepted as %+v: %+v", kind, i, got, proof)
			} else if !errors.Is(err, cloudidentity.ErrIdentity) {
				t.Errorf("%s (%d): %v is no refusal", kind, i, err)
			}
		}
	}
	if count < 100 || len(all) < 20 {
		t.Errorf("%d proofs of %d kinds", count, len(all))
	}
	genuine := []string{"sts.eu-central-1.amazonaws.com", "sts.us-east-1.amazonaws.com", "www.googleapis.com",
		"login.microsoftonline.com"}
	for _, request := range r.cloud.Requests() {
		if !slices.Contains(genuine, request.Host) && !strings.HasSuffix(request.Host, ".tokens.sts.global.api.aws") {
			t.Errorf("a proof made the control plane talk to %s", request.Host)
		}
	}
	t.Logf("%d proofs of %d kinds, %d requests to clouds", count, len(all), len(r.cloud.Requests()))
}

// hostileClient answers every request alike.
type hostileClient func(*http.Request) (int, string)

func (h hostileClient) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := h(r)
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Request: r,
		Header: http.Header{"Location": {"https://evil.example/"}}}, nil
}

// TestHostileAnswers checks that answers of STS count only in exactly its form, and that none is
// followed elsewhere.
func TestHostileAnswers(t *testing.T) {
	r := newRig(t)
	const space = `xmlns="https://sts.amazonaws.com/doc/2011-06-15/"`
	result := func(arn, account string) string {
		return fmt.Sprintf("<GetCallerIdentityResult><Arn>%s</Arn><Account>%s</Account></GetCallerIdentityResult>", arn,
			account)
	}
	whole := func(inside string) string {
		return "<GetCallerIdentityResponse " + space + ">" + inside + "</GetCallerIdentityResponse>"
	}
	arn := "arn:aws:sts::" + account + ":assumed-role/ins_1-runner/i-1"
	hosts := map[string]bool{}
	verify := func(status int, body string) error {
		client := &http.Client{Transport: hostileClient(func(r *http.Request) (int, string) {
			hosts[r.URL.Host] = true
			return status, body
		})}
		v := cloudidentity.New(cloudidentity.Options{RunnerURL: runnerURL, Client: client})
		_, err := v.Verify(t.Context(), r.sign(r.usual()), nonce)
		return err
	}
	if err := verify(200, whole(result(arn, account))); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		status int
		body   string
	}{
		"a redirect":           {302, whole(result(arn, account))},
		"no XML":               {200, "<html>"},
		"nothing":              {200, ""},
		"another namespace":    {200, strings.ReplaceAll(whole(result(arn, account)), "2011", "2012")},
		"two results":          {200, whole(result(arn, account) + result(arn, account))},
		"two documents":        {200, whole(result(arn, account)) + whole(result(arn, account))},
		"another account":      {200, whole(result(arn, "999999999999"))},
		"a user":               {200, whole(result("arn:aws:iam::"+account+":user/x", account))},
		"the root":             {200, whole(result("arn:aws:iam::"+account+":root", account))},
		"a strange session":    {200, whole(result(arn+"/x", account))},
		"a large answer":       {200, whole(result(arn, account)) + strings.Repeat(" ", 1<<20)},
		"an error":             {403, whole(result(arn, account))},
		"an error of the host": {500, whole(result(arn, account))},
	} {
		if err := verify(test.status, test.body); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if len(hosts) != 1 {
		t.Errorf("asked %v", hosts)
	}
}

// TestBusyCloud checks that a cloud that is busy is an error to try again after.
func TestBusyCloud(t *testing.T) {
	r := newRig(t)
	r.cloud.Throttle("sts.eu-central-1.amazonaws.com", 1)
	if _, err := r.verifier.Verify(t.Context(), r.sign(r.usual()), nonce); !errors.Is(err, cloudidentity.ErrUnavailable) {
		t.Errorf("throttled: %v", err)
	}
	r.cloud.Throttle("www.googleapis.com", 1)
	proof := api.CloudIdentity{Cloud: "gcp", Token: r.cloud.GCP.IdentityToken(r.machine, audience(t))}
	if _, err := r.verifier.Verify(t.Context(), proof, nonce); !errors.Is(err, cloudidentity.ErrUnavailable) {
		t.Errorf("no keys: %v", err)
	}
	if _, err := r.verifier.Verify(t.Context(), proof, nonce); err != nil {
		t.Errorf("after that: %v", err)
	}
}
