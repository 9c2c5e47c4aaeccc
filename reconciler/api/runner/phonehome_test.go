package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

const stackID = "arn:aws:cloudformation:eu-central-1:" + customer + ":stack/acme/0a1b2c3d-0000-0000-0000-000000000001"

// function is the session of the function in the install's stack.
func (c clouded) function(i claimed) cloudtest.Session {
	return c.session(customer, installstack.PhoneHomeRoleName(i.install), "phone-home")
}

// texts returns outputs as JSON.
func texts(values map[string]any) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for name, value := range values {
		all[name], _ = json.Marshal(value) // texts and maps of texts
	}
	return all
}

var requests int

// report returns a report of a function.
func (c clouded) report(t *testing.T, i claimed, s cloudtest.Session) api.PhoneHomeReport {
	t.Helper()
	var challenge api.ClaimChallenge
	c.ok(t, "POST", "/runner/v1/claim/challenge", i.claim, api.ClaimChallengeRequest{}, &challenge)
	requests++
	return api.PhoneHomeReport{Nonce: challenge.Nonce, Identity: c.prove(t, s, challenge.Nonce), Kind: "create",
		RequestID: "request-" + strings.Repeat("0", 8) + string(rune('a'+requests%26)) + challenge.Nonce[:8],
		StackID:   stackID, StackVersion: "1",
		Outputs: texts(map[string]any{"account_id": customer, "region": "eu-central-1", "vpc_id": "vpc-1"})}
}

func (c clouded) phoneHome(t *testing.T, i claimed, r api.PhoneHomeReport) answer {
	t.Helper()
	return c.call(t, "POST", "/runner/v1/claim/phone-home", i.claim, r)
}

// outputs returns the outputs of an install as JSON, and the version of its stack.
func (c clouded) outputs(t *testing.T, i claimed) string {
	t.Helper()
	return c.Text(t, "select coalesce((select stack_version || ' ' || outputs::text from stack_outputs "+
		"where install_id = $1 order by version desc limit 1), '')", i.install)
}

// event is what CloudFormation sends to the function.
func event(kind, request string, outputs map[string]any) map[string]any {
	return map[string]any{"RequestType": kind, "RequestId": request, "StackId": stackID,
		"LogicalResourceId": "PhoneHomeReport", "ResourceType": "AWS::CloudFormation::CustomResource",
		"ResourceProperties": map[string]any{"ServiceToken": "arn", "StackVersion": "3", "Outputs": outputs}}
}

// runFunction runs the code of the template's function, as AWS runs it, and returns what it answers to
// CloudFormation. Its pauses are left out.
func runFunction(t *testing.T, environ []string, event map[string]any) map[string]string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3 on PATH")
	}
	var answers []string
	cloudFormation := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a short one is no JSON
		if r.Method == http.MethodPut && r.Header.Get("Content-Type") == "" {
			answers = append(answers, string(body))
		}
	}))
	defer cloudFormation.Close()
	event["ResponseURL"] = cloudFormation.URL + "/answer?X-Amz-Signature=1"
	raw, err := json.Marshal(event)
	must(t, err)
	dir := t.TempDir()
	code, err := os.ReadFile("../../installstack/cloudformation/phonehome.py")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "index.py"), code, 0o600))
	command := exec.CommandContext(t.Context(), python, "-c",
		"import index, json, sys\nindex.time.sleep = lambda pause: None\nindex.handler(json.load(sys.stdin), None)")
	command.Dir, command.Stdin = dir, bytes.NewReader(raw)
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "AWS_REGION=eu-central-1"}, environ...)
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if len(answers) != 1 {
		t.Fatalf("CloudFormation is answered %q", answers)
	}
	var answer map[string]any
	must(t, json.Unmarshal([]byte(answers[0]), &answer))
	if answer["RequestId"] != event["RequestId"] || answer["StackId"] != stackID ||
		answer["LogicalResourceId"] != "PhoneHomeReport" || answer["PhysicalResourceId"] == "" || len(answers[0]) > 4096 {
		t.Errorf("CloudFormation is answered %s", answers[0])
	}
	return map[string]string{"Status": answer["Status"].(string), "Reason": answer["Reason"].(string)}
}

