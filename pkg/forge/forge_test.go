package forge_test

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/forge"
	"github.com/nuon-toolkit/nuon/pkg/forge/forgetest"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

var secret = forge.SecretPrefix + base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))

// read identifies, verifies and parses a delivery, like the reconciler.
func read(header http.Header, body []byte, secrets ...string) (forge.Forge, forge.Event, error) {
	f, known := forge.Identify(header)
	if !known {
		return f, forge.Event{}, errors.New("no forge")
	}
	d := forge.Delivery{Header: header, Body: body, Received: time.Now()}
	var all []seal.Secret
	for _, s := range secrets {
		all = append(all, seal.NewSecret([]byte(s)))
	}
	if err := f.Verify(d, all...); err != nil {
		return f, forge.Event{}, err
	}
	event, err := f.Parse(d)
	return f, event, err
}

// TestDeliveries parses every delivery of the forges' documentation and checks its forge, its
// pushed refs, or the reason why no poll is needed.
func TestDeliveries(t *testing.T) {
	main := []string{"refs/heads/main"}
	want := map[string]struct {
		forge, id string
		refs      []string
		skipped   string
	}{
		"github-push": {"github", "72d3162e-cc78-11e3-81ab-4c9367dc0958", main, ""},
		"github-push-deleted": {"github", "5a0e1d8a-cc78-11e3-8d1f-4c9367dc0958", nil,
			"refs/heads/main was deleted"},
		"github-ping":        {"github", "0b989ba4-242f-11e5-81e1-c7b6966d2516", nil, "the webhook works"},
		"github-issues":      {"github", "72d3162e-cc78-11e3-81ab-4c9367dc0959", nil, `the event "issues"`},
		"gitlab-push":        {"gitlab", "f5e5f430-f57b-4e6e-9fac-d9128cd7232f", main, ""},
		"gitlab-system-push": {"gitlab", "13792a34-cac6-4fda-95a8-c58e00a39550", main, ""},
		"gitlab-tag-deleted": {"gitlab", "13792a34-cac6-4fda-95a8-c58e00a3954f", nil,
			"refs/tags/v1.0.0 was deleted"},
		"gitlab-issue": {"gitlab", "13792a34-cac6-4fda-95a8-c58e00a39551", nil, `the event "Issue Hook"`},
		"gitea-push":   {"gitea", "f6266f16-1bf3-46a5-9ea4-602e06ead473", main, ""},
		"gitea-delete": {"gitea", "f6266f16-1bf3-46a5-9ea4-602e06ead475", nil, "branch main was deleted"},
		"forgejo-push": {"forgejo", "f6266f16-1bf3-46a5-9ea4-602e06ead474", main, ""},
		"bitbucket-push": {"bitbucket", "8ba0e2a1-5e5e-4b4a-9f0d-2f6a3c1d0b7e",
			[]string{"refs/heads/main", "refs/tags/v1.0.0"}, ""},
		"bitbucket-push-deleted": {"bitbucket", "8ba0e2a1-5e5e-4b4a-9f0d-2f6a3c1d0b7f", nil,
			"the push only deleted"},
		"bitbucket-dc-push":     {"bitbucket-dc", "1d8a3f52-4d5e-4a5b-8f0b-2f5d0a7c9e11", main, ""},
		"bitbucket-dc-push-old": {"bitbucket-dc", "1d8a3f52-4d5e-4a5b-8f0b-2f5d0a7c9e12", main, ""},
		"bitbucket-dc-push-deleted": {"bitbucket-dc", "1d8a3f52-4d5e-4a5b-8f0b-2f5d0a7c9e13", nil,
			"the push only deleted"},
		"bitbucket-dc-ping": {"bitbucket-dc", "1d8a3f52-4d5e-4a5b-8f0b-2f5d0a7c9e14", nil, "the webhook works"},
	}
	for _, name := range forgetest.Names(t) {
		header, body := forgetest.Signed(t, name, secret)
		f, event, err := read(header, body, secret)
		w, listed := want[name]
		if err != nil || !listed {
			t.Errorf("%s: %v (listed: %v)", name, err, listed)
			continue
		}
		if f.Name != w.forge || f.DeliveryID(header) != w.id || !slices.Equal(event.Refs, w.refs) ||
			!strings.Contains(event.Skipped, w.skipped) || (event.Skipped == "") != (w.skipped == "") {
			t.Errorf("%s: %s %q %+v", name, f.Name, f.DeliveryID(header), event)
		}
		page := forgetest.Page
		if w.forge == "bitbucket-dc" {
			page = forgetest.DataCenterPage
		}
		if name != "bitbucket-dc-ping" && event.Repository.Matches(page+".git") != forge.SameRepository {
			t.Errorf("%s is not about %s: %+v", name, page, event.Repository)
		}
	}
}

