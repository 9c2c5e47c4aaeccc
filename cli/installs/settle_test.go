package installs

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// course is a fake control plane whose installs go through a list of statuses, one per
// request, and keep the last one. "away" fails the request; "blocked" is an install
// that waits for a person. It answers in process, so that a test can use a fake clock.
type course map[string][]string

func (c course) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	name := path.Base(r.URL.Path)
	now := c[name][0]
	if len(c[name]) > 1 {
		c[name] = c[name][1:]
	}
	if now == "away" {
		return nil, errors.New("connection refused")
	}
	w := httptest.NewRecorder()
	i := api.Install{ID: name, Name: name, App: "hello", Status: api.InstallStatus(now), Reason: "because"}
	if now == "blocked" {
		i.Status, i.Blocked = api.InstallStatusWaiting, true
	}
	_ = json.NewEncoder(w).Encode(i)
	answer := w.Result()
	answer.Request = r
	return answer, nil
}

func (c course) client(t *testing.T) *apiclient.Client {
	t.Helper()
	client, err := apiclient.New(contexts.Context{URL: "http://plane"})
	if err != nil {
		t.Fatal(err)
	}
	client.Client.Client = c
	return client
}

// TestSettle checks that settle waits until no install can progress without a person,
// also when the control plane is unreachable for a while, and that the exit code puts
// a failure before a rejection before a waiting approval.
func TestSettle(t *testing.T) {
	for name, c := range map[string]struct {
		course course
		code   int
	}{
		"at once": {course{"a": {"current"}}, 0},
		"after a while": {course{"a": {"behind", "deploying", "away", "away", "deploying", "current"},
			"b": {"current"}}, 0},
		"a person is needed":  {course{"a": {"deploying", "waiting_for_approval"}, "b": {"current"}}, exitcode.Waiting},
		"somebody said no":    {course{"a": {"rejected"}, "b": {"waiting_for_approval"}}, exitcode.Rejected},
		"something failed":    {course{"a": {"rejected"}, "b": {"new", "stalled"}}, exitcode.Failed},
		"it never was there":  {course{"a": {"away"}}, exitcode.Unreachable},
		"it waits for ever":   {course{"a": {"waiting"}}, exitcode.Failed},
		"an input is missing": {course{"a": {"deploying", "blocked", "current"}}, exitcode.Failed},
		"nothing is any more": {course{"a": {"deprovisioning", "deprovisioned"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ids []string
				for id := range c.course {
					ids = append(ids, id)
				}
				s := waitOptions{timeout: time.Hour}
				now, err := s.settle(t.Context(), &console.Console{Out: io.Discard, Err: io.Discard},
					c.course.client(t), ids)
				if err == nil {
					err = exitError(now)
				}
				if exitcode.CodeOf(err) != c.code {
					t.Errorf("ended with %v", err)
				}
			})
		})
	}
}

// TestSettleIsInterrupted checks that Ctrl-C stops the waiting at once.
func TestSettleIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		begun, s := time.Now(), waitOptions{timeout: time.Hour}
		var remarks strings.Builder
		_, err := s.settle(ctx, &console.Console{Out: io.Discard, Err: &remarks},
			course{"a": {"deploying"}}.client(t), []string{"a"})
		if !errors.Is(err, exitcode.Interrupted) || time.Since(begun) != time.Minute {
			t.Errorf("ended after %s with %v", time.Since(begun), err)
		}
		want := "stopped waiting: hello/a is deploying (because), and continues\n" +
			"  nuon workflows watch latest:hello/a    to wait again\n  nuon workflows cancel latest:hello/a   to cancel it\n"
		if d := cmp.Diff(want, remarks.String()); d != "" {
			t.Error(d)
		}
	})
}

// TestWaitWithoutAWorkflow checks a request that starts no workflow now, because the
// work starts later or is done already: --wait then waits for the install, and its
// status determines the exit code.
func TestWaitWithoutAWorkflow(t *testing.T) {
	for status, code := range map[string]int{"current": 0, "waiting_for_approval": exitcode.Waiting,
		"stalled": exitcode.Failed} {
		t.Run(status, func(t *testing.T) {
			p, e := start(t)
			p.installs[0].Status = api.InstallStatus(status)
			p.answer = api.Asked{Install: api.Install{ID: "ins_acme"},
				Outcome: "it starts once workflow 7, which only plans, has ended"}
			if err := execute(t, NewDeploy(e), "acme", "--wait"); exitcode.CodeOf(err) != code {
				t.Errorf("ended with %v, want code %d", err, code)
			}
		})
	}
}
