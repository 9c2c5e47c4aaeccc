package approvals

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// fleet returns plans of one component that are alike on several installs, one on
// wayne that differs, and one of another component.
func fleet(t *testing.T, action diff.Action) *plane {
	t.Helper()
	p := &plane{}
	add := func(install, component, group string, n int) {
		r := diff.Report{Kind: diff.KindTerraform, Applyable: true}
		for i := range n {
			address := fmt.Sprintf("terraform_data.thing[%d]", i)
			r.Changes = append(r.Changes, diff.Change{Address: address, Action: action, Risk: action.Risk(),
				ResourceKind: "terraform_data", Name: install})
		}
		r.Totals = r.Count()
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		totals, err := json.Marshal(r.Totals)
		if err != nil {
			t.Fatal(err)
		}
		id := len(p.approvals) + 1
		p.approvals = append(p.approvals, api.Approval{
			ID:            fmt.Sprintf("apr_%d", id),
			Plan:          fmt.Sprintf("pln_%d", id),
			App:           "hello",
			Install:       install,
			InstallID:     "ins_" + install,
			Component:     component,
			Group:         group,
			Destructive:   r.Destructive(),
			ContentDigest: fmt.Sprintf("sha256:%d", id),
			Status:        api.ApprovalStatusWaiting,
			Because:       "build 2 is new",
			Report:        raw,
			Totals:        totals,
		})
	}
	for _, install := range []string{"acme", "globex", "hooli"} {
		add(install, "web", "sha256:alike", 1)
	}
	add("wayne", "web", "sha256:odd", 2)
	add("acme", "db", "", 1)
	return p
}

// onTerminal makes the commands print on a terminal of this width, without a person
// who could answer.
func (p *plane) onTerminal(columns int) *plane {
	p.onto = console.Console{OutIsTerminal: true, Width: columns}
	return p
}

// typing adds a person who types this text on a terminal.
func (p *plane) typing(t *testing.T, text string) *plane {
	t.Helper()
	person, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = person.Close(), tty.Close() })
	if _, err := person.WriteString(text + "\n"); err != nil {
		t.Fatal(err)
	}
	p.onto = console.Console{In: tty, InIsTerminal: true, ErrIsTerminal: true, OutIsTerminal: true, Width: 100}
	return p
}

// ends runs a command, with a person who types something or without a terminal if
// types is empty. It checks the answers that were sent, the exit code and the error.
func (p *plane) ends(t *testing.T, types, line string, want []string, code int, says string) {
	t.Helper()
	if types != "" {
		p.typing(t, types)
	}
	_, _, err := p.run(t, "table", strings.Fields(line)...)
	if exitcode.CodeOf(err) != code || code != 0 && !strings.Contains(err.Error(), says) {
		t.Errorf("ended with %v, want code %d and %q", err, code, says)
	}
	if d := cmp.Diff(want, p.answers); d != "" {
		t.Errorf("answers (-want +got)\n%s", d)
	}
}

