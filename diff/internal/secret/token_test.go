package secret_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff/internal/secret"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// letters are the random parts of tokens. The tests build the tokens from
// them, so that no scanner takes this file for a leak.
const letters = "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zAbC3eF6hI9kL2nO5qR8"

func webToken(header string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(header)) + "." + encode([]byte(`{"sub":"1"}`)) + "." + letters[:22]
}

// tokens returns secrets of well-known forms, each as (before, secret,
// after): the text around them stays readable.
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

// phrases returns secrets in the syntax of one program, each as (before, secret, after).
func phrases() [][3]string {
	const random = "Zq7xK9mT2vLp4RwN"
	return [][3]string{
		{"app --password ", random, " -v"}, {"app --db.password '", "two Zq7xK9", "'"}, {"app -password ", random, ""},
		{"app --api-key ", "pl4nted9x", " x"}, {"gpg --passphrase ", random, "\n"}, {"set -gx DB_PASSWORD ", "planted", "\n"},
		{"ENV DB_PASSWORD ", random, "\n"}, {"db.password ", random, "\n"}, {"proxy_set_header X-Api-Key ", random, ";"},
		{"password: !!str ", "planted", "\n"}, {"password: &pw ", "planted", "\n"}, {"password: ! ", "planted", "\n"},
		{"db.password=\\\n  ", "planted", "\n"}, {"export DB_PASSWORD=", `a\ planted`, "\n"},
		{"password = '''", "planted", "'''\n"}, {"password = \"\"\"\n", "planted", "\n\"\"\"\n"},
		{"'password' => '", "planted", "',"}, {":password => \"", "planted", "\""},
		{"define('DB_PASSWORD', '", random, "');"},
		{`setProperty("javax.net.ssl.keyStorePassword", "`, random, `");`}, {"os.environ['DB_PASSWORD'] = '", "planted", "'"},
		{`<add key="DbPassword" value="`, "planted", `"/>`}, {"<name>db.password</name>\n<value>", "planted", "</value>"},
		{"variable \"db_password\" {\n  default = \"", "planted", "\"\n}"},
		{"CREATE USER a IDENTIFIED BY '", "planted", "';"}, {"create user a with password '", "planted", "';"},
		{"admin:", "$" + "apr1$abcdefgh$" + letters[:22], "\n"}, {"u:", "$2" + "y$10$" + letters[:22], ":"},
		{"db.example.com:5432:shop:user:", random, "\n"}, {"a\n*:*:*:user:", random, "\nb"},
		{"jdbc:oracle:thin:scott/", "planted", "@host:1521:x"}, {"https://", random, "@github.com/a/b"},
		{"https://", random, ":x-oauth-basic@github.com/a"}, {"client-key-data: ", "T0xEdmFsdWU4Njc1", "\n"},
		{"psk=", random, ""}, {"jwt: ", random, ""}, {"DB_PW=", random, ""},
		{"x ", "SG." + letters[:22] + "." + letters[:43], ""}, {"x ", "hf_" + letters[:34], ""},
		{"x ", "dapi" + letters[:32], ""},
		{"x ", "dp.pt." + letters[:43], ""}, {"x ", "lin_api_" + letters[:40], ""}, {"x ", "NRAK-" + letters[:27], ""},
		{"x ", "pul-" + letters[:40], ""}, {"x ", "sntrys_" + letters, ""},
		{"x ", "tskey-auth-" + letters[:16] + "-" + letters[:30], ""},
		{"x ", "fm2_" + letters, ""}, {"u:", "{SHA}" + letters[:27] + "=", ""},
		{"https://", "discord.com/api/webhooks/123456789012345678/" + letters, ""},
		{letters[:14] + ".", "atlasv1." + letters + letters[:20], ""}, {"bot12345678:", "AA" + letters[:33], "/x"},
		{"sshpass -p ", random, " ssh h"}, {"mysql -uroot -p", random, " -e x"},
		{"docker login -u a -p '", random, "' ghcr.io"},
		{"redis-cli -a ", random, " ping"}, {"VAULT_UNSEAL_KEY=", random, ""}, {"DD_APP_KEY=", random, ""},
		{"AWS_CREDS=", random, ""},
		{"Private-Lines: 2\n", letters[:48] + "\n" + letters[:20], "\nPrivate-MAC: 0a"},
		{"kubectl create secret generic x --from-literal=foo=", "pl4nted9x", " -n y"},
		{"a: 1\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: x\nstringData:\n  foo: ", "planted", "\n---\nb: 2\n"},
		{"- kind: Secret\n  metadata: {name: {{x}}}\n  data:\n    foo: ", "planted",
			"\n- kind: ConfigMap\n  data:\n    foo: shown\n"},
		{"data:\n  foo: |\n    ", "planted", "\nkind: Secret\n---\ndata:\n  foo: shown\n"},
	}
}

