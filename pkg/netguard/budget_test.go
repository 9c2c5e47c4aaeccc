package netguard_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

var (
	errLarge  = errors.New("too large")
	errBroken = errors.New("broken")
)

func TestReadAll(t *testing.T) {
	for name, test := range map[string]struct {
		from  io.Reader
		limit int64
		want  string
		err   error
	}{
		"less":            {strings.NewReader("abc"), 4, "abc", nil},
		"exactly":         {strings.NewReader("abc"), 3, "abc", nil},
		"one more":        {strings.NewReader("abcd"), 3, "abc", errLarge},
		"nothing":         {strings.NewReader(""), 0, "", nil},
		"none may":        {strings.NewReader("a"), 0, "", errLarge},
		"byte by byte":    {iotest.OneByteReader(strings.NewReader("abcd")), 3, "abc", errLarge},
		"end with data":   {iotest.DataErrReader(strings.NewReader("abc")), 3, "abc", nil},
		"broken":          {io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(errBroken)), 3, "ab", errBroken},
		"broken at limit": {io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(errBroken)), 3, "abc", errBroken},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := netguard.ReadAll(test.from, test.limit, errLarge)
			if string(got) != test.want || !errors.Is(err, test.err) {
				t.Errorf("got %q, %v; want %q, %v", got, err, test.want, test.err)
			}
		})
	}
}

// Several responses share one budget, and each has its own limit as well.
func TestBudgetOfSeveral(t *testing.T) {
	all := netguard.NewBudget(5, errBroken)
	read := func(text string, limit int64) (string, error) {
		got, err := netguard.ReadAll(all.Limit(io.NopCloser(strings.NewReader(text))), limit, errLarge)
		return string(got), err
	}
	if got, err := read("abc", 3); got != "abc" || err != nil || all.Remaining() != 2 {
		t.Errorf("got %q, %v, %d left", got, err, all.Remaining())
	}
	if got, err := read("abc", 3); got != "ab" || !errors.Is(err, errBroken) || all.Remaining() != 0 {
		t.Errorf("got %q, %v, %d left", got, err, all.Remaining())
	}
	all.Set(4, errBroken)
	if got, err := read("abcd", 2); got != "ab" || !errors.Is(err, errLarge) {
		t.Errorf("got %q, %v, %d left", got, err, all.Remaining())
	}
}
