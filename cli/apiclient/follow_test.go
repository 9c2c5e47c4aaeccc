package apiclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// streams returns one body after the other, and records the last event id of each request.
type streams struct {
	bodies []string
	asked  []string
}

func (s *streams) open(last string) (*http.Response, error) {
	s.asked = append(s.asked, last)
	if len(s.asked) > len(s.bodies) {
		return nil, errors.New("no more streams")
	}
	return answer(http.StatusOK, s.bodies[len(s.asked)-1]), nil
}

func answer(status int, body string) *http.Response {
	r, _ := http.NewRequest(http.MethodGet, "http://plane/stream", nil)
	return &http.Response{StatusCode: status, Status: http.StatusText(status),
		Body: io.NopCloser(strings.NewReader(body)), Request: r}
}

// until collects events as name=data, and stops at the event with the name stop.
func until(stop string, got *[]string) func(Event) (bool, error) {
	return func(e Event) (bool, error) {
		*got = append(*got, e.Name+"="+string(e.Data))
		return e.Name == stop, nil
	}
}

// TestFollowAsksAgainFromWhatItSaw checks that a stream that broke, even within an event, is
// reopened after a pause from the last complete event, so that no event is lost or repeated.
func TestFollowAsksAgainFromWhatItSaw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &streams{bodies: []string{
			"event: log\nid: 1/1\ndata: a\n\nevent: log\nid: 1/2\ndata: b\n\nevent: log\nid: 1/3\nda",
			"",
			"event: log\nid: 1/3\ndata: c\n\n: still here\n\nevent: log\ndata: no id\n\n",
			"event: end\nid: 1/4\ndata: {}\n\nevent: log\nid: 1/5\ndata: too late\n\n",
		}}
		begun := time.Now()
		var got []string
		if err := Follow(t.Context(), s.open, until("end", &got)); err != nil {
			t.Fatal(err)
		}
		if want := []string{"log=a", "log=b", "log=c", "log=no id", "end={}"}; !slices.Equal(got, want) {
			t.Errorf("events %q, want %q", got, want)
		}
		if want := []string{"", "1/2", "1/2", "1/3"}; !slices.Equal(s.asked, want) {
			t.Errorf("asked for from %q, want %q", s.asked, want)
		}
		if took := time.Since(begun); took != 3*reconnectAfter {
			t.Errorf("paused for %s, want %s", took, 3*reconnectAfter)
		}
	})
}

// TestFollowOutlivesARestart checks that Follow tolerates a restart of the control plane,
// but not one that stays unreachable or that never answered.
func TestFollowOutlivesARestart(t *testing.T) {
	for name, c := range map[string]struct {
		first, away int // streams before, and refusals after
		want        int
	}{
		"never there":     {0, 1000, exitcode.Unreachable},
		"a restart":       {1, 10, exitcode.Done},
		"gone for good":   {1, 1000, exitcode.Unreachable},
		"several of them": {3, 10, exitcode.Done},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opens := 0
				open := func(string) (*http.Response, error) {
					switch opens++; {
					case opens <= c.first:
						return answer(http.StatusOK, "event: log\nid: 1\ndata: a\n\n"), nil
					case opens <= c.first+c.away/2:
						return nil, errors.New("connection refused")
					case opens <= c.first+c.away:
						return answer(http.StatusBadGateway, "<html>"), nil
					}
					return answer(http.StatusOK, "event: end\nid: 2\ndata: b\n\n"), nil
				}
				begun := time.Now()
				var got []string
				if err := Follow(t.Context(), open, until("end", &got)); exitcode.CodeOf(err) != c.want {
					t.Errorf("ended with %v", err)
				}
				if c.first == 0 && time.Since(begun) > 0 {
					t.Errorf("tried for %s before it said that nobody is there", time.Since(begun))
				}
			})
		})
	}
}

