package approvals

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// assign implements PUT /v1/approvals/{id}/assignee for vera.
func (p *plane) assign(w http.ResponseWriter, r *http.Request) {
	a := p.find(w, r.PathValue("id"))
	var to api.Assignment
	if a == nil || json.NewDecoder(r.Body).Decode(&to) != nil {
		return
	}
	if to.Expected != nil && *to.Expected != a.Assignee {
		problem(w, http.StatusConflict, "assignee_changed", "it is assigned to "+a.Assignee+" now")
		return
	}
	if a.Assignee = to.Assignee; to.Assignee == "me" {
		a.Assignee, a.Yours = "vera", true
	}
	_ = json.NewEncoder(w).Encode(a)
}

// TestAssign assigns to the caller, to others and to nobody, and filters by assignee.
func TestAssign(t *testing.T) {
	p := fleet(t, diff.Update)
	for _, c := range []struct{ line, want string }{
		{"approvals assign acme/web", "assigned to vera: web on hello/acme\n"},
		{"approvals assign globex --to bob", "assigned to bob: web on hello/globex\n"},
		{"approvals assign apr_3 --to bob --instead-of none", "assigned to bob: web on hello/hooli\n"},
		{"approvals assign apr_3 --to none", "assigned to nobody: web on hello/hooli\n"},
	} {
		if out, _, err := p.run(t, "table", strings.Fields(c.line)...); err != nil || out != c.want {
			t.Errorf("%s: printed %q, %v", c.line, out, err)
		}
	}
	out, _, err := p.run(t, "table", "approvals", "list")
	if err != nil || strings.Count(out, "\tvera\t") != 1 || strings.Count(out, "\tbob\t") != 1 {
		t.Errorf("printed %q, %v", out, err)
	}
	for who, want := range map[string]int{"me": 1, "bob": 1, "none": 3} {
		if out, _, err := p.run(t, "name", "review", "--assignee", who); err != nil || strings.Count(out, "apr_") != want {
			t.Errorf("%s: printed %q, %v", who, out, err)
		}
	}
	_, _, err = p.run(t, "table", "approvals", "assign", "globex/web", "--instead-of", "none")
	if exitcode.CodeOf(err) != exitcode.Failed || !strings.Contains(err.Error(), "it is assigned to bob now") {
		t.Errorf("taken from bob: %v", err)
	}
}

// TestRules prints what the policies decided and why, and says that a denied plan cannot be approved.
func TestRules(t *testing.T) {
	p := fleet(t, diff.Update)
	var r diff.Report
	if err := json.Unmarshal(p.approvals[4].Report, &r); err != nil {
		t.Fatal(err)
	}
	r.SetPolicies([]diff.PolicyResult{diff.NewPolicyResult("no-public", []diff.PolicyMessage{
		{Status: diff.PolicyDeny, Text: "open to everyone\x1b[2J"}})})
	p.approvals[4].Report, _ = json.Marshal(&r)
	out, _, err := p.run(t, "table", "review", "--rules", p.approvals[4].ID)
	for _, want := range []string{"1 policy denies", "Policies (1):", "no-public  denies: open to everyone", "approval\n",
		"policies\n"} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("no %q in %q, %v", want, out, err)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Errorf("a policy writes control sequences: %q", out)
	}
}
