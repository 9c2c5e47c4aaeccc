package seal

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func newIdentity(t testing.TB) Identity {
	t.Helper()
	identity, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return identity
}

func TestSealAndOpen(t *testing.T) {
	identity := newIdentity(t)
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.SliceOf(rapid.Byte()).Draw(t, "plain")
		sealed, err := identity.Recipient().Seal(InputContext("ins_1", "x"), plain)
		if err != nil {
			t.Fatal(err)
		}
		if len(plain) > 8 && bytes.Contains(sealed.Ciphertext, plain) {
			t.Fatal("the ciphertext holds the plaintext")
		}
		text, err := json.Marshal(sealed)
		if err != nil {
			t.Fatal(err)
		}
		var back Sealed
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sealed, back); diff != "" {
			t.Fatal(diff)
		}
		opened, err := identity.Open(back, InputContext("ins_1", "x"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(opened.Reveal(), plain) {
			t.Fatalf("opened %q, sealed %q", opened.Reveal(), plain)
		}
	})
}

func TestOpenSaysWhichKeyIsNeeded(t *testing.T) {
	mine, other := newIdentity(t), newIdentity(t)
	sealed, err := other.Recipient().Seal(InputContext("ins_1", "x"), []byte(planted))
	if err != nil {
		t.Fatal(err)
	}
	_, err = mine.Open(sealed, InputContext("ins_1", "x"))
	if !errors.Is(err, ErrWrongKey) || !strings.Contains(err.Error(), other.KeyID()) ||
		!strings.Contains(err.Error(), mine.KeyID()) {
		t.Errorf("error is %v, want both key ids and ErrWrongKey", err)
	}
	relabelled := Sealed{KeyID: mine.KeyID(), Ciphertext: sealed.Ciphertext}
	if _, err = mine.Open(relabelled, InputContext("ins_1", "x")); !errors.Is(err, ErrWrongKey) {
		t.Errorf("a relabelled value gives %v, want ErrWrongKey", err)
	}
	if _, err = (Identity{}).Open(sealed, InputContext("ins_1", "x")); !errors.Is(err, ErrWrongKey) ||
		!strings.Contains(err.Error(), other.KeyID()) {
		t.Errorf("without a key: %v, want the id that is needed", err)
	}
	if _, err = (Recipient{}).Seal(Context{}, []byte("x")); err == nil {
		t.Error("the zero recipient sealed something")
	}
}

func TestOpenRefusesEveryDamage(t *testing.T) {
	identity := newIdentity(t)
	sealed, err := identity.Recipient().Seal(InputContext("ins_1", "x"), []byte(planted))
	if err != nil {
		t.Fatal(err)
	}
	for i := range sealed.Ciphertext {
		damaged := Sealed{KeyID: sealed.KeyID, Ciphertext: bytes.Clone(sealed.Ciphertext)}
		damaged.Ciphertext[i] ^= 1
		if opened, err := identity.Open(damaged, InputContext("ins_1", "x")); err == nil {
			t.Fatalf("byte %d changed and it opened as %q", i, opened.Reveal())
		}
		cut := Sealed{KeyID: sealed.KeyID, Ciphertext: sealed.Ciphertext[:i]}
		if _, err := identity.Open(cut, InputContext("ins_1", "x")); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut to %d bytes it gives %v, want ErrBroken", i, err)
		}
	}
}

func TestHash(t *testing.T) {
	identity, other := newIdentity(t), newIdentity(t)
	hash := identity.Hash("input/db_password", []byte(planted))
	if !regexp.MustCompile(`^hmac:[0-9a-f]{64}$`).MatchString(hash) {
		t.Errorf("hash is %q", hash)
	}
	reread, err := ParseIdentity(identity.key().String())
	if err != nil {
		t.Fatal(err)
	}
	if again := reread.Hash("input/db_password", []byte(planted)); again != hash {
		t.Errorf("the same key gives %s, then %s", hash, again)
	}
	different := map[string]string{
		"value":   identity.Hash("input/db_password", []byte(planted+"x")),
		"context": identity.Hash("input/other", []byte(planted)),
		"key":     other.Hash("input/db_password", []byte(planted)),
		"zero":    (Identity{}).Hash("input/db_password", []byte(planted)),
	}
	for what, got := range different {
		if got == hash {
			t.Errorf("another %s gives the same hash", what)
		}
	}
	if identity.Derive("a").Equal(identity.Derive("b")) || len(identity.Derive("a").Reveal()) != 32 {
		t.Error("derived keys must differ by purpose and have 32 bytes")
	}
	if identity.Derive("a").Equal(identity.Derive("hash/a")) {
		t.Error("a purpose gives the key of a hash context")
	}
}

