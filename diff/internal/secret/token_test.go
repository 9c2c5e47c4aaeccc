package secret_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff/internal/secret"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// letters are what random parts of tokens are made of. Tokens are put together here, so that no
// scanner takes this file for a leak.
const letters = "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zAbC3eF6hI9kL2nO5qR8"

func webToken(header string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(header)) + "." + encode([]byte(`{"sub":"1"}`)) + "." + letters[:22]
}

// tokens are secrets of well-known forms, each as (before, secret, after): what is around them stays readable.
func tokens() [][3]string {
	key := letters[:38] + "/+"
	return [][3]string{
		{"x ", "gh" + "p_" + letters[:36], " y"}, {"", "gh" + "o_" + letters[:36], ""}, {"a=",
			"gh" + "s_" + letters[:36], "\nb"},
		{"use ", "github" + "_pat_" + letters[:22] + "_" + letters[:40], " here"}, {"clone ",
			"gl" + "pat-" + letters[:20], "."},
		{"slack ", "xo" + "xb-1234567890-" + letters[:24], " x"}, {"", "xo" + "xp-1234567890-" + letters[:24], ""},
		{"", "xa" + "pp-1-A1-" + letters[:24], ";"},
		{"pay ", "sk" + "_live_" + letters[:24], ""}, {"pay ", "rk" + "_live_" + letters[:24], ""}, {"",
			"np" + "m_" + letters[:36], ""},
		{"", "py" + "pi-AgEI" + letters, ""}, {"maps?k=", "AI" + "za" + letters[:35], "&z=1"}, {"",
			"AGE-SECRET-" + "KEY-1" + strings.ToUpper(letters), ""},
		{"jwt ", webToken(`{"alg":"HS256","typ":"JWT"}`), " end"},
		{"id AKIA" + "IOSFODNN7ABCDEFG, ", key, " y"}, {"", key, " ASIA" + "IOSFODNN7ABCDEFG"},
		{"AccountName=a;AccountKey=", letters + "==", ";EndpointSuffix=x"},
		{"Endpoint=sb://x/;SharedAccessKeyName=root;SharedAccessKey=", letters + "=", ";E=1"},
		{"https://a.blob/x?sv=2024-01-01&sig=", letters[:20] + "%3D", "&x=1"},
		{"https://b.s3/k?X-Amz-Signature=", letters[:40], ""},
		{"root:", "planted", "@tcp(db:3306)/shop"}, {"dsn=app:", "pl4nted!x", "@db.shop:5432/x"},
		{"curl -u admin:", "planted", " https://x"}, {"curl --user 'admin:", "planted", "' https://x"},
		{"http --user=admin:", "pl4nted9", " x"},
		{"machine h login u password ", "planted", "\n"}, {"machine h\n  login u\n  password ", "planted", ""},
		{"requirepass ", "pl4nted9x", "\n"},
		{"<db><password>", "planted", "</password></db>"}, {"$cfg['password'] = '", "planted", "';"},
	}
}

// TestTokens: a secret of a known form is cut out, and the rest of the text stays.
func TestTokens(t *testing.T) {
	for _, c := range tokens() {
		text := c[0] + c[1] + c[2]
		if !secret.Mentions(text) {
			t.Errorf("%q: the quick look says that there is none", text)
		}
		if got, _ := secret.Redact(text, nil); got != c[0]+secret.Hidden+c[2] {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestNoTokens: what only looks like a token is shown.
func TestNoTokens(t *testing.T) {
	for _, text := range []string{
		"ghp_", "ghp_short1", "npm_config_registry_of_the_whole_project", "AIzalea", "xoxb-your-token-comes-here",
		"sk_live_", "glpat-",
		webToken(`{"typ":"JWT"}`), "eyJ.a.b", "AKIA" + "IOSFODNN7ABCDEFG", "da39a3ee5e6b4b0d3255bfef95601890afd80709",
		"id AKIA" + "IOSFODNN7ABCDEFG da39a3ee5e6b4b0d3255bfef95601890afd80709", "config=1&sig=" + letters,
		"nginx:1.25.3@sha256:" + strings.Repeat("ab12", 16), "registry.example:5000/web:1.2@sha256:" + strings.Repeat("ab12", 16),
		"mailto:jane.doe99@example.com", "serviceAccount:build-99x@shop.iam.gserviceaccount.com", "user:jane99@example.com",
		"npm:left-pad1@1.2.3", "git@github.com:shop/web.git", "docker run -u 1000:1000 x",
		"docker run --user app:app x", "sort -u a:b",
		"curl -u $USER:$PASS https://x", "curl -u admin:$PASS https://x", "user:$(PASS)@host", "u:${PASS}@tcp(db)",
		"enter the password twice", "login with your password please", "<password></password>",
		"<password>${db}</password>", "<passwordPolicy>strict</passwordPolicy>",
		"time 10:20:30@host", "system:serviceaccount:shop:web1@x", "see https://example.com/@scope/pkg1:2@3",
		"job:node-exporter1@", "requirepass replace-default-auth\n",
	} {
		if got, own := secret.Redact(text, nil); own != nil {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestTokensInLinearTime: a text of nothing but beginnings of tokens takes no longer than any.
func TestTokensInLinearTime(t *testing.T) {
	id := "AKIA" + "IOSFODNN7ABCDEFG "
	for _, part := range []string{"ghp_", "eyJ", "eyJ.", id, "sig=aaaaaaaaaaaaaaaaaaaa&", "-u a:", "a:b@", "@",
		"a", "password machine login ", "<password>a"} {
		t.Run(part, func(t *testing.T) {
			text := strings.Repeat(part, 1<<20/len(part))
			testtime.Cheap(t, 10_000, func() { secret.Redact(text, nil) })
		})
	}
}
