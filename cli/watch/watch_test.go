package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// thing is a watched object.
type thing struct {
	Name   string `json:"name"`
	Status string `json:"status"`
}

// acts returns a look function that shows the given states one after the other; a state
// may be an error.
func acts(stop func(), states ...any) func(context.Context, *console.Console) error {
	return func(_ context.Context, c *console.Console) error {
		if len(states) == 1 {
			stop() // the cancellation may take effect during this poll or after it
		}
		now := states[0]
		if len(states) > 1 {
			states = states[1:]
		}
		if err, is := now.(error); is {
			return err
		}
		things := now.([]thing)
		var rows [][]string
		for _, t := range things {
			rows = append(rows, []string{t.Name, t.Status})
		}
		return c.List(things, []string{"NAME", "STATUS"}, rows)
	}
}

// TestAPipeGetsWhatIsNew checks that a pipe gets only changes, in each format.
func TestAPipeGetsWhatIsNew(t *testing.T) {
	away := exitcode.With(exitcode.Unreachable, errors.New("away"))
	for format, want := range map[string]string{
		"table": "acme\tbehind\nglobex\tcurrent\nacme\tcurrent\ninitech\tnew\nglobex\tcurrent\n",
		"name":  "acme\nglobex\ninitech\nglobex\n",
		"json": `{"name":"acme","status":"behind"}` + "\n" + `{"name":"globex","status":"current"}` + "\n" +
			`{"name":"acme","status":"current"}` + "\n" + `{"name":"initech","status":"new"}` + "\n" +
			`{"name":"globex","status":"current"}` + "\n",
		"yaml": "---\nname: acme\nstatus: behind\n---\nname: globex\nstatus: current\n---\nname: acme\nstatus: current\n" +
			"---\nname: initech\nstatus: new\n---\nname: globex\nstatus: current\n",
	} {
		t.Run(format, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				var out, remarks strings.Builder
				c := &console.Console{Out: &out, Err: &remarks, Output: format}
				look := acts(stop,
					[]thing{{"acme", "behind"}, {"globex", "current"}},
					[]thing{{"acme", "behind"}, {"globex", "current"}},
					away, away,
					[]thing{{"globex", "current"}, {"acme", "current"}},
					[]thing{{"acme", "current"}, {"initech", "new"}},
					[]thing{{"acme", "current"}, {"initech", "new"}, {"globex", "current"}},
					[]thing{{"acme", "current"}, {"initech", "new"}, {"globex", "current"}})
				if err := Run(ctx, c, look); !errors.Is(err, exitcode.Interrupted) {
					t.Errorf("ended with %v", err)
				}
				if out.String() != want {
					t.Errorf("printed\n%s, want\n%s", out.String(), want)
				}
				if n := strings.Count(remarks.String(), "unreachable"); n != 1 {
					t.Errorf("said %d times that the control plane is unreachable: %q", n, remarks.String())
				}
			})
		})
	}
}

// TestWhatIsNotAList checks that a single value is printed once per change.
func TestWhatIsNotAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var out strings.Builder
		looks := 0
		err := Run(ctx, &console.Console{Out: &out, Err: io.Discard, Output: "json"},
			func(_ context.Context, c *console.Console) error {
				if looks++; looks == 5 {
					stop()
				}
				return c.Result(map[string]int{"half": looks / 2}, nil)
			})
		if want := "{\"half\":0}\n{\"half\":1}\n{\"half\":2}\n"; !errors.Is(err, exitcode.Interrupted) ||
			!strings.HasPrefix(want, out.String()) || len(out.String()) < 22 {
			t.Errorf("printed %q, %v", out.String(), err)
		}
	})
}

