package exitcode

import (
	"errors"
	"fmt"
	"testing"
)

// TestCodeOf checks that a wrapped Error keeps its code, and that any other
// error has the code Failed.
func TestCodeOf(t *testing.T) {
	cause := errors.New("cause")
	for name, c := range map[string]struct {
		err  error
		want int
		text string
	}{
		"nothing":              {nil, 0, ""},
		"any error":            {cause, 1, "cause"},
		"usage":                {Usagef("-o %s: use json", "xml"), 2, "-o xml: use json"},
		"with a code":          {With(Waiting, cause), 3, "cause"},
		"wrapped":              {fmt.Errorf("approve web: %w", With(Rejected, cause)), 4, "approve web: cause"},
		"joined":               {errors.Join(cause, With(Unreachable, cause)), 5, "cause\ncause"},
		"the outer one counts": {With(Usage, With(Unreachable, cause)), 2, "cause"},
		"said already":         {&Error{Code: Usage}, 2, ""},
		"Ctrl-C":               {Interrupted, 130, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := CodeOf(c.err); got != c.want {
				t.Errorf("code %d, want %d", got, c.want)
			}
			if c.err != nil && c.err.Error() != c.text {
				t.Errorf("says %q, want %q", c.err.Error(), c.text)
			}
		})
	}
	if !errors.Is(With(Failed, cause), cause) {
		t.Error("the cause is lost")
	}
}

// TestCodesAreWhatScriptsKnow checks that the codes never change, because scripts depend on them.
func TestCodesAreWhatScriptsKnow(t *testing.T) {
	got := [...]int{Done, Failed, Usage, Waiting, Rejected, Unreachable, Interrupted.Code,
		ClosedPipe.Code, Terminated.Code}
	if want := [...]int{0, 1, 2, 3, 4, 5, 130, 141, 143}; got != want {
		t.Errorf("%v, want %v", got, want)
	}
	for i, c := range Codes {
		if i >= len(got) || c.Code != got[i] || c.Means == "" {
			t.Errorf("the reference has %+v in place %d", c, i)
		}
	}
	if len(Codes) != len(got) {
		t.Errorf("the reference has %d codes, want %d", len(Codes), len(got))
	}
}