// TestFixedForms pins the stored forms. If an id, a hash or a derived key changed with a version of
// nuon, no stored sealed value could be used any more.
func TestFixedForms(t *testing.T) {
	identity, err := ParseIdentity("AGE-SECRET-KEY-1SD35KJWNGU69XPMNP597XDPXYMJ8G86TLVPVZPZVUKYN7UR279YS6QQTXG")
	if err != nil {
		t.Fatal(err)
	}
	everything := Context{Org: "org_1", Install: "ins_1", Kind: KindOutput, Component: "inc_1",
		Path: `components."a.b".outputs.<url>`}
	got := map[string]string{
		"recipient":    identity.Recipient().String(),
		"key id":       identity.KeyID(),
		"hash":         identity.Hash("input/x", []byte("value")),
		"fingerprint":  identity.Recipient().Fingerprint(),
		"context":      string(everything.header()),
		"context hash": everything.Hash(identity, []byte("value")),
	}
	want := map[string]string{
		"recipient":   "age14eu3l03yt2l36pq4lmkll4cd0ldhdg3pz358ugh2gd2kjhl9aufq9gr5rq",
		"key id":      "key-2e2901834eb43a7d",
		"hash":        "hmac:9c98919b727c409f43c8cbbb07a5155d546ab66b36f3f32e967b2e537ff90d33",
		"fingerprint": "a4ce-503b-b689-6dbd-fa70-6983-2714-730b",
		"context": `{"nuon_sealed":2,"org":"org_1","install":"ins_1","kind":"output","component":"inc_1",` +
			`"path":"components.\"a.b\".outputs.\u003curl\u003e"}` + "\n",
		"context hash": "hmac:daf86e75e61cbb338e41a069291319cbdb5acdff8c0e80b4eeaf086f6cc1dc5b",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRecipientText(t *testing.T) {
	recipient := newIdentity(t).Recipient()
	parsed, err := ParseRecipient(" " + recipient.String() + "\n")
	if err != nil || parsed.KeyID() != recipient.KeyID() {
		t.Errorf("parsed %s of %s: %v", parsed, recipient, err)
	}
	text, err := json.Marshal(map[string]Recipient{"a": recipient, "none": {}})
	if err != nil {
		t.Fatal(err)
	}
	var back map[string]Recipient
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if back["a"].String() != recipient.String() || !back["none"].IsZero() {
		t.Errorf("%s came back as %v", text, back)
	}
	if _, err := ParseRecipient("ssh-ed25519 AAAA"); err == nil {
		t.Error("an ssh key was taken for a recipient")
	}
}

func TestParseIdentityNeverRepeatsTheKey(t *testing.T) {
	private := newIdentity(t).key().String()
	// The last character is part of the checksum; "0" may be the correct one.
	last := "0"
	if strings.HasSuffix(private, last) {
		last = "2"
	}
	for name, text := range map[string]string{
		"empty":    "# only a comment\n",
		"broken":   private[:len(private)-1] + last,
		"two keys": private + "\n" + private,
		"public":   "age14eu3l03yt2l36pq4lmkll4cd0ldhdg3pz358ugh2gd2kjhl9aufq9gr5rq",
	} {
		_, err := ParseIdentity(text)
		if err == nil {
			t.Errorf("%s was taken", name)
		} else if strings.Contains(err.Error(), private[20:40]) {
			t.Errorf("%s: the error shows the key: %v", name, err)
		}
	}
}

func TestKeyFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "install.key")
	if _, err := LoadIdentity(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file gives %v", err)
	}
	created, err := LoadOrCreateIdentity(file)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %o", info.Mode().Perm())
	}
	loaded, err := LoadOrCreateIdentity(file)
	if err != nil || loaded.KeyID() != created.KeyID() {
		t.Errorf("loaded %s after creating %s: %v", loaded.KeyID(), created.KeyID(), err)
	}
	if _, err := CreateIdentity(file); !errors.Is(err, os.ErrExist) {
		t.Errorf("creating over a key gives %v, want ErrExist", err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadIdentity(file); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a readable key file gives %v, want what to run", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("the directory holds %v besides the key: %v", left, err)
	}
}

func TestKeyFileOfTwoAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	ids := make(chan string)
	for range 8 {
		go func() {
			identity, err := LoadOrCreateIdentity(file)
			if err != nil {
				ids <- err.Error()
				return
			}
			ids <- identity.KeyID()
		}()
	}
	first := <-ids
	for range 7 {
		if next := <-ids; next != first {
			t.Errorf("one got %s, another %s", first, next)
		}
	}
}