// TestOnlyTheSecretVerifies checks that a delivery fails without a signature, with another secret,
// with the empty secret, and when it was changed.
func TestOnlyTheSecretVerifies(t *testing.T) {
	for _, name := range forgetest.Names(t) {
		refused := func(how string, header http.Header, body []byte, secrets ...string) {
			t.Helper()
			if _, _, err := read(header, body, secrets...); !errors.Is(err, forge.ErrUnverified) {
				t.Errorf("%s %s: %v", name, how, err)
			}
		}
		header, body := forgetest.Load(t, name)
		refused("unsigned", header, body, secret)
		refused("unsigned, for the empty secret", header, body, "")
		forgetest.Sign(header, body, "another secret")
		refused("signed with another secret", header, body, secret)
		forgetest.Sign(header, body, "")
		refused("signed with the empty secret", header, body, secret, "")
		forgetest.Sign(header, body, secret)
		if header.Get("X-Gitlab-Token") == "" { // a token does not authenticate the body
			refused("with another body", header, append([]byte(" "), body...), secret)
		}
		if _, _, err := read(header, body, "the secret before", secret); err != nil {
			t.Errorf("%s with one of two secrets: %v", name, err)
		}
	}
}

// TestFormBodies checks form bodies: GitHub and Gitea can send the JSON as a form field. GitHub
// signs the form, Gitea the JSON.
func TestFormBodies(t *testing.T) {
	for name, signsForm := range map[string]bool{"github-push": true, "gitea-push": false, "forgejo-push": false} {
		header, body := forgetest.Load(t, name)
		form := []byte(url.Values{"payload": {string(body)}}.Encode())
		signed := body
		if signsForm {
			signed = form
		}
		forgetest.Sign(header, signed, secret)
		header.Set("Content-Type", "application/x-www-form-urlencoded")
		if _, event, err := read(header, form, secret); err != nil ||
			!slices.Equal(event.Refs, []string{"refs/heads/main"}) {
			t.Errorf("%s: %+v, %v", name, event, err)
		}
	}
}

// TestGitLabSigningToken checks Standard Webhooks signatures: the time is checked, and a delivery
// with a signature does not fall back to the token.
func TestGitLabSigningToken(t *testing.T) {
	signed := func(with string, at time.Time) (http.Header, []byte) {
		header, body := forgetest.Load(t, "gitlab-push")
		header.Set("Webhook-Id", header.Get("Idempotency-Key"))
		header.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
		forgetest.Sign(header, body, with)
		return header, body
	}
	header, body := signed(secret, time.Now())
	if _, event, err := read(header, body, secret); err != nil || len(event.Refs) != 1 {
		t.Errorf("signed: %+v, %v", event, err)
	}
	header.Set("Webhook-Signature", "v1,AAAA v2,BBBB "+header.Get("Webhook-Signature"))
	if _, _, err := read(header, body, secret); err != nil {
		t.Errorf("with several signatures: %v", err)
	}
	if want := fmt.Sprintf("more than %d minutes off", int(forge.ReplayWindow.Minutes())); !strings.Contains(
		forge.ErrUnverified.Error(), want) {
		t.Errorf("the error %q does not contain %q", forge.ErrUnverified, want)
	}
	old, _ := signed(secret, time.Now().Add(-forge.ReplayWindow-time.Minute))
	another, _ := signed(forge.SecretPrefix+base64.StdEncoding.EncodeToString([]byte("another")), time.Now())
	another.Set("X-Gitlab-Token", secret)
	for name, header := range map[string]http.Header{"too old": old, "another key beside the right token": another} {
		if _, _, err := read(header, body, secret); !errors.Is(err, forge.ErrUnverified) {
			t.Errorf("%s: %v", name, err)
		}
	}
	text, _ := signed("plain text", time.Now())
	if _, _, err := read(text, body, "plain text"); !errors.Is(err, forge.ErrUnverified) {
		t.Errorf("signed with a secret that is no signing token: %v", err)
	}
}