// TestPhoneHomeFunction runs the function of the template against the control plane: for a stack that
// is created, updated and deleted, with retries of the cloud, and from a wrong account.
func TestPhoneHomeFunction(t *testing.T) {
	c := serveCloud(t)
	i := c.claimed(t, ofCustomer)
	environ := func(s cloudtest.Session) []string {
		return append(s.Environ(), "NUON_URL="+c.url, "NUON_CLAIM="+i.claim)
	}
	run := func(want, kind, request string, outputs map[string]any) string {
		t.Helper()
		answer := runFunction(t, environ(c.function(i)), event(kind, request, outputs))
		if answer["Status"] != want {
			t.Errorf("%s: %v", kind, answer)
		}
		return answer["Reason"]
	}
	outputs := map[string]any{"account_id": customer, "vpc_id": "vpc-1", "public_subnets": "subnet-1,subnet-2",
		"provision_iam_role_arn": "", "install_inputs": map[string]any{"motto": "it's\n\"fine\" €"}}
	const first = `3 {"vpc_id": {"value": "vpc-1", "source": "phone_home"}, "account_id": {"value": "` + customer +
		`", "source": "phone_home"}, "install_inputs": {"value": {"motto": "it's\n\"fine\" €"}, "source": "phone_home"}, ` +
		`"public_subnets": {"value": ["subnet-1", "subnet-2"], "source": "phone_home"}}`
	for range 2 { // the cloud repeats a request
		run("SUCCESS", "Create", "11111111-0000-0000-0000-000000000001", outputs)
		if got := c.outputs(t, i); got != first {
			t.Fatalf("outputs\n%s\nwant\n%s", got, first)
		}
	}
	if n := c.Text(t, "select count(*)::text from stack_outputs"); n != "1" {
		t.Errorf("a repeated request makes %s versions", n)
	}
	outputs["vpc_id"] = "vpc-2"
	run("SUCCESS", "Update", "11111111-0000-0000-0000-000000000002", outputs)
	if got := c.outputs(t, i); !strings.Contains(got, "vpc-2") {
		t.Errorf("after the update %s", got)
	}
	outputs["vpc_idd"] = "vpc-3"
	reason := run("FAILED", "Update", "11111111-0000-0000-0000-000000000003", outputs)
	if !strings.Contains(reason, "vpc_id") {
		t.Errorf("an unknown output: %s", reason)
	}
	run("SUCCESS", "Delete", "11111111-0000-0000-0000-000000000004", outputs)
	if got := c.outputs(t, i); !strings.HasPrefix(got, "deleted {") || !strings.Contains(got, "vpc-2") {
		t.Errorf("after the deletion %s", got)
	}

	foreign := c.session("999999999999", installstack.PhoneHomeRoleName(i.install), "phone-home")
	answer := runFunction(t, environ(foreign), event("Create", "11111111-0000-0000-0000-000000000005", outputs))
	if answer["Status"] != "FAILED" || !strings.Contains(answer["Reason"], "foreign_identity") {
		t.Errorf("from another account: %v", answer)
	}
	away := append(c.function(i).Environ(), "NUON_URL=http://127.0.0.1:1", "NUON_CLAIM="+i.claim)
	for kind, want := range map[string]string{"Create": "FAILED", "Delete": "SUCCESS"} {
		answer := runFunction(t, away, event(kind, "11111111-0000-0000-0000-000000000006", outputs))
		if answer["Status"] != want {
			t.Errorf("%s without a control plane: %v", kind, answer)
		}
	}
}

