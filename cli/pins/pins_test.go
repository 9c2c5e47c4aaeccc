package pins

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
)

func open(t *testing.T, context string) *Store {
	t.Helper()
	s, err := Open(context)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func use(t *testing.T, url string) {
	t.Helper()
	t.Setenv("NUON_CONTEXT", "")
	t.Setenv("NUON_URL", url)
	t.Setenv("NUON_TOKEN", "tok")
}

// TestPinsAtOnce checks that concurrent commands that pin different installs lose no pins.
func TestPinsAtOnce(t *testing.T) {
	t.Setenv("NUON_CONFIG", filepath.Join(t.TempDir(), "new", "config.toml"))
	use(t, "http://one/")
	var all sync.WaitGroup
	failed := make([]error, 20)
	for i := range failed {
		s := open(t, "")
		all.Go(func() {
			_, failed[i] = s.Accept(Install{ID: fmt.Sprint("ins_", i), App: "hello", Name: fmt.Sprint("n", i), New: true},
				Key{fmt.Sprint("f", i), true}, "")
		})
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		t.Fatal(err)
	}
	s := open(t, "")
	for i := range failed {
		if pin, found := s.Find(Install{ID: fmt.Sprint("ins_", i)}); !found || pin.Fingerprint != fmt.Sprint("f", i) {
			t.Errorf("pin %d is %+v", i, pin)
		}
	}
}

// TestPinsOfOthers checks that the pins of another control plane are neither used nor
// removed, and that a final slash of the URL does not matter.
func TestPinsOfOthers(t *testing.T) {
	t.Setenv("NUON_CONFIG", filepath.Join(t.TempDir(), "config.toml"))
	acme, key := Install{ID: "ins_1", App: "hello", Name: "acme", New: true}, Key{"first", true}
	for _, url := range []string{"http://one", "http://two"} {
		use(t, url)
		if remark, err := open(t, "").Accept(acme, key, ""); err != nil || remark == "" {
			t.Errorf("%q, %v", remark, err)
		}
	}
	if err := Reset("http://two/"); err != nil {
		t.Fatal(err)
	}
	if _, found := open(t, "").Find(acme); found {
		t.Error("the pin is still there")
	}
	use(t, "http://one/")
	if _, err := open(t, "").Accept(acme, Key{"second", true}, ""); err == nil {
		t.Error("another key was accepted")
	}
}