// TestTokens checks that a secret of a known form is cut out and that the rest of the text stays.
func TestTokens(t *testing.T) {
	for _, c := range slices.Concat(tokens(), phrases()) {
		text := c[0] + c[1] + c[2]
		if !secret.Mentions(text) {
			t.Errorf("%q: the quick look says that there is none", text)
		}
		if got, _ := secret.Redact(text, nil); got != c[0]+secret.Hidden+c[2] {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestNoTokens checks that text that only resembles a token is shown.
func TestNoTokens(t *testing.T) {
	for _, text := range []string{
		"ghp_", "ghp_short1", "npm_config_registry_of_the_whole_project", "AIzalea", "xoxb-your-token-comes-here",
		"sk_live_", "glpat-",
		webToken(`{"typ":"JWT"}`), "eyJ.a.b", "AKIA" + "IOSFODNN7ABCDEFG", "da39a3ee5e6b4b0d3255bfef95601890afd80709",
		"id AKIA" + "IOSFODNN7ABCDEFG da39a3ee5e6b4b0d3255bfef95601890afd80709", "config=1&sig=" + letters,
		"nginx:1.25.3@sha256:" + strings.Repeat("ab12", 16), "registry.example:5000/web:1.2@sha256:" +
			strings.Repeat("ab12", 16),
		"mailto:jane.doe99@example.com", "serviceAccount:build-99x@shop.iam.gserviceaccount.com", "user:jane99@example.com",
		"npm:left-pad1@1.2.3", "git@github.com:shop/web.git", "docker run -u 1000:1000 x", "docker run --user app:app x",
		"sort -u a:b", "curl -u $USER:$PASS https://x", "curl -u admin:$PASS https://x", "user:$(PASS)@host",
		"u:${PASS}@tcp(db)", "enter the password twice", "login with your password please", "<password></password>",
		"<password>${db}</password>", "<passwordPolicy>strict</passwordPolicy>", "time 10:20:30@host",
		"system:serviceaccount:shop:web1@x", "see https://example.com/@scope/pkg1:2@3", "job:node-exporter1@",
		"requirepass replace-default-auth\n", "the password must be long", "use --token to log in", "--password flag",
		"the secret shop-db-01 is gone", "--token --verbose",
		`["password", "username", "db-host"]`, "const f = token => token.length", "password => read", "set the password anew",
		"Secret \"shop-db\" not found", "psk: optional", "jwt: my-provider", "salt=none", "https://jane@example.com/x",
		"identified by name", "with password authentication", "a:80:b:c:d", "arn:aws:iam::123456789012:role/Zq7xK9mT2v",
		"$6$", "cost is $5$ or so it seems to be", "--from-literal=mode=fast",
		"create secret --from-literal=id=$client --from-literal=user=shop-operator", "ServiceToken: !GetAtt Function.Arn",
		"get secrets-demo --timeout=30s", "secret demo-timeout=30s", "kind: ConfigMap\ndata:\n  foo: shown\n",
		"kind: Secret\ndata:\n  foo: {{ .x }}\n  bar: $(X)\n", "kind: Secret\nmetadata:\n  name: x\ntype: Opaque\n",
		"secretRef:\n  kind: Secret\n  name: x\ndata:\n  foo: shown\n",
		"mkdir -p /var/" + letters, "docker run -p 8080:80 web", "ssh -p 2222 h", "SG.short", "hf_transfer", "tskey-auth",
		"REDIS_AUTH=enabled", "APP_KEY=web-frontend", "12345678:AAAA", "a.atlasv1.b", "nc -w 3 h", "{SHA}",
		"kubernetes.io/auth: basic", "Private-Lines: 1\ncurl evil | sh\nPrivate-MAC: x", "client-key: /etc/tls.key",
		"value: &x\n",
	} {
		if got, own := secret.Redact(text, nil); own != nil {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestTokensInLinearTime checks that a text of nothing but starts of tokens
// takes no longer than others.
func TestTokensInLinearTime(t *testing.T) {
	id := "AKIA" + "IOSFODNN7ABCDEFG "
	for _, part := range []string{"ghp_", "eyJ", "eyJ.", id, "sig=aaaaaaaaaaaaaaaaaaaa&", "-u a:", "a:b@", "@",
		"a", "password machine login ", "<password>a", "password ", "--password a\\ ", "'key',", "key='''", "a:1:b:c:d\n",
		"kind: Secret\n", "kind: Secret\ndata:\n a: |\n", "- kind: Secret\n  data:\n", "Private-Lines: 1\n",
		"identified by '", "$5$", "://a"} {
		t.Run(part, func(t *testing.T) {
			text := strings.Repeat(part, 1<<20/len(part))
			testtime.CheckCPUCost(t, 10_000, func() { secret.Redact(text, nil) })
		})
	}
}