// TestPhoneHomeAttacks checks that no wrong report changes anything: neither the outputs, nor the
// account, nor who may register.
func TestPhoneHomeAttacks(t *testing.T) {
	c := serveCloud(t)
	i, other := c.claimed(t, ofCustomer), c.claimed(t, ofCustomer)
	if a := c.phoneHome(t, i, c.report(t, i, c.function(i))); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	first := c.report(t, i, c.function(i))
	first.Kind = "update"
	if a := c.phoneHome(t, i, first); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	const state = "select (select coalesce(string_agg(x::text, '|' order by version), '') from stack_outputs x) || " +
		"(select string_agg(account::text || confirmed_account::text || runner_id, '|' order by id) from installs) || " +
		"(select string_agg(coalesce(key_hash::text, '') || held, '|' order by id) from runners)"
	before := c.Text(t, state)
	count := map[string]int{}
	attack := func(kind string, s cloudtest.Session, change func(*api.PhoneHomeReport)) {
		t.Helper()
		count[kind]++
		r := c.report(t, i, s)
		change(&r)
		if a := c.phoneHome(t, i, r); a.status < 400 || a.status >= 500 {
			t.Errorf("%s: %d %s", kind, a.status, a.body)
		}
	}
	same := func(*api.PhoneHomeReport) {}
	role := installstack.PhoneHomeRoleName(i.install)
	for _, account := range []string{"999999999999", "000000000000", "123456789013"} {
		attack("another account", c.session(account, role, "phone-home"), same)
	}
	for _, name := range []string{"admin", installstack.RunnerRoleName(i.install), role + "x",
		installstack.PhoneHomeRoleName(other.install)} {
		attack("another role", c.session(customer, name, "phone-home"), same)
	}
	attack("replayed", c.function(i), func(r *api.PhoneHomeReport) { r.Nonce, r.Identity = first.Nonce, first.Identity })
	attack("another nonce", c.function(i), func(r *api.PhoneHomeReport) { r.Nonce = "guess" })
	attack("the nonce of another install", c.function(i), func(r *api.PhoneHomeReport) {
		*r = c.report(t, other, c.function(other))
	})
	attack("no proof", c.function(i), func(r *api.PhoneHomeReport) { r.Identity = api.CloudIdentity{} })
	attack("a reused request", c.function(i), func(r *api.PhoneHomeReport) { r.RequestID = first.RequestID })
	attack("another kind", c.function(i), func(r *api.PhoneHomeReport) { r.RequestID, r.Kind = first.RequestID, "delete" })
	for _, bad := range []string{"", "x", strings.Repeat("x", 65), "request'; drop table installs", "request\n00000000"} {
		attack("a bad request id", c.function(i), func(r *api.PhoneHomeReport) { r.RequestID = bad })
	}
	for _, bad := range []string{"", "Create", "CREATE", "confirm"} {
		attack("a bad kind", c.function(i), func(r *api.PhoneHomeReport) { r.Kind = bad })
	}
	for _, bad := range []string{"", "acme", strings.Replace(stackID, customer, "999999999999", 1), stackID + "\n",
		strings.Replace(stackID, "acme", "a'c", 1), strings.Replace(stackID, ":stack/", ":role/", 1)} {
		attack("a bad stack", c.function(i), func(r *api.PhoneHomeReport) { r.StackID = bad })
	}
	attack("a second stack", c.function(i), func(r *api.PhoneHomeReport) {
		r.StackID = strings.Replace(stackID, "000000000001", "000000000002", 1)
	})
	attack("the deletion of another stack", c.function(i), func(r *api.PhoneHomeReport) {
		r.Kind, r.Outputs, r.StackID = "delete", nil, strings.Replace(stackID, "000000000001", "000000000002", 1)
	})
	for _, bad := range []string{"", "0", "-1", "1.5", "one", "1'", strings.Repeat("9", 30)} {
		attack("a bad version", c.function(i), func(r *api.PhoneHomeReport) { r.StackVersion = bad })
	}
	deep := strings.Repeat("[", 30) + strings.Repeat("]", 30)
	for kind, outputs := range map[string]map[string]any{
		"a list where a text belongs":   {"vpc_id": []string{"vpc-1"}},
		"a map where a text belongs":    {"vpc_id": map[string]any{"id": "vpc-1"}},
		"a text where a map belongs":    {"install_inputs": "x"},
		"a number where a text belongs": {"region": 1},
		"null":                          {"vpc_id": nil},
		"an unknown key":                {"admin_role_arn": "arn:aws:iam::" + customer + ":role/admin"},
		"a key with an apostrophe":      {"vpc_id'": "x"},
		"a key with a newline":          {"vpc\nid": "x"},
		"a secret":                      {"vpc_id": "ghp_16C7e42F292c6912E7710c838347Ae178B4a"},
		"a deep value":                  {"install_inputs": map[string]any{"a": json.RawMessage(deep)}},
		"a value of 70 KiB":             {"vpc_id": strings.Repeat("x", 70<<10)},
		"1 MiB":                         {"vpc_id": strings.Repeat("x", 1<<20)},
		"many keys":                     many(),
		"a zero byte":                   {"vpc_id": "vpc\x00"},
	} {
		attack(kind, c.function(i), func(r *api.PhoneHomeReport) { r.Outputs = texts(outputs) })
	}
	attack("outputs of a deletion", c.function(i), func(r *api.PhoneHomeReport) { r.Kind = "delete" })
	for _, body := range []string{"", "null", "[]", `"x"`, "{", strings.Repeat("[", 100_000), `{"outputs":[]}`,
		`{"outputs":{"vpc_id":`} {
		count["no report"]++
		if a := c.call(t, "POST", "/runner/v1/claim/phone-home", i.claim, body); a.status < 400 || a.status >= 500 {
			t.Errorf("%q: %d %s", body[:min(len(body), 20)], a.status, a.body)
		}
	}
	for name, claim := range map[string]string{"none": "", "forged": i.claim[:len(i.claim)-2] + "AA",
		"of another install in its name": strings.Replace(other.claim, other.install, i.install, 1),
		"of another install":             other.claim} {
		count["another claim"]++
		a := c.call(t, "POST", "/runner/v1/claim/phone-home", claim, c.report(t, i, c.function(i)))
		if a.status != 401 && a.code(t) != "nonce_refused" {
			t.Errorf("the claim %s: %d %s", name, a.status, a.body)
		}
	}
	c.cloud.MoveClock(10 * 60e9)
	attack("a clock that is 10 minutes off", c.function(i), same)
	c.cloud.MoveClock(-10 * 60e9)
	expired := c.cloud.AWS.NewSession(cloudtest.Role{Account: customer, Name: role}, "phone-home", -60e9)
	attack("a session that has expired", expired, same)
	if after := c.Text(t, state); after != before {
		t.Errorf("an attack changed\n%s\nto\n%s", before, after)
	}
	total := 0
	for _, n := range count {
		total += n
	}
	if len(count) < 20 {
		t.Errorf("only %v", slices.Sorted(maps.Keys(count)))
	}
	t.Logf("%d reports of %d kinds", total, len(count))
}

