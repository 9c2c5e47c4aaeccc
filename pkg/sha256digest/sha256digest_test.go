package sha256digest

import (
	"strings"
	"testing"
)

// TestOf checks digests that others have published for the same content.
func TestOf(t *testing.T) {
	for content, want := range map[string]string{
		"":    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"abc": "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
	} {
		if got := Of([]byte(content)); got != want {
			t.Errorf("digest of %q: %s, want %s", content, got, want)
		} else if err := Check(got); err != nil {
			t.Error(err)
		}
	}
}

// TestCheck checks that content has no second name: no upper case, no other algorithm and nothing around it.
func TestCheck(t *testing.T) {
	digest := Of(nil)
	for name, text := range map[string]string{
		"empty": "", "prefix alone": "sha256:", "no prefix": strings.TrimPrefix(digest, "sha256:"),
		"another algorithm": "sha512:" + strings.Repeat("a", 128), "upper case": strings.ToUpper(digest),
		"upper-case digits": "sha256:" + strings.Repeat("A", 64), "too short": digest[:len(digest)-1],
		"too long": digest + "0", "a line end": digest[:len(digest)-1] + "\n",
		"a path":                   "sha256:" + strings.Repeat("../", 22)[:64],
		"digits of another script": "sha256:" + strings.Repeat("٣", 32),
	} {
		if Check(text) == nil {
			t.Errorf("%s: %q is accepted", name, text)
		}
	}
}