// TestWhatEndsIt checks which errors end a watch: one on the first poll, a refusal, a
// closed output, and a control plane that stays unreachable.
func TestWhatEndsIt(t *testing.T) {
	refused := exitcode.With(exitcode.Failed, errors.New("no such app"))
	away := exitcode.With(exitcode.Unreachable, errors.New("away"))
	for name, c := range map[string]struct {
		states []any
		out    io.Writer
		want   error
	}{
		"never there":        {[]any{away}, io.Discard, away},
		"refused":            {[]any{[]thing{{"acme", "new"}}, refused}, io.Discard, refused},
		"gone for good":      {[]any{[]thing{{"acme", "new"}}, away}, io.Discard, away},
		"nobody reads":       {[]any{[]thing{{"acme", "new"}}, refused}, broken{}, io.ErrClosedPipe},
		"nothing, and ended": {[]any{[]thing{}, refused}, io.Discard, refused},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := Run(t.Context(), &console.Console{Out: c.out, Err: io.Discard, Output: "table"},
					acts(func() {}, c.states...))
				if !errors.Is(err, c.want) {
					t.Errorf("ended with %v, want %v", err, c.want)
				}
			})
		})
	}
}

// TestALookThatPrintsNoData checks that text is an error where data is required, and is
// not printed.
func TestALookThatPrintsNoData(t *testing.T) {
	for _, format := range []string{"json", "yaml"} {
		var out strings.Builder
		looks := 0
		err := Run(t.Context(), &console.Console{Out: &out, Err: io.Discard, Output: format},
			func(_ context.Context, c *console.Console) error {
				if looks++; looks > 1 {
					return errors.New("looked again")
				}
				_, err := fmt.Fprintln(c.Out, "acme: current")
				return err
			})
		if !errors.Is(err, errNoData) || out.Len() > 0 {
			t.Errorf("%s: printed %q, %v", format, out.String(), err)
		}
	}
}

// broken is a pipe whose reader has closed it.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestAScreenFitsItsTerminal checks that a screen shows the lines that fit and the number
// of the others, and that the message about an unreachable control plane remains visible.
func TestAScreenFitsItsTerminal(t *testing.T) {
	lines := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "line %d\n", i+1)
		}
		return strings.TrimSuffix(b.String(), "\n")
	}
	for name, c := range map[string]struct {
		lines, height int
		remark, want  string
	}{
		"no size yet":        {3, 0, "", "line 1\nline 2\nline 3\n"},
		"it fits":            {3, 5, "", "line 1\nline 2\nline 3\n"},
		"just":               {4, 5, "", "line 1\nline 2\nline 3\nline 4\n"},
		"one too many":       {5, 5, "", "line 1\nline 2\nline 3\n… 2 more lines\n"},
		"away":               {5, 5, "away", "line 1\nline 2\n… 3 more lines\naway\n"},
		"a very low one":     {9, 2, "", "… 9 more lines\n"},
		"one line, and away": {9, 1, "away", "… 9 more lines\naway\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var m tea.Model = model{}
			for _, msg := range []tea.Msg{shown("old"), remarked("was away"), shown(lines(c.lines)), remarked(c.remark),
				tea.WindowSizeMsg{Width: 20, Height: c.height}} {
				m, _ = m.Update(msg)
			}
			if got := m.View(); got != c.want {
				t.Errorf("drew %q, want %q", got, c.want)
			}
		})
	}
}

// TestOnATerminal checks that each frame replaces the previous one and that
// the last one remains. It ignores the control sequences of bubbletea.
func TestOnATerminal(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var out strings.Builder
	looks := 0
	err := Run(ctx, &console.Console{Out: &out, Err: io.Discard, OutIsTerminal: true, Width: 80, Output: "table"},
		func(_ context.Context, c *console.Console) error {
			if looks++; looks == 2 {
				stop()
			}
			return c.Table(c.Out, []string{"NAME", "STATUS"}, [][]string{{"acme", fmt.Sprint("look", looks)}})
		})
	if !errors.Is(err, exitcode.Interrupted) || !strings.Contains(out.String(), "look1") ||
		!strings.Contains(out.String(), "NAME") {
		t.Errorf("ended with %v, drew %q", err, out.String())
	}
}