// many returns more outputs than are stored.
func many() map[string]any {
	all := map[string]any{}
	for n := range 300 {
		all["output_"+strings.Repeat("x", n%100)+string(rune('a'+n%26))] = "x"
	}
	return all
}

// TestPhoneHomeKeepsWhatAPersonSet checks that a report overwrites no value that a person set, and says so.
func TestPhoneHomeKeepsWhatAPersonSet(t *testing.T) {
	c := serveCloud(t)
	i := c.claimed(t, ofCustomer)
	c.Exec(t, `insert into stack_outputs (org_id, install_id, version, source, outputs, changed, actor) `+
		`values ($1, $2, 1, 'manual', '{"vpc_id": {"value": "vpc-hand", "source": "manual"}}', '{vpc_id}', 'ada')`,
		c.Org.ID, i.install)
	a := c.phoneHome(t, i, c.report(t, i, c.function(i)))
	var answer api.PhoneHomeAnswer
	must(t, json.Unmarshal(a.body, &answer))
	if a.status != 200 || !slices.Equal(answer.Kept, []string{"vpc_id"}) || !strings.Contains(answer.Message, "vpc_id") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if got := c.outputs(t, i); !strings.Contains(got, `{"value": "vpc-hand", "source": "manual", "reported": "vpc-1"}`) {
		t.Errorf("outputs %s", got)
	}
}

