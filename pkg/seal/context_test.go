package seal

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"filippo.io/age"
	"pgregory.net/rapid"
)

// raw encrypts bytes without a context, as format 1 did. Anyone with the public key can do so.
func raw(t testing.TB, to Recipient, plain string) Sealed {
	t.Helper()
	var out bytes.Buffer
	writer, err := age.Encrypt(&out, to.key)
	if err != nil {
		t.Fatal(err)
	}
	_, err = writer.Write([]byte(plain))
	if err := errors.Join(err, writer.Close()); err != nil {
		t.Fatal(err)
	}
	return Sealed{KeyID: to.KeyID(), Ciphertext: out.Bytes()}
}

// TestContext checks that a value opens under the context that it was sealed under and under no
// other, however similar.
func TestContext(t *testing.T) {
	identity := newIdentity(t)
	part := rapid.SampledFrom([]string{"", "a", "b", "a\n", `a"`, "a.b", "ins_1", "input", "output", "\u2028", "<"})
	contexts := rapid.Custom(func(t *rapid.T) Context {
		return Context{Org: part.Draw(t, "org"), Install: part.Draw(t, "install"), Kind: part.Draw(t, "kind"),
			Component: part.Draw(t, "component"), Path: part.Draw(t, "path")}
	})
	rapid.Check(t, func(t *rapid.T) {
		one, other := contexts.Draw(t, "one"), contexts.Draw(t, "other")
		plain := rapid.SliceOf(rapid.Byte()).Draw(t, "plain")
		sealed, err := identity.Recipient().Seal(one, plain)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := identity.Open(sealed, other)
		switch {
		case one == other && (err != nil || !bytes.Equal(opened.Reveal(), plain)):
			t.Fatalf("opened %q of %q: %v", opened.Reveal(), plain, err)
		case one != other && !errors.Is(err, ErrContext):
			t.Fatalf("sealed as %v, opened as %v: %v", one, other, err)
		case one != other && one.Hash(identity, plain) == other.Hash(identity, plain):
			t.Fatalf("%v and %v have one hash", one, other)
		}
	})
}

// TestContextErrorNamesBothPlaces also checks that the error contains nothing of the value.
func TestContextErrorNamesBothPlaces(t *testing.T) {
	identity := newIdentity(t)
	sealed, err := identity.Recipient().Seal(Context{Install: "ins_1", Kind: KindOutput, Component: "inc_a",
		Path: "components.a.outputs.url"}, []byte(planted))
	if err != nil {
		t.Fatal(err)
	}
	_, err = identity.Open(sealed, InputContext("ins_2", "token"))
	if err == nil || strings.Contains(err.Error(), planted) {
		t.Fatal(err)
	}
	for _, want := range []string{"output components.a.outputs.url (component inc_a) of install ins_1",
		"input inputs.inputs.token of install ins_2"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
}

// TestOtherFormats checks that a plaintext without a context, or in a later format, is rejected.
func TestOtherFormats(t *testing.T) {
	identity := newIdentity(t)
	context := InputContext("ins_1", "x")
	for name, plain := range map[string]string{
		"format 1":          planted,
		"empty":             "",
		"lines":             "a\nb\n",
		"JSON":              "{\"a\":1}\nvalue",
		"no line end":       strings.TrimSuffix(string(context.header()), "\n"),
		"a long first line": strings.Repeat("x", 2*maxHeader) + "\n",
	} {
		if _, err := identity.Open(raw(t, identity.Recipient(), plain), context); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v, want ErrFormat", name, err)
		}
	}
	later := strings.Replace(string(context.header()), ":2,", ":3,", 1)
	if _, err := identity.Open(raw(t, identity.Recipient(), later+"value"), context); err == nil ||
		!strings.Contains(err.Error(), "format 3") {
		t.Error(err)
	}
	spaced := strings.Replace(string(context.header()), ",", ", ", 1)
	if _, err := identity.Open(raw(t, identity.Recipient(), spaced+"value"), context); !errors.Is(err, ErrContext) {
		t.Errorf("a context in another spelling: %v", err)
	}
}

func TestFingerprint(t *testing.T) {
	recipient := newIdentity(t).Recipient()
	print := recipient.Fingerprint()
	if read, err := ParseFingerprint(" " + strings.ToUpper(print) + "\n"); err != nil || read != print {
		t.Errorf("%q came back as %q, %v", print, read, err)
	}
	if print == newIdentity(t).Recipient().Fingerprint() || (Recipient{}).Fingerprint() != "" {
		t.Error("fingerprints name no key")
	}
	for _, wrong := range []string{"", recipient.KeyID(), print[:len(print)-1],
		strings.ReplaceAll(print, "-", ""), print + "-0000"} {
		if _, err := ParseFingerprint(wrong); err == nil {
			t.Errorf("%q was read", wrong)
		}
	}
}
