package truncate_test

import (
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/truncate"
)

func TestText(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 0, ""},
		{"short", 5, "short"},
		{"longer", 5, "longe…"},
		{"longer", 0, "…"},
		{"größe", 3, "gr…"}, // the limit is inside the ö
		{"größe", 4, "grö…"},
		{"a\xffb", 3, "a\xffb"}, // what is not cut stays
		{"a\xffbc", 3, "ab…"},
	} {
		if got := truncate.Text(c.text, c.most); got != c.want {
			t.Errorf("%q at %d: got %q, want %q", c.text, c.most, got, c.want)
		}
	}
}
