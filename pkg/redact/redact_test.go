package redact_test

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"html"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

func TestForms(t *testing.T) {
	secret := "p\"ä\\<ss>&w/o+rd?\n~"
	escaped, _ := json.Marshal(secret)
	twice, _ := json.Marshal(string(escaped[1 : len(escaped)-1]))
	inner := strings.Trim(string(escaped), `"`)
	for name, test := range map[string]struct{ text, want string }{
		"raw":            {"is " + secret + "!", "is (sensitive)!"},
		"nothing":        {"is nothing", "is nothing"},
		"twice in a row": {secret + secret, "(sensitive)"},
		"json":           {`{"a":` + string(escaped) + `}`, `{"a":"(sensitive)"}`},
		"json in json":   {`{"a":` + string(twice) + `}`, `{"a":"(sensitive)"}`},
		"json without html": {`x` + strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`,
			"&").Replace(inner) + `x`, `x(sensitive)x`},
		"url query":      {"x=" + url.QueryEscape(secret) + "&", "x=(sensitive)&"},
		"url path":       {"/" + url.PathEscape(secret) + "/", "/(sensitive)/"},
		"base64":         {base64.StdEncoding.EncodeToString([]byte(secret)) + ".", "(sensitive)."},
		"base64 raw":     {base64.RawStdEncoding.EncodeToString([]byte(secret)) + ".", "(sensitive)."},
		"base64 url":     {base64.URLEncoding.EncodeToString([]byte(secret)) + ".", "(sensitive)."},
		"base64 raw url": {base64.RawURLEncoding.EncodeToString([]byte(secret)) + ".", "(sensitive)."},
		"hex":            {hex.EncodeToString([]byte(secret)) + ".", "(sensitive)."},
		"upper hex":      {"0x" + strings.ToUpper(hex.EncodeToString([]byte(secret))), "0x(sensitive)"},
		"html":           {"<b>" + html.EscapeString(secret) + "</b>", "<b>(sensitive)</b>"},
	} {
		t.Run(name, func(t *testing.T) {
			var set redact.Set
			set.Add([]byte(secret))
			if diff := cmp.Diff(test.want, set.String(test.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDisguises checks that each spelling that docs/security.md lists is found.
func TestDisguises(t *testing.T) {
	const secret = "tR0ub4dor-Zx81qLmP9vWc3nKy7Ee2Gh5"
	reversed := []byte(secret)
	slices.Reverse(reversed)
	spaced := strings.Join(strings.Split(secret, ""), " ")
	utf16 := strings.Join(strings.Split(secret, ""), "\x00")
	var dump, escaped, numbers []string
	for _, b := range []byte(secret) {
		dump, escaped, numbers = append(dump, fmt.Sprintf("%02x", b)), append(escaped, fmt.Sprintf("%%%02X", b)),
			append(numbers, fmt.Sprint(b))
	}
	var set redact.Set
	set.Add([]byte(secret))
	for name, text := range map[string]string{
		"reversed": string(reversed), "capitals": strings.ToUpper(secret),
		"small letters": strings.ToLower(secret), "spaced": spaced,
		"one a line": strings.ReplaceAll(spaced, " ", "\n"), "UTF-16": utf16, "first half": secret[:16],
		"second half":    secret[16:],
		"base32":         base32.StdEncoding.EncodeToString([]byte(secret)),
		"small base32":   strings.ToLower(base32.StdEncoding.EncodeToString([]byte(secret))),
		"base32 of more": base32.StdEncoding.EncodeToString([]byte("password=" + secret + "&more")),
		"a dump":         strings.Join(dump, " "), "colons": strings.Join(dump, ":"),
		"percent": strings.Join(escaped, ""),
		"numbers": "[" + strings.Join(numbers, ", ") + "]", "entities": "&#" + strings.Join(numbers, ";&#") + ";",
	} {
		got := set.String(text)
		left := strings.Trim(strings.ReplaceAll(got, redact.Mask, ""), "[]=%")
		allowed := 0
		if name == "base32 of more" { // the neighbors remain, and one character that is shared with each
			allowed = (len("password=")*8+4)/5 + (len("&more")*8+4)/5 + 2
		}
		if !strings.Contains(got, redact.Mask) || len(left) > allowed {
			t.Errorf("%s: %q became %q", name, text, got)
		}
	}
}

// TestOrdinaryTextIsNotMasked counts false positives: secrets that are words, addresses and
// sentences mask nothing in a log with similar text.
func TestOrdinaryTextIsNotMasked(t *testing.T) {
	var set redact.Set
	for _, secret := range []string{
		"password", "postgres://app:hunter2@db.example.internal:5432/production-database",
		"the quick brown fox jumps over the lazy dog", "Sw0rd",
		"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	} {
		set.Add([]byte(secret))
	}
	for _, text := range []string{
		"connected to db.example.internal:5432 as app", "production-database is ready", "over the lazy dog",
		"SW0RD sw0rd dr0wS", "id=9f86d081", "postgres://app:other@db.example.internal:5432/x", "pass word", "drow",
		"module.network.aws_subnet.private[3]: Creation complete",
	} {
		if got := set.String(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestShells checks what real shells print when they trace a command with a secret, or quote it.
func TestShells(t *testing.T) {
	secret := `it's a "$ecret" \ for & all`
	var set redact.Set
	set.Add([]byte(secret))
	for _, script := range []string{`set -x; : "$SECRET"`, `set -x; V="$SECRET"`, `printf %s "$SECRET"`,
		`export V="$SECRET"; export -p | grep V=`} {
		run := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
		run.Env = []string{"SECRET=" + secret, "PATH=" + os.Getenv("PATH")}
		said, err := run.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v", script, err)
		}
		if got := set.String(string(said)); strings.Contains(got, "ecret") || !strings.Contains(got, redact.Mask) {
			t.Errorf("%s printed %q, which became %q", script, said, got)
		}
	}
}

// TestKeysOfSeveralLines checks that a PEM key is masked completely for any indentation and line
// end.
func TestKeysOfSeveralLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// The lengths vary, so that the last line has any length. A key of one to four lines covers
		// the same cases as a longer one in less time.
		content := rapid.SliceOfN(rapid.Byte(), 40, 150).Draw(t, "key")
		key := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: content}))
		var set redact.Set
		set.Add([]byte(key))
		indent := rapid.SampledFrom([]string{"", "  ", "      ", "\t\t", strings.Repeat(" ", 32)}).Draw(t, "indent")
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
		text := "key = <<-EOT" + end
		for line := range strings.Lines(key) {
			text += indent + strings.TrimSpace(line) + end
		}
		text += indent + "EOT" + end
		left := strings.TrimSpace(strings.ReplaceAll(strings.NewReplacer(redact.Mask, "", "key = <<-EOT",
			"").Replace(set.String(text)), "EOT", ""))
		if left != "" {
			t.Fatalf("%q is left of\n%s", left, text)
		}
	})
}

