package audit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// plane is a fake control plane with this number of events. It records the requests.
type plane struct {
	events int64
	asked  []string
}

func (p *plane) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.asked = append(p.asked, r.URL.RawQuery)
	before, limit := p.events+1, 0
	_, _ = fmt.Sscan(r.URL.Query().Get("cursor"), &before) // the first page has no cursor
	_, _ = fmt.Sscan(r.URL.Query().Get("limit"), &limit)
	l := api.AuditEventList{Items: []api.AuditEvent{}}
	for id := before - 1; id > 0 && len(l.Items) < limit; id-- {
		l.Items = append(l.Items, api.AuditEvent{
			ID: id, At: time.Unix(id, 0), Actor: "alice", Action: "token.create", Subject: fmt.Sprint("tok_", id),
			Detail: json.RawMessage(`{"role":"viewer","name":"ci\u001b[31m","empty":"","none":null,"list":["a"]}`),
		})
		l.Next = fmt.Sprint(id)
	}
	if before-1 <= int64(limit) {
		l.Next = ""
	}
	_ = json.NewEncoder(w).Encode(l)
}

func (p *plane) run(t *testing.T, output string, args ...string) string {
	t.Helper()
	s := httptest.NewServer(p)
	defer s.Close()
	t.Setenv("NUON_CONFIG", t.TempDir()+"/none.toml")
	t.Setenv("NUON_URL", s.URL)
	t.Setenv("NUON_TOKEN", "tok")
	var out strings.Builder
	c := New(&cmdenv.Env{Console: &console.Console{Out: &out, Err: &out, Output: output}})
	c.SetArgs(args)
	if err := c.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestAudit checks that no more pages are requested than necessary.
func TestAudit(t *testing.T) {
	for name, test := range map[string]struct {
		events int64
		args   string
		want   int
		asked  int
	}{
		"the newest":       {events: 80, want: 50, asked: 1},
		"all there are":    {events: 7, want: 7, asked: 1},
		"over three pages": {events: 2000, args: "--limit 700", want: 700, asked: 3},
		"all of them":      {events: 130, args: "--limit 0", want: 130, asked: 2},
		"none":             {want: 0, asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := &plane{events: test.events}
			var events []api.AuditEvent
			if err := json.Unmarshal([]byte(p.run(t, "json", strings.Fields(test.args)...)), &events); err != nil ||
				events == nil {
				t.Fatal(err)
			}
			if len(events) != test.want || len(p.asked) != test.asked {
				t.Errorf("%d events of %q, want %d in %d pages", len(events), p.asked, test.want, test.asked)
			}
		})
	}
}

func TestAuditShowsWhatWasDone(t *testing.T) {
	p := &plane{events: 1}
	out := p.run(t, "table", "--actor", "alice", "--action", "token", "--subject", "tok_1")
	if !strings.Contains(out, "\talice\ttoken.create\ttok_1\tlist=[\"a\"] name=ci [31m role=viewer\n") {
		t.Errorf("printed %q", out)
	}
	if out := p.run(t, "name"); out != "1\n" {
		t.Errorf("by name it printed %q", out)
	}
	for _, want := range []string{"actor=alice", "action=token", "subject=tok_1"} {
		if !strings.Contains(p.asked[0], want) {
			t.Errorf("asked for %q", p.asked[0])
		}
	}
}