// TestAlike checks that one command answers the named plan and all waiting plans of its
// group, each by its own digest, after a person confirmed exactly that on a terminal.
func TestAlike(t *testing.T) {
	three := []string{"apr_1 approve sha256:1", "apr_2 approve sha256:2", "apr_3 approve sha256:3"}
	nos := []string{"apr_1 reject sha256:1 no", "apr_2 reject sha256:2 no", "apr_3 reject sha256:3 no"}
	refused := "this approves web on 3 installs of hello, which needs a terminal; without one, review it with " +
		"`nuon review --print`, then run: "
	for name, c := range map[string]struct {
		action diff.Action
		line   string
		types  string // "" is without a terminal
		want   []string
		code   int
		says   string
	}{
		"script": {diff.Update, "approve acme/web --alike", "", nil, exitcode.Usage, refused +
			"nuon approve apr_1 apr_2 apr_3"},
		"script, by an id": {diff.Update, "approve apr_2 --alike", "", nil, exitcode.Usage, refused +
			"nuon approve apr_2 apr_1 apr_3"},
		"script, by the ids": {diff.Update, "approve apr_1 apr_2 apr_3", "", three, 0, ""},
		"script, a no": {diff.Update, "reject acme/web --alike --reason no", "", nil, exitcode.Usage,
			`run: nuon reject --reason "no" apr_1 apr_2 apr_3`},
		"counted":           {diff.Update, "approve acme/web --alike", "3", three, 0, ""},
		"another one named": {diff.Update, "approve hooli/web --alike", "3", []string{three[2], three[0], three[1]}, 0, ""},
		"by its id":         {diff.Update, "approve apr_2 --alike", "3", []string{three[1], three[0], three[2]}, 0, ""},
		"a mere yes": {diff.Update, "approve acme/web --alike", "y", nil, exitcode.Rejected,
			"canceled: nothing was approved"},
		"of another number": {diff.Update, "approve acme/web --alike", "4", nil, exitcode.Rejected,
			"canceled: nothing was approved"},
		"the exception": {diff.Update, "approve wayne/web --alike", "y", []string{"apr_4 approve sha256:4"}, 0, ""},
		"of no group":   {diff.Update, "approve acme/db --alike", "y", []string{"apr_5 approve sha256:5"}, 0, ""},
		"grave, typed":  {diff.Replace, "approve acme/web --alike", "web 3", three, 0, ""},
		"grave, mistyped": {diff.Replace, "approve acme/web --alike", "web", nil, exitcode.Rejected,
			"canceled: nothing was approved"},
		"grave, a mere count": {diff.Destroy, "approve acme/web --alike", "3", nil, exitcode.Rejected,
			"canceled: nothing was approved"},
		"a no":            {diff.Destroy, "reject acme/web --alike --reason no", "y", nos, 0, ""},
		"a no, not meant": {diff.Destroy, "reject acme/web --alike --reason no", "n", nil, exitcode.Rejected, "canceled"},
		"with everything": {diff.Update, "approve --all --alike", "", nil, exitcode.Usage, "--alike needs one named plan"},
		"of two": {diff.Update, "approve acme/web acme/db --alike", "", nil, exitcode.Usage,
			"--alike needs one named plan"},
		"one digest for all": {diff.Update, "approve acme/web --alike --digest sha256:1", "", nil, exitcode.Usage,
			"--alike needs one named plan"},
		"nothing like it": {diff.Update, "approve zorg/web --alike", "", nil, exitcode.Failed,
			"no approvals waiting on zorg/web"},
	} {
		t.Run(name, func(t *testing.T) {
			fleet(t, c.action).ends(t, c.types, c.line, c.want, c.code, c.says)
		})
	}
}

// TestAlikeSaysWhatItAsks checks the output: the installs, what each plan changes, and the result.
func TestAlikeSaysWhatItAsks(t *testing.T) {
	out, remarks, err := fleet(t, diff.Destroy).typing(t, "web 3").run(t, "table", "approve", "acme/web", "--alike")
	if err != nil || out != "approved: web on 3 installs of hello\n" {
		t.Errorf("printed %q, %v", out, err)
	}
	want := "deploy web on 3 installs of hello\n  each 1 to destroy; highest risk: destroy\n  at acme, globex, hooli\n  " +
		"because build 2 is new\n" +
		"This cannot be undone. Type web 3 to approve: "
	if remarks != want {
		t.Errorf("remarked %q", remarks)
	}
	_, remarks, err = fleet(t, diff.Update).typing(t, "3").run(t, "table", "approve", "acme/web", "--alike")
	if err != nil || !strings.HasSuffix(remarks, "\nType 3 to approve 3 plans: ") {
		t.Errorf("remarked %q, %v", remarks, err)
	}
	p := fleet(t, diff.Update)
	p.deaf = true
	if _, _, err := p.typing(t, "3").run(t, "table", "approve", "acme/web", "--alike"); err != nil ||
		len(p.answers) != 3 {
		t.Errorf("of a list of everything it answered %q, %v", p.answers, err)
	}
	p = fleet(t, diff.Update)
	p.approvals[0].Status, p.approvals[0].Reason = api.ApprovalStatusRejected, "by ann"
	_, _, err = p.run(t, "table", "approve", "apr_1", "--alike")
	if exitcode.CodeOf(err) != exitcode.Failed || !strings.Contains(err.Error(),
		"web on hello/acme (apr_1) is no longer waiting: it is rejected: by ann") || p.answers != nil {
		t.Errorf("of one that was answered: %v, %q", err, p.answers)
	}
}

// TestSomeOfMany checks that one plan that cannot be answered does not prevent the
// other answers, is named, and determines the exit code, and that nothing more is sent
// once the control plane is unreachable.
func TestSomeOfMany(t *testing.T) {
	p := fleet(t, diff.Update)
	p.withdrawn = "apr_2"
	out, _, err := p.typing(t, "3").run(t, "table", "approve", "acme/web", "--alike")
	if exitcode.CodeOf(err) != exitcode.Failed ||
		!strings.Contains(err.Error(), "answered 2 of 3\napprove web on hello/globex: withdrawn") {
		t.Errorf("ended with %v", err)
	}
	if out != "approved: web on 2 installs of hello\n" {
		t.Errorf("printed %q", out)
	}
	p = fleet(t, diff.Update)
	p.down = "apr_2"
	out, _, err = p.typing(t, "3").run(t, "table", "approve", "acme/web", "--alike")
	if exitcode.CodeOf(err) != exitcode.Unreachable || !strings.Contains(err.Error(), "answered 1 of 3\n") ||
		!strings.Contains(err.Error(), "1 more answer was not sent") {
		t.Errorf("ended with %v", err)
	}
	if out != "approved: web on hello/acme\n" || len(p.answers) != 1 {
		t.Errorf("printed %q, answered %q", out, p.answers)
	}
	p = fourPlans(t)
	p.withdrawn = "apr_1"
	if _, _, err := p.typing(t, "3").run(t, "table", "approve", "--all"); exitcode.CodeOf(err) != exitcode.Failed ||
		len(p.answers) != 2 {
		t.Errorf("of all it ended with %v, answered %q", err, p.answers)
	}
}