// TestTerraformStrings checks that the doubled first character of a template in Terraform's strings
// is handled.
func TestTerraformStrings(t *testing.T) {
	var set redact.Set
	set.Add([]byte("pa${ss}-%{word}1"))
	if diff := cmp.Diff(`value = "(sensitive)"`, set.String(`value = "pa$${ss}-%%{word}1"`)); diff != "" {
		t.Error(diff)
	}
}

func TestShortSecretsAreShown(t *testing.T) {
	var set redact.Set
	if set.Add([]byte("abc")) || set.Add(nil) {
		t.Error("a secret below MinLength was said to be looked for")
	}
	if got := set.String("abc abcd"); got != "abc abcd" {
		t.Errorf("got %q", got)
	}
	if !set.AddSecret(seal.NewSecret([]byte("abcd"))) {
		t.Error("a secret of MinLength was refused")
	}
	if got := set.String("abc abcd"); got != "abc (sensitive)" {
		t.Errorf("got %q", got)
	}
}

func TestLinesOfASecret(t *testing.T) {
	var set redact.Set
	set.Add([]byte("-----BEGIN KEY-----\nMIIEpAIBAAKCAQEA7\nshort\n-----END KEY-----\n"))
	text := "  key:\n    MIIEpAIBAAKCAQEA7\n    short\n"
	if diff := cmp.Diff("  key:\n    (sensitive)\n", set.String(text)); diff != "" {
		t.Error(diff)
	}
	if got := set.String("in short\nis short"); got != "in short\nis short" {
		t.Errorf("a short line of a secret was hidden where it is ordinary text: %q", got)
	}
	if got := set.String("-----BEGIN KEY-----\nMIIEpAIBAAKCAQEA7\nshort\n-----END KEY-----."); got != "(sensitive)." {
		t.Errorf("without its last line end: %q", got)
	}
}

// A set masks exactly the bytes within an occurrence of a form. The reference finds occurrences by
// comparing at every position.
func TestWriterHidesExactlyTheOccurrences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Few different letters, so that secrets overlap, nest and start within each other.
		letters := rapid.SliceOfN(rapid.SampledFrom([]byte("ab")), 4, 7)
		secrets := rapid.SliceOfN(letters, 1, 4).Draw(t, "secrets")
		text := rapid.SliceOfN(rapid.SampledFrom([]byte("aab. ")), 0, 60).Draw(t, "text")
		var set redact.Set
		for _, secret := range secrets {
			set.Add(secret)
		}
		var out bytes.Buffer
		writer := set.Writer(&out)
		for rest := text; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			if wrote, err := writer.Write(rest[:n]); err != nil || wrote != n {
				t.Fatalf("wrote %d of %d: %v", wrote, n, err)
			}
			rest = rest[n:]
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(reference(text, secrets), out.String()); diff != "" {
			t.Fatal(diff)
		}
		if set.Contains(text) != strings.Contains(out.String(), redact.Mask) {
			t.Fatal("Contains and Writer disagree")
		}
	})
}