// TestUnsignedPing checks that only the connection test of Bitbucket Data Center is recognized, and
// only without a signature.
func TestUnsignedPing(t *testing.T) {
	for _, name := range forgetest.Names(t) {
		header, body := forgetest.Load(t, name)
		f, _ := forge.Identify(header)
		if f.IsUnsignedPing(header) != (name == "bitbucket-dc-ping") {
			t.Errorf("%s: %v", name, f.IsUnsignedPing(header))
		}
		forgetest.Sign(header, body, secret)
		if f.IsUnsignedPing(header) {
			t.Errorf("%s is signed", name)
		}
	}
}

// TestNuonForm checks that a script may send a repository and a ref, or neither.
func TestNuonForm(t *testing.T) {
	now := strconv.FormatInt(time.Now().Unix(), 10)
	for body, want := range map[string]forge.Event{
		"":   {Name: "push"},
		"{}": {Name: "push"},
		`{"repository": "https://git.example/acme/shop", "ref": "main"}`: {
			Name: "push", Repository: forge.Repository{URLs: []string{forgetest.Page}}, Refs: []string{"main"},
		},
	} {
		header := http.Header{}
		header.Set(forge.HeaderTimestamp, now)
		header.Set(forge.HeaderSignature, forge.Sign(seal.NewSecret([]byte(secret)), now, []byte(body)))
		_, event, err := read(header, []byte(body), secret)
		if err != nil || event.Name != want.Name || !slices.Equal(event.Refs, want.Refs) ||
			event.Repository.String() != want.Repository.String() {
			t.Errorf("%q: %+v, %v", body, event, err)
		}
	}
}

