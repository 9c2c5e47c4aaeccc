package appsync

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// cursorPlane is a fake control plane that supports cursors; step returns the names of the
// installs that changed before each poll.
type cursorPlane struct {
	all     []api.InstallSummary
	release int
	n       int
	cursors []string
	step    func(n int, m *cursorPlane) (changed []string)
}

func (m *cursorPlane) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	m.n++
	changed, since := m.step(m.n, m), r.URL.Query().Get("since")
	m.cursors = append(m.cursors, since)
	s := api.Sync{App: api.App{ID: "app_1", Name: "shop"}, Done: true, Mark: fmt.Sprint(m.n)}
	s.App.Release.Number = m.release
	for _, i := range m.all {
		if since == "" || slices.Contains(changed, i.Name) {
			s.Installs = append(s.Installs, i)
		}
	}
	w := httptest.NewRecorder()
	if err := json.NewEncoder(w).Encode(s); err != nil {
		return nil, err
	}
	answer := w.Result()
	answer.Request = r
	return answer, nil
}

func (m *cursorPlane) set(name string, status api.InstallSummaryStatus) []string {
	i := slices.IndexFunc(m.all, func(i api.InstallSummary) bool { return i.Name == name })
	m.all[i].Status = status
	return []string{name}
}

// TestFollowsWhatChanged checks that all installs are read first, again after a new
// release or a period without changes, and once more at the end.
func TestFollowsWhatChanged(t *testing.T) {
	for name, c := range map[string]struct {
		step    func(n int, m *cursorPlane) []string
		cursors string // the cursors of the polls, - for all installs
	}{
		"two changes": {func(n int, m *cursorPlane) []string {
			switch n {
			case 3:
				return m.set("b", "current")
			case 4:
				return m.set("a", "current")
			}
			return nil
		}, "- 1 2 3 -"},
		"another release": {func(n int, m *cursorPlane) []string {
			switch n {
			case 3:
				m.release++
			case 5:
				m.set("b", "current")
				return append(m.set("a", "current"), "b")
			}
			return nil
		}, "- 1 2 - 4 -"},
		"continues after the last read": {func(n int, m *cursorPlane) []string {
			switch n {
			case 2:
				m.set("a", "current")
				return append(m.set("b", "current"), "a")
			case 3:
				m.set("c", "deploying")
			case 4:
				return m.set("c", "current")
			}
			return nil
		}, "- 1 - 3 -"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &cursorPlane{step: c.step, release: 1}
				for _, n := range []string{"a", "b", "c"} {
					m.all = append(m.all,
						api.InstallSummary{ID: "ins_" + n, Name: n, Status: api.InstallSummaryStatusDeploying})
				}
				m.set("c", "current")
				got, err := waitForSync(t.Context(), quiet, m.client(t), state(true),
					options{wait: true, timeout: time.Hour})
				if err != nil || len(got.Installs) != 3 || !isSettled(got) {
					t.Fatalf("%v, %+v", err, got.Installs)
				}
				for n, mark := range m.cursors {
					m.cursors[n] = cmp.Or(mark, "-")
				}
				if cursors := strings.Join(m.cursors, " "); cursors != c.cursors {
					t.Errorf("polled with %q, want %q", m.cursors, c.cursors)
				}
			})
		})
	}
}

// TestDeletedInstallsAreNotWaitedFor checks that an install that no response contains
// any more is noticed at the next full read.
func TestDeletedInstallsAreNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &cursorPlane{step: func(n int, m *cursorPlane) []string {
			if n == 2 {
				m.all = m.all[:1]
			}
			return nil
		}}
		m.all = []api.InstallSummary{{ID: "ins_a", Name: "a", Status: api.InstallSummaryStatusCurrent},
			{ID: "ins_b", Name: "b", Status: api.InstallSummaryStatusDeploying}}
		start := time.Now()
		got, err := waitForSync(t.Context(), quiet, m.client(t), state(true), options{wait: true, timeout: time.Hour})
		if err != nil || len(got.Installs) != 1 || time.Since(start) > refreshAfter+2*pollInterval {
			t.Errorf("%v after %s: %+v", err, time.Since(start), got.Installs)
		}
	})
}

// TestManyInstallsTakeFewLines checks that with many installs, the progress shows
// those that are not current and counts the others.
func TestManyInstallsTakeFewLines(t *testing.T) {
	s := state(true)
	for n := range 1000 {
		status := api.InstallSummaryStatusCurrent
		if n%10 == 0 {
			status = api.InstallSummaryStatusDeploying
		}
		s.Installs = append(s.Installs, api.InstallSummary{Name: fmt.Sprintf("i%03d", n), Status: status})
	}
	got := lines(s, true)
	if last := got[len(got)-1].Text; len(got) != maxLines+1 || got[0].Text != "i000: deploying" ||
		got[1].Text != "i010: deploying" ||
		last != "and 980 more installs, 900 of 1000 are current" {
		t.Errorf("%d lines from %q to %q", len(got), got[0].Text, last)
	}
}

func (m *cursorPlane) client(t *testing.T) *apiclient.Client {
	t.Helper()
	c, err := apiclient.New(contexts.Context{URL: "http://plane"})
	if err != nil {
		t.Fatal(err)
	}
	c.Client.Client = m
	return c
}
