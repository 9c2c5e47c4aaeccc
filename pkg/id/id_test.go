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