// reference searches only for the raw form: the base64 of these letters does not occur in the text.
func reference(text []byte, secrets [][]byte) string {
	hidden := make([]bool, len(text))
	for _, secret := range secrets {
		for at := range text {
			if bytes.HasPrefix(text[at:], secret) {
				for i := range secret {
					hidden[at+i] = true
				}
			}
		}
	}
	var out strings.Builder
	for i, b := range text {
		switch {
		case !hidden[i]:
			out.WriteByte(b)
		case i == 0 || !hidden[i-1]:
			out.WriteString(redact.Mask)
		}
	}
	return out.String()
}

// Nothing of the middle of a secret remains, for any text around it when it is encoded.
func TestBase64AtEveryAlignment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "before")
		secret := rapid.SliceOfN(rapid.Byte(), 4, 40).Draw(t, "secret")
		after := rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "after")
		encodings := []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding,
			base64.URLEncoding, base64.RawURLEncoding}
		encoding := rapid.IntRange(0, len(encodings)-1).Draw(t, "encoding")
		encoded := encodings[encoding].EncodeToString(append(append(append([]byte{}, before...), secret...), after...))
		var set redact.Set
		set.Add(secret)
		got := set.String(encoded)
		// What may remain is the encoding of the text before and after, and one shared character at
		// each end.
		left := strings.TrimRight(strings.ReplaceAll(got, redact.Mask, ""), "=")
		most := (len(before)*8+5)/6 + (len(after)*8+5)/6 + 2
		if !strings.Contains(got, redact.Mask) || len(left) > most {
			t.Fatalf("%q became %q: %d characters are left, at most %d may be", encoded, got, len(left), most)
		}
	})
}

func TestASecretAddedLaterCountsFromWhatIsHeld(t *testing.T) {
	var set redact.Set
	set.Add([]byte("hunter"))
	var out bytes.Buffer
	writer := set.Writer(&out)
	_, _ = writer.Write([]byte("say hunt"))
	if out.String() != "say " {
		t.Fatalf("before: %q", out.String())
	}
	set.Add([]byte("unt-17"))
	_, _ = writer.Write([]byte("-17 now"))
	_ = writer.Close()
	if out.String() != "say h(sensitive) now" {
		t.Errorf("after: %q", out.String())
	}
}

func TestOrdinaryLinesPassAtOnce(t *testing.T) {
	var set redact.Set
	set.Add([]byte("hunter2"))
	var out bytes.Buffer
	writer := set.Writer(&out)
	_, _ = writer.Write([]byte("the hunt is on\n"))
	if out.String() != "the hunt is on\n" {
		t.Errorf("held back: %q", out.String())
	}
}

func TestFlushPassesOnWhatIsHeld(t *testing.T) {
	var set redact.Set
	set.Add([]byte("hunter2"))
	var out bytes.Buffer
	writer := set.Writer(&out)
	_, _ = writer.Write([]byte("hunt"))
	if err := writer.Flush(); err != nil || out.String() != "hunt" {
		t.Fatalf("got %q, %v", out.String(), err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	if _, err := writer.Write([]byte("x")); err == nil {
		t.Error("took a write after close")
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

var errBroken = errors.New("disk full")

func TestAnErrorBelowIsKept(t *testing.T) {
	var set redact.Set
	writer := set.Writer(brokenWriter{})
	for range 2 {
		if _, err := writer.Write([]byte("x")); !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
	}
}

func TestConcurrentAddsAndWrites(t *testing.T) {
	var set redact.Set
	set.Add([]byte("first-secret"))
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for n := range 10 {
				set.Add([]byte("secret-" + strings.Repeat("x", i) + strings.Repeat("y", n)))
				if got := set.String("a first-secret b"); got != "a (sensitive) b" {
					t.Errorf("got %q", got)
				}
			}
		})
	}
	group.Wait()
}

func BenchmarkWriter(b *testing.B) {
	var set redact.Set
	for i := range 50 {
		set.Add([]byte(strings.Repeat("k", i%7) + "secret" + strings.Repeat("v", i)))
	}
	text := []byte(strings.Repeat("module.network.terraform_data.subnet[3]: Creation complete after 0s [id=0b1c2d3e]\n",
		1000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		writer := set.Writer(&bytes.Buffer{})
		_, _ = writer.Write(text)
		_ = writer.Close()
	}
}

// TestReveal checks that the start of what may be a secret is shown on request, that the rest of the secret is not, and
// that slow output does not show more of it.
func TestReveal(t *testing.T) {
	var s redact.Set
	s.Add([]byte("planted-password-1"))
	var out bytes.Buffer
	w := s.Writer(&out)
	for i := range len("planted-password-1") {
		if _, err := w.Write([]byte("planted-password-1"[i : i+1])); err != nil {
			t.Fatal(err)
		}
		if err := w.Reveal(2); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Write([]byte("!plain")); err != nil || out.String() != "pl(sensitive)!plain" {
		t.Errorf("%q %v", out.String(), err)
	}
	_, _ = w.Write([]byte(" pl"))
	if err := w.Reveal(2); err != nil || out.String() != "pl(sensitive)!plain pl" {
		t.Errorf("%q %v", out.String(), err)
	}
}
