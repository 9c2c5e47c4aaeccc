package id

import (
	"regexp"
	"testing"
	"time"
)

func TestNewIsUniqueShapedAndSortsByTime(t *testing.T) {
	shape := regexp.MustCompile(`^bld_[0-9a-v]{26}$`)
	seen := map[string]bool{}
	for range 10_000 {
		n := New("bld")
		if !shape.MatchString(n) || seen[n] {
			t.Fatalf("id %q is malformed or was made twice", n)
		}
		seen[n] = true
	}
	first := New("bld")
	time.Sleep(2 * time.Millisecond) // ids have a resolution of milliseconds
	if second := New("bld"); second <= first {
		t.Fatalf("%s was made after %s and does not sort after it", second, first)
	}
}

// TestInstallIDs checks that the id of an install can be a namespace, a part of a domain or a bucket's
// name, and that ids of earlier versions stay valid.
func TestInstallIDs(t *testing.T) {
	made := New("ins")
	if !regexp.MustCompile(`^ins[0-9a-v]{26}$`).MatchString(made) || !Valid("ins", made) {
		t.Errorf("the id of an install is %q", made)
	}
	for text, want := range map[string]bool{
		"ins_" + made[3:]: true, "ins__" + made[3:]: false, "ins" + made[4:]: false, "app" + made[3:]: false,
	} {
		if got := Valid("ins", text); got != want {
			t.Errorf("Valid of %q: %v", text, got)
		}
	}
	if Valid("app", "app"+made[3:]) || !Valid("app", New("app")) {
		t.Error("ids of apps need an underscore")
	}
}