// TestNuonTime checks how old a delivery in the format of nuon may be, and that its time is signed.
func TestNuonTime(t *testing.T) {
	body, now := []byte("{}"), time.Now().Truncate(time.Second)
	f, _ := forge.Find("nuon")
	key := seal.NewSecret([]byte(secret))
	for name, test := range map[string]struct {
		timestamp, signed string
		want              bool
	}{
		"now":            {strconv.FormatInt(now.Unix(), 10), "", true},
		"at the limit":   {strconv.FormatInt(now.Add(-forge.ReplayWindow).Unix(), 10), "", true},
		"in the future":  {strconv.FormatInt(now.Add(forge.ReplayWindow).Unix(), 10), "", true},
		"too old":        {strconv.FormatInt(now.Add(-forge.ReplayWindow-time.Second).Unix(), 10), "", false},
		"too far ahead":  {strconv.FormatInt(now.Add(forge.ReplayWindow+time.Second).Unix(), 10), "", false},
		"another time":   {strconv.FormatInt(now.Unix(), 10), strconv.FormatInt(now.Add(-time.Hour).Unix(), 10), false},
		"no time":        {"", "", false},
		"milliseconds":   {strconv.FormatInt(now.UnixMilli(), 10), "", false},
		"no number":      {"now", "", false},
		"the last one":   {"9223372036854775807", "", false},
		"the first one":  {"-9223372036854775808", "", false},
		"with a decimal": {strconv.FormatInt(now.Unix(), 10) + ".0", "", false},
	} {
		signed := test.signed
		if signed == "" {
			signed = test.timestamp
		}
		header := http.Header{}
		header.Set(forge.HeaderTimestamp, test.timestamp)
		header.Set(forge.HeaderSignature, forge.Sign(key, signed, body))
		err := f.Verify(forge.Delivery{Header: header, Body: body, Received: now}, key)
		if (err == nil) != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEventsThatNeedNoPoll checks the reason for each event that is no push, by forge, and that a name of an event or
// a ref cannot control a terminal.
func TestEventsThatNeedNoPoll(t *testing.T) {
	const deleted = "0000000000000000000000000000000000000000"
	for _, test := range []struct{ delivery, event, body, want string }{
		{"github-push", "ping", `{"zen": "x"}`, "the webhook works"},
		{"github-push", "star", `{}`, `nuon polls after pushes only, and this is the event "star"`},
		{"github-push", "delete", `{"ref": "v1", "ref_type": "tag"}`, "tag v1 was deleted, so there is nothing to poll"},
		{"github-push", "delete", `{"ref": "v\u001b[2J", "ref_type": "tag"}`,
			"tag v [2J was deleted, so there is nothing to poll"},
		{"github-push", "push",
			`{"ref": "refs/heads/x", "after": "1", "deleted": true, "repository": {"html_url": "https://x/y"}}`,
			"refs/heads/x was deleted, so there is nothing to poll"},
		{"github-push", "push", `{"ref": "refs/heads/x", "after": "` + deleted +
			`", "repository": {"clone_url": "https://x/y"}}`,
			"refs/heads/x was deleted, so there is nothing to poll"},
		{"gitlab-push", "Pipeline Hook", `{"object_kind": "pipeline"}`,
			`nuon polls after pushes only, and this is the event "Pipeline Hook"`},
		{"gitlab-push", "System Hook", `{"event_name": "user_create"}`,
			`nuon polls after pushes only, and this is the event "System Hook"`},
		{"gitlab-push", "Push Hook",
			`{"object_kind": "push", "ref": "refs/heads/x", "after": "", "project": {"web_url": "https://x/y"}}`,
			"refs/heads/x was deleted, so there is nothing to poll"},
		{"bitbucket-push", "repo:fork", `{}`, `nuon polls after pushes only, and this is the event "repo:fork"`},
		{"bitbucket-push", "repo:push",
			`{"repository": {"links": {"html": {"href": "https://x/y"}}}, "push": {"changes": [{"new": null}]}}`,
			"the push only deleted, so there is nothing to poll"},
		{"bitbucket-dc-push", "pr:opened", `{}`, `nuon polls after pushes only, and this is the event "pr:opened"`},
		{"bitbucket-dc-push", "repo:refs_changed",
			`{"repository": {"slug": "s", "project": {"key": "P"}}, "changes": [{"refId": ` +
				`"refs/heads/x", "type": "DELETE"}]}`, "the push only deleted, so there is nothing to poll"},
	} {
		header, _ := forgetest.Load(t, test.delivery)
		f, _ := forge.Identify(header)
		for _, name := range []string{"X-GitHub-Event", "X-Gitlab-Event", "X-Event-Key"} {
			if header.Get(name) != "" {
				header.Set(name, test.event)
			}
		}
		event, err := f.Parse(forge.Delivery{Header: header, Body: []byte(test.body)})
		if err != nil || event.Skipped != test.want || len(event.Refs) > 0 || event.Name != test.event {
			t.Errorf("%s %s %s: %+v, %v\nwant %s", test.delivery, test.event, test.body, event, err, test.want)
		}
	}
}

// TestMalformedPayloads checks that a signed body that is not a push payload is rejected with the
// reason.
func TestMalformedPayloads(t *testing.T) {
	for _, name := range []string{
		"github-push", "gitlab-push", "gitlab-system-push", "gitea-push", "forgejo-push",
		"bitbucket-push", "bitbucket-dc-push",
	} {
		bodies := []string{"", "{", "[]", `"x"`, `{"ref": 7, "push": 7, "changes": 7}`, "\xff",
			strings.Repeat("[", 20_000)}
		if !strings.HasPrefix(name, "gitlab") { // GitLab states the kind of event only in the body
			bodies = append(bodies, "null", "{}", `{"ref": "refs/heads/main"}`)
		}
		for _, body := range bodies {
			header, _ := forgetest.Load(t, name)
			forgetest.Sign(header, []byte(body), secret)
			_, event, err := read(header, []byte(body), secret)
			var malformed *forge.MalformedError
			if !errors.As(err, &malformed) {
				t.Errorf("%s %.40q: %+v, %v", name, body, event, err)
			}
		}
	}
}

// FuzzDeliveries checks that no input passes without the secret, and that no verified input makes a
// parser panic.
func FuzzDeliveries(f *testing.F) {
	for _, name := range forgetest.Names(f) {
		header, body := forgetest.Signed(f, name, secret)
		by, _ := forge.Identify(header)
		f.Add(by.Name, header.Get("X-Hub-Signature-256"), header.Get("Content-Type"), string(body))
	}
	f.Fuzz(func(t *testing.T, name, signature, contentType, body string) {
		header := http.Header{}
		for _, key := range []string{"X-Hub-Signature-256", "X-Hub-Signature", "X-Gitea-Signature",
			"X-Gitlab-Token", "Webhook-Signature"} {
			header.Set(key, signature)
		}
		header.Set("Content-Type", contentType)
		by, known := forge.Find(name)
		if !known {
			return
		}
		d := forge.Delivery{Header: header, Body: []byte(body), Received: time.Now()}
		if err := by.Verify(d, seal.NewSecret([]byte(rand.Text()))); err == nil {
			t.Errorf("%s passes with %q", name, signature)
		}
		event, err := by.Parse(d)
		if err == nil && event.Repository.Matches("https://git.example/acme/shop") == forge.SameRepository &&
			event.Repository.IsZero() {
			t.Errorf("%s %q is about a repository that it does not name", name, body)
		}
	})
}

// TestForms checks that each forge has a form with the URL and the secret, and that Names is
// complete.
func TestForms(t *testing.T) {
	for _, f := range forge.All {
		if !slices.Contains(forge.Names(), f.Name) {
			t.Errorf("%s is not among the names", f.Name)
		}
		if found, is := forge.Find(f.Name); !is || found.Title != f.Title {
			t.Errorf("%s is not found by its name", f.Name)
		}
		var values []string
		for _, field := range f.Form.Fill("https://nuon.example/hooks/o/h", "hush") {
			values = append(values, field.Value)
		}
		if !slices.Contains(values, "https://nuon.example/hooks/o/h") || !slices.Contains(values, "hush") {
			t.Errorf("the form of %s is filled with %q", f.Name, values)
		}
	}
	if len(forge.Names()) != len(forge.All) {
		t.Errorf("%d names of %d forges", len(forge.Names()), len(forge.All))
	}
}

// TestDocs checks that docs/git.md has a section for each forge, with the fields of its form.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/git.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range forge.All {
		_, section, is := strings.Cut(strings.ToLower(string(page)), "\n### "+strings.ToLower(f.Title)+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		section, _, _ = strings.Cut(section, "\n### ")
		if !is {
			t.Errorf("docs/git.md has no section %s", f.Title)
			continue
		}
		for _, field := range f.Form.Fields {
			row := "| " + strings.ToLower(field.Name) + " |"
			if f.Name == "forgejo" { // the section refers to that of Gitea
				break
			}
			if f.Name == "nuon" { // the section shows a request instead of a table
				if !strings.HasPrefix(field.Name, "X-") {
					continue
				}
				row = field.Name + ": "
			}
			if !strings.Contains(section, strings.ToLower(row)) {
				t.Errorf("docs/git.md has no field %s of %s", field.Name, f.Title)
			}
		}
	}
}