// TestList checks that plans of a group are one row on a terminal, and one row each in
// a pipe, with --each and as data.
func TestList(t *testing.T) {
	out, remarks, err := fleet(t, diff.Update).onTerminal(120).run(t, "table", "approvals", "list")
	want := "" +
		"ID     PLAN        APP    INSTALL                 CHANGES  STATUS   ASSIGNEE  REASON\n" +
		"apr_1  deploy web  hello  3: acme, globex, hooli  ~1       waiting  -         build 2 is new\n" +
		"apr_4  deploy web  hello  wayne                   ~2       waiting  -         build 2 is new\n" +
		"apr_5  deploy db   hello  acme                    ~1       waiting  -         build 2 is new\n"
	if err != nil || out != want || remarks != "5 plans in 3 rows; list every plan with --each\n" {
		t.Errorf("printed\n%s%q, %v", out, remarks, err)
	}
	for _, line := range []string{"table approvals list --each", "json approvals list", "yaml approvals list",
		"name approvals list"} {
		words := strings.Fields(line)
		out, remarks, err := fleet(t, diff.Update).onTerminal(120).run(t, words[0], words[1:]...)
		if n := strings.Count(out, "apr_"); err != nil || n != 5 || remarks != "" {
			t.Errorf("%s: %d of 5, %q, %v", line, n, remarks, err)
		}
	}
	p := fleet(t, diff.Update)
	out, _, err = p.run(t, "table", "approvals", "list", "--group", "sha256:alike", "--install", "globex")
	if err != nil || out != "apr_2\tdeploy web\thello\tglobex\t~1\twaiting\t-\tbuild 2 is new\n" {
		t.Errorf("printed %q, %v", out, err)
	}
	if p.read > 0 {
		t.Errorf("%d plans were read by themselves", p.read)
	}
	p.approvals[0].Status, p.approvals[0].Response = api.ApprovalStatusRejected, api.GivenResponse{Actor: "ann",
		Reason: "not\x1b[2J today"}
	if out, _, err = p.run(t, "table", "approvals", "list", "--limit", "1"); err != nil ||
		out != "apr_1\tdeploy web\thello\tacme\t~1\trejected\t-\tby ann: not [2J today\n" {
		t.Errorf("printed %q, %v", out, err)
	}
	if _, _, err = p.run(t, "table", "approvals", "list", "--status", "odd"); exitcode.CodeOf(err) != exitcode.Usage {
		t.Errorf("ended with %v", err)
	}
}

// TestReviewOfAlike checks that on a terminal, plans of a group are fetched and
// printed once, with placeholders, and that --each prints all of them.
func TestReviewOfAlike(t *testing.T) {
	p := fleet(t, diff.Update).onTerminal(100)
	for i := range p.approvals {
		p.approvals[i].Report = json.RawMessage(strings.ReplaceAll(string(p.approvals[i].Report), "thing[0]",
			`thing[\"`+p.approvals[i].Install+`\"]`))
	}
	p.bare = true
	out, _, err := p.run(t, "table", "review", "--print")
	if err != nil || p.read != 3 {
		t.Errorf("%d plans were read, %v", p.read, err)
	}
	for _, want := range []string{
		"deploy web on 3 installs of hello   (apr_1 and 2 more)\nat acme, globex, hooli\n",
		`terraform_data.thing["‹own name›"]`, "nuon approve apr_1 --alike\nnuon reject apr_1 --alike --reason",
		"\n\ndeploy web on hello/wayne   (apr_4)\n", `terraform_data.thing["wayne"]`, "nuon approve apr_4\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("shows\n%s\nwant %q", out, want)
		}
	}
	for _, onto := range []string{"review --each", "review --each --print"} {
		if out, _, err = p.run(t, "table", strings.Fields(onto)...); err != nil ||
			strings.Count(out, "nuon approve") != 5 || strings.Contains(out, "‹") {
			t.Errorf("%s shows\n%s%v", onto, out, err)
		}
	}
	p.onto = console.Console{}
	if out, _, err = p.run(t, "table", "review"); err != nil || strings.Count(out, "nuon approve") != 5 {
		t.Errorf("in a pipe it shows\n%s%v", out, err)
	}
}
