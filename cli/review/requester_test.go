package review

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// requesterAt returns a requester for a test server.
func requesterAt(t *testing.T, handler http.Handler, wanted func(api.Approval) bool) *requester {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	client, err := apiclient.New(contexts.Context{URL: s.URL, Token: "tok"})
	if err != nil {
		t.Fatal(err)
	}
	d := newRequester(t.Context(), client, wanted)
	t.Cleanup(d.Close)
	return d
}

func all(api.Approval) bool { return true }

// TestDeskLists checks that list reads every page and applies the filter, and
// that it lists work in progress when nothing waits.
func TestDeskLists(t *testing.T) {
	p := &plane{approvals: several()}
	l, _ := requesterAt(t, p, all).list(scope{})().(listed)
	if l.err != nil || len(l.waiting) != 3 || !l.large || l.totals["apr_2"].Destroy != 1 {
		t.Errorf("heard %+v", l)
	}
	globex := func(a api.Approval) bool { return a.Install == "globex" }
	if l, _ = requesterAt(t, p, globex).list(scope{})().(listed); len(l.waiting) != 1 || l.waiting[0].ID != "apr_3" {
		t.Errorf("heard %+v", l.waiting)
	}
	if l, _ = requesterAt(t, p, all).list(scope{install: "ins_helloglobex"})().(listed); len(l.waiting) != 1 || l.large {
		t.Errorf("heard %+v", l)
	}
	p = &plane{approvals: alike()}
	if l, _ = requesterAt(t, p, all).list(scope{group: "sha256:alike"})().(listed); len(l.waiting) != 5 ||
		l.where.group != "sha256:alike" {
		t.Errorf("heard %+v", l)
	}
	p = &plane{}
	if l, _ = requesterAt(t, p, all).list(scope{})().(listed); !cmp.Equal(l.busy, []string{"hello/acme: working on web"}) {
		t.Errorf("heard %+v", l)
	}
	if l, _ = requesterAt(t, p, globex).list(scope{})().(listed); len(l.busy) > 0 {
		t.Errorf("of another install it heard %+v", l.busy)
	}
}

// TestDeskOpens checks that open returns the laid-out report without the raw
// one, and what is wrong with an invalid report.
func TestDeskOpens(t *testing.T) {
	p := &plane{approvals: several()}
	p.approvals[0].Report = []byte(`{"kind":"terraform","totals":{"destroy":3},"applyable":true}`)
	d := requesterAt(t, p, all)
	if o, _ := d.open("apr_2", false)().(opened); o.err != nil || o.flaw != nil || o.page.Changes() != 3 ||
		o.approval.Report != nil {
		t.Errorf("opened %+v", o)
	}
	p.approvals[2].Report = alike()[2].Report
	p.approvals[2].Install = "hooli"
	o, _ := d.open("apr_3", true)().(opened)
	if o.err != nil || o.report.Changes[0].Fields[1].After.Text != "the page of ‹own name›" {
		t.Errorf("opened for all %+v", o)
	}
	if o, _ = d.open("apr_3", false)().(opened); o.report.Changes[0].Fields[1].After.Text != "the page of hooli" {
		t.Errorf("opened %+v", o)
	}
	if o, _ := d.open("apr_1", false)().(opened); o.flaw == nil || o.page != nil {
		t.Errorf("opened %+v", o)
	}
	if o, _ := d.open("apr_9", false)().(opened); !apiclient.CodeIs(o.err, "not_found") {
		t.Errorf("opened %+v", o)
	}
}

// TestDeskCloses checks that close cancels running commands, waits for them,
// and starts no new ones.
func TestDeskCloses(t *testing.T) {
	asked := make(chan struct{})
	d := requesterAt(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}), all)
	ended := make(chan any, 2)
	go func() { ended <- d.list(scope{})() }()
	go func() { ended <- d.After(time.Hour, beat{})() }()
	<-asked
	d.Close()
	for range 2 {
		if msg := <-ended; msg != nil {
			t.Errorf("told %v", msg)
		}
	}
	if msg := d.After(0, beat{})(); msg != nil {
		t.Errorf("told %v when it was closed", msg)
	}
}

// TestSlow checks that a timeout has its own message and the exit code Unreachable.
func TestSlow(t *testing.T) {
	d := requesterAt(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), all)
	d.patience = time.Millisecond
	l, _ := d.list(scope{})().(listed)
	if exitcode.CodeOf(l.err) != exitcode.Unreachable || l.err.Error() != "no response from the control plane in time" {
		t.Errorf("heard %v", l.err)
	}
}

// TestOneLookAtATime checks that only the poll that was scheduled last is made, that
// two polls never run at once, and that only a part of a large queue is polled.
func TestOneLookAtATime(t *testing.T) {
	s := newStage(plainTheme, 100, 30, several()...)
	lists := func() (n int, last string) {
		for _, a := range s.notes.asked {
			if len(a) > 4 && a[:5] == "list " {
				n, last = n+1, a
			}
		}
		return n, last
	}
	s.send(due{turn: s.turn - 1})
	s.send(due{turn: s.turn})
	s.send(due{turn: s.turn})
	if n, last := lists(); n != 1 || last != "list " {
		t.Errorf("%d looks, the last %q", n, last)
	}
	l := listOf(several())
	l.large = true
	s.send(l)
	s.send(due{turn: s.turn})
	if n, last := lists(); n != 2 || last != "list ins_helloacme" {
		t.Errorf("%d looks, the last %q", n, last)
	}
	part := listOf(several()[:2])
	part.where.install = "ins_helloacme"
	s.send(part)
	s.pass(fullEvery)
	s.send(due{turn: s.turn})
	if n, last := lists(); n != 3 || last != "list " {
		t.Errorf("%d looks, the last %q", n, last)
	}
}