// TestFollowEnds checks that a stream that ended for good is not reopened.
func TestFollowEnds(t *testing.T) {
	wrong := errors.New("wrong")
	synctest.Test(t, func(t *testing.T) {
		s := &streams{bodies: []string{"data: x\n\n", "data: y\n\n"}}
		if err := Follow(t.Context(), s.open,
			func(Event) (bool, error) { return false, wrong }); !errors.Is(err, wrong) ||
			len(s.asked) != 1 {
			t.Errorf("an error of the reader ended with %v after %d streams", err, len(s.asked))
		}
		opens := 0
		err := Follow(t.Context(), func(string) (*http.Response, error) {
			if opens++; opens == 1 {
				return answer(http.StatusOK, "data: x\n\n"), nil
			}
			return answer(http.StatusUnauthorized,
				`{"status":401,"code":"unauthorized","title":"the token was taken back"}`), nil
		}, func(Event) (bool, error) { return false, nil })
		if opens != 2 || exitcode.CodeOf(err) != exitcode.Unreachable || err.Error() != "the token was taken back" {
			t.Errorf("a refusal ended with %v after %d streams", err, opens)
		}
		ctx, cancel := context.WithCancel(t.Context())
		err = Follow(ctx, s.open, func(Event) (bool, error) { cancel(); return false, nil })
		if !errors.Is(err, exitcode.Interrupted) {
			t.Errorf("Ctrl-C ended with %v", err)
		}
	})
}

// endless is a line without an end.
type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	e.read += len(b)
	return len(b), nil
}

func (*endless) Close() error { return nil }

// TestFollowBoundsAnEvent checks that a line of some megabytes is read, and
// that one without an end is an error and is not retried.
func TestFollowBoundsAnEvent(t *testing.T) {
	big := strings.Repeat("x", 3<<20)
	var got []string
	s := &streams{bodies: []string{"event: end\ndata: " + big + "\n\n"}}
	if err := Follow(t.Context(), s.open, until("end", &got)); err != nil || len(got) != 1 || got[0] != "end="+big {
		t.Errorf("a big event ended with %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		opens, line := 0, &endless{}
		err := Follow(t.Context(), func(string) (*http.Response, error) {
			if opens++; opens > 1 {
				return nil, errors.New("asked for again")
			}
			r := answer(http.StatusOK, "")
			r.Body = line
			return r, nil
		}, until("end", &got))
		if opens != 1 || err == nil || !strings.Contains(err.Error(), "larger than") {
			t.Errorf("an endless line ended with %v after %d streams and %d MB", err, opens, line.read>>20)
		}
	})
}

// TestFollowBoundsManyLines checks that an event of too many lines is an error.
func TestFollowBoundsManyLines(t *testing.T) {
	line := "data: " + strings.Repeat("x", 1<<20) + "\n"
	readers := make([]io.Reader, 0, eventLimit>>20+2)
	for range cap(readers) {
		readers = append(readers, strings.NewReader(line))
	}
	last := ""
	if ended, err := readEvents(io.MultiReader(readers...), &last,
		func(Event) (bool, error) { return false, nil }); err == nil || !ended {
		t.Errorf("read %v, %v", ended, err)
	}
}

// TestReadEvents checks the event stream format of the HTML standard (9.2.6).
func TestReadEvents(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		want   []string
		last   string
	}{
		"no space":            {"event:log\nid:7\ndata:x\n\n", []string{"log=x"}, "7"},
		"one space is cut":    {"data:  x\n\n", []string{"= x"}, ""},
		"colons":              {"data: {\"a\":1}\n\n", []string{`={"a":1}`}, ""},
		"several lines":       {"data: a\ndata: b\n\n", []string{"=a\nb"}, ""},
		"CRLF":                {"event: log\r\nid: 7\r\ndata: x\r\n\r\n", []string{"log=x"}, "7"},
		"an id stays":         {"id: 7\ndata: x\n\ndata: y\n\n", []string{"=x", "=y"}, "7"},
		"a comment":           {": hello\n\ndata: x\n\n", []string{"=x"}, ""},
		"an unknown field":    {"retry: 5\ndata: x\n\n", []string{"=x"}, ""},
		"a name without data": {"event: log\n\ndata: x\n\n", []string{"=x"}, ""},
		"no end":              {"id: 7\ndata: x\n", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			last := ""
			if _, err := readEvents(strings.NewReader(c.stream), &last, until("never", &got)); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, c.want) || last != c.last {
				t.Errorf("events %q from %q, want %q from %q", got, last, c.want, c.last)
			}
		})
	}
}