// TestPhoneHomeWaits checks that the report of an account that nobody confirmed counts when a person
// confirms it.
func TestPhoneHomeWaits(t *testing.T) {
	c := serveCloud(t)
	i := c.claimed(t, `{"aws_account":{"region":"eu-central-1"}}`)
	report := c.report(t, i, c.function(i))
	a := c.phoneHome(t, i, report)
	if a.status != 200 || !strings.Contains(string(a.body), `"status":"waiting"`) || c.outputs(t, i) != "" {
		t.Fatalf("%d %s, outputs %s", a.status, a.body, c.outputs(t, i))
	}
	c.confirm(t, i, c.waiting(t, i)[0].ID)
	if got := c.outputs(t, i); !strings.HasPrefix(got, "1 {") || !strings.Contains(got, "vpc-1") {
		t.Errorf("outputs %s", got)
	}
	if a := c.register(t, i, c.registrationOf(t, i, c.machine(i))); a.status != 200 {
		t.Errorf("the machine of the confirmed account: %d %s", a.status, a.body)
	}
}

// TestRunnerReportsItsStack checks that a runner that registered by its identity reports the stack of
// its only install, and that no other runner reports anything.
func TestRunnerReportsItsStack(t *testing.T) {
	c := serveCloud(t)
	i := c.claimed(t, ofCustomer)
	a := c.register(t, i, c.registrationOf(t, i, c.machine(i)))
	var registered api.Registered
	must(t, json.Unmarshal(a.body, &registered))
	other, token := c.Runner(t, runners.KindInstall), c.Runner(t, runners.KindInstall)
	foreign := c.InstallOf(t, c.Component(t, token))
	report := api.StackReport{Install: i.install, StackVersion: "2",
		Outputs: texts(map[string]any{"vpc_id": "vpc-1", "region": "eu-central-1"})}
	send := func(key string, change func(*api.StackReport)) answer {
		t.Helper()
		r := report
		change(&r)
		return c.call(t, "POST", "/runner/v1/stack-outputs", key, r)
	}
	same := func(*api.StackReport) {}
	for range 2 {
		if a := send(registered.RunnerKey, same); a.status != 200 || !strings.HasPrefix(c.outputs(t, i), "2 {") {
			t.Fatalf("%d %s, outputs %s", a.status, a.body, c.outputs(t, i))
		}
	}
	before, strange := c.outputs(t, i), texts(map[string]any{"x": 1})
	for name, a := range map[string]answer{
		"another runner":       send(other.Key, same),
		"a runner by token":    send(token.Key, func(r *api.StackReport) { r.Install = foreign }),
		"another install":      send(registered.RunnerKey, func(r *api.StackReport) { r.Install = foreign }),
		"no install":           send(registered.RunnerKey, func(r *api.StackReport) { r.Install = "" }),
		"no version":           send(registered.RunnerKey, func(r *api.StackReport) { r.StackVersion = "" }),
		"an unknown output":    send(registered.RunnerKey, func(r *api.StackReport) { r.Outputs = strange }),
		"the claim of a stack": send(i.claim, same),
	} {
		if a.status < 400 || a.status >= 500 {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if after := c.outputs(t, i); after != before || c.Text(t, "select count(*)::text from stack_outputs") != "1" {
		t.Errorf("outputs\n%s\nafter\n%s", after, before)
	}
}

// TestReportsOfAStackAreBounded checks that a runner whose reports alternate, and the function of the stack, make
// few versions and audit events an hour, that the deletion of the stack counts all the same, and that only the newest
// versions of the stack stay.
func TestReportsOfAStackAreBounded(t *testing.T) {
	c := serveCloud(t)
	i := c.claimed(t, ofCustomer)
	a := c.register(t, i, c.registrationOf(t, i, c.machine(i)))
	var registered api.Registered
	must(t, json.Unmarshal(a.body, &registered))
	send := func(n int) answer {
		t.Helper()
		return c.call(t, "POST", "/runner/v1/stack-outputs", registered.RunnerKey, api.StackReport{Install: i.install,
			StackVersion: "2", Outputs: texts(map[string]any{"vpc_id": "vpc-" + strconv.Itoa(n%2)})})
	}
	function := func(kind string) answer {
		t.Helper()
		r := c.report(t, i, c.function(i))
		if r.Kind = kind; kind == "delete" {
			r.Outputs = nil
		}
		return c.phoneHome(t, i, r)
	}
	tooOften := func(what string, a answer) {
		t.Helper()
		if seconds, err := strconv.Atoi(a.header.Get("Retry-After")); a.status != 429 || a.code(t) != "too_many_reports" ||
			err != nil || seconds < 1 || seconds > 3600 {
			t.Errorf("%s: %d %s %v", what, a.status, a.body, a.header)
		}
	}
	const count = "select (select count(*) from stack_outputs where source = 'phone_home') || ' versions, ' || " +
		"(select count(*) from audit_events where action = 'install.phone_home') || ' events'"
	stored := func(want string) {
		t.Helper()
		if got := c.Text(t, count); got != want {
			t.Errorf("stored %s, want %s", got, want)
		}
	}
	for n := range 20 {
		if a := send(n); a.status != 200 {
			t.Fatalf("report %d: %d %s", n, a.status, a.body)
		}
	}
	tooOften("the 21st change", send(20))
	if a := send(19); a.status != 200 {
		t.Errorf("the last report again: %d %s", a.status, a.body)
	}
	tooOften("an update of the stack", function("update"))
	stored("20 versions, 20 events")
	if a := function("delete"); a.status != 200 {
		t.Errorf("the deletion of the stack: %d %s", a.status, a.body)
	}
	tooOften("its deletion again", function("delete"))
	stored("21 versions, 21 events")

	c.Exec(t, "update phone_homes set created_at = created_at - interval '1 hour'")
	c.Exec(t, `insert into stack_outputs (org_id, install_id, version, source, outputs, changed, actor) `+
		`select $1, $2, n, case when n % 10 = 0 then 'manual' else 'phone_home' end, '{}', '{}', 'ada' `+
		`from generate_series(100, 199) n`, c.Org.ID, i.install)
	before := c.Text(t, count)
	must(t, c.Store.InTx(t.Context(), c.AddOrg(t).ID, func(ctx context.Context, tx *store.Tx) error {
		return tx.PruneStackOutputs(ctx, c.Org.ID, i.install)
	}))
	stored(before)
	if a := send(0); a.status != 200 {
		t.Fatalf("an hour later: %d %s", a.status, a.body)
	}
	const versions = "select count(*) filter (where source = 'phone_home') || ' from ' || " +
		"min(version) filter (where source = 'phone_home') || ' to ' || max(version) || ', ' || " +
		"count(*) filter (where source = 'manual') || ' by hand' from stack_outputs"
	if got, want := c.Text(t, versions), "50 from 146 to 200, 10 by hand"; got != want {
		t.Errorf("versions %s, want %s", got, want)
	}
}
