package runner_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

// The kinds of token that may open a route of the runner API.
const (
	byRegistration = "registration"
	byClaim        = "claim token"
	byKey          = "runner key"
	byAttempt      = "attempt token"
	// late is the attempt token of a replaced runner: it delivers finished work, and opens nothing
	// else.
	late = "late attempt token"
)

// open lists the tokens that open each route. A missing route fails the tests, because its access
// was not decided.
var open = map[string][]string{
	"POST /runner/v1/register":                                        {byRegistration},
	"POST /runner/v1/register/challenge":                              {byRegistration},
	"POST /runner/v1/claim/challenge":                                 {byClaim},
	"POST /runner/v1/claim/register":                                  {byClaim},
	"POST /runner/v1/claim/phone-home":                                {byClaim},
	"POST /runner/v1/stack-outputs":                                   {byKey},
	"POST /runner/v1/key":                                             {byKey},
	"POST /runner/v1/lease":                                           {byKey},
	"POST /runner/v1/heartbeat":                                       {byKey},
	"POST /runner/v1/logs":                                            {byKey},
	"POST /runner/v1/jobs/{job}/attempts/{attempt}/accept":            {byKey},
	"GET /runner/v1/jobs/{job}/attempts/{attempt}/spec":               {byAttempt},
	"POST /runner/v1/jobs/{job}/attempts/{attempt}/module-credential": {byAttempt},
	"GET /runner/v1/jobs/{job}/attempts/{attempt}/shell":              {byAttempt},
	"POST /runner/v1/jobs/{job}/attempts/{attempt}/shell":             {byAttempt},
	"POST /runner/v1/jobs/{job}/attempts/{attempt}/logs":              {byKey, byAttempt, late},
	"POST /runner/v1/jobs/{job}/attempts/{attempt}/result":            {byKey, byAttempt, late},
	"GET /runner/v1/jobs/{job}/attempts/{attempt}/state":              {byAttempt},
	"POST /runner/v1/jobs/{job}/attempts/{attempt}/state":             {byKey, byAttempt, late},
	"POST /runner/v1/jobs/{job}/attempts/{attempt}/state/lock":        {byAttempt},
	// Its own lock, which was released by then.
	"DELETE /runner/v1/jobs/{job}/attempts/{attempt}/state/lock": {byKey, byAttempt, late},
}

// bodyOf returns a request body for a route.
func bodyOf(route string) any {
	_, path, _ := strings.Cut(route, " ")
	switch path[strings.LastIndex(path, "}")+1:] {
	case "/logs":
		return api.LogBatch{Chunks: []api.NewLogChunk{{Seq: 7}}}
	case "/shell":
		return api.NewShellOutput{Number: 1, Data: []byte("text")}
	case "/result":
		return api.JobResult{Status: api.JobResultStatusFailed}
	case "/state":
		return aState(1)
	case "/state/lock":
		return api.StateLock{ID: "x", Info: json.RawMessage(`{}`)}
	case "/runner/v1/register":
		return api.Registration{Version: "1", Capacity: 1}
	case "/runner/v1/claim/register":
		return api.ClaimRegistration{Registration: api.Registration{Version: "1", Capacity: 1}}
	case "/runner/v1/claim/phone-home":
		return api.PhoneHomeReport{Kind: "create"}
	case "/runner/v1/stack-outputs":
		return api.StackReport{Install: "ins_1", StackVersion: "1"}
	case "/runner/v1/register/challenge":
		return api.ChallengeRequest{Recipient: "age14eu3l03yt2l36pq4lmkll4cd0ldhdg3pz358ugh2gd2kjhl9aufq9gr5rq"}
	case "/module-credential":
		return api.ModuleCredentialRequest{Address: "https://git.test",
			Recipient: "age14eu3l03yt2l36pq4lmkll4cd0ldhdg3pz358ugh2gd2kjhl9aufq9gr5rq"}
	case "/runner/v1/lease":
		return api.LeaseRequest{Free: 1, Version: "1", WaitSeconds: -1}
	}
	return "{}"
}

// ask calls a route; in a route of an attempt it names ref.
func (s served) ask(t *testing.T, route string, ref api.AttemptRef, token string) answer {
	t.Helper()
	method, path, _ := strings.Cut(route, " ")
	if _, rest, ofAttempt := strings.Cut(path, "/attempts/{attempt}/"); ofAttempt {
		path = attemptPath(ref, rest)
	}
	return s.call(t, method, path, token, bodyOf(route))
}

// routesOf returns the routes of the document and requires an entry in open for each.
func routesOf(t *testing.T) []string {
	t.Helper()
	routes := generated(t)
	for _, route := range routes {
		if len(open[route]) == 0 {
			t.Errorf("nobody decided what opens %s: give it a line in open", route)
		}
	}
	for route := range open {
		if !slices.Contains(routes, route) {
			t.Errorf("open has %s, which is no route", route)
		}
	}
	return routes
}

// atWork is a runner with an attempt at work.
type atWork struct {
	jobstest.Runner
	ref   api.AttemptRef
	token string
}

func (s served) atWork(t *testing.T, org string) atWork {
	t.Helper()
	r := s.RunnerIn(t, org, runners.KindInstall)
	s.Job(t, r, "apply", s.Component(t, r))
	ref, token := s.Start(t, r)
	return atWork{r, ref, token}
}

func (s served) replace(t *testing.T, r jobstest.Runner) {
	t.Helper()
	must(t, s.Store.InTx(t.Context(), r.Org, func(ctx context.Context, tx *store.Tx) error {
		_, err := s.Jobs.Replace(ctx, tx, jobs.Replacement{Runner: r.Runner, Reason: "its machine burnt"})
		return err
	}))
}

// registration returns a registration token of a new runner.
func (s served) registration(t *testing.T) string {
	t.Helper()
	var plain string
	s.In(t, func(ctx context.Context, tx *store.Tx) (err error) {
		_, plain, err = runners.Create(ctx, tx, runners.NewRunner{
			Name: strings.ReplaceAll(id.New("r"), "_", "-"), Kind: runners.KindBuild,
		})
		return err
	})
	return plain
}

// everything returns all data of jobs, runners, states and logs, as text.
func (s served) everything(t *testing.T) string {
	t.Helper()
	var all []string
	for _, table := range []string{
		"jobs", "attempts", "states", "state_locks", "log_chunks", "shells", "shell_chunks", "runner_logs", "registrations",
	} {
		all = append(all, s.Text(t, "select coalesce(string_agg(x::text, '\n' order by x::text), '') from "+table+" x"))
	}
	return strings.Join(all, "\n")
}

// TestEveryRouteIsClosedToStrangers checks that anything but a valid token of the runner API opens
// nothing and gets the same response.
func TestEveryRouteIsClosedToStrangers(t *testing.T) {
	s := serve(t, nil)
	mine := s.atWork(t, s.Org.ID)
	replaced := s.Runner(t, runners.KindInstall)
	s.replace(t, replaced)
	rotated := s.Runner(t, runners.KindInstall)
	var next api.RunnerKey
	s.ok(t, "POST", "/runner/v1/key", rotated.Key, nil, &next)
	s.ok(t, "POST", "/runner/v1/heartbeat", next.RunnerKey, api.Heartbeat{}, nil)
	expired := s.registration(t)
	s.Exec(t, "update registrations set expires_at = now() - interval '1 second' where used_at is null")
	fresh, used := s.registration(t), s.registration(t)
	s.ok(t, "POST", "/runner/v1/register", used, api.Registration{Version: "1", Capacity: 1}, nil)
	keys, err := s.Store.Tokens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	forged, _ := token.NewKeys([]byte("a guess")).Mint(token.Runner, s.Org.ID, mine.Runner.Runner)
	unknown, _ := keys.Mint(token.Runner, s.Org.ID, mine.Runner.Runner)
	forgedAttempt, _ := keys.Mint(token.Attempt, s.Org.ID, mine.ref.Job, "1")
	control, _ := keys.Mint(token.Control, s.Org.ID)
	strangers := map[string]string{
		"none": "", "nonsense": "x", "forged": forged, "of nobody": unknown, "a forged attempt's": forgedAttempt,
		"of the control API":   control,
		"of a replaced runner": replaced.Key, "rotated away": rotated.Key, "an expired registration": expired,
		"a used registration": used,
		"a registration":      fresh,
	}
	before := s.everything(t)
	for _, route := range routesOf(t) {
		bodies := map[string]bool{}
		for name, plain := range strangers {
			if name == "a registration" && slices.Contains(open[route], byRegistration) {
				continue
			}
			a := s.ask(t, route, mine.ref, plain)
			if a.status != 401 {
				t.Errorf("%s with %s: %d %s", route, name, a.status, a.body)
			}
			if plain != "" {
				bodies[strings.ReplaceAll(string(a.body), a.header.Get("X-Request-Id"), "")] = true
			}
		}
		if len(bodies) != 1 {
			t.Errorf("%s tells strangers from one another: %v", route, bodies)
		}
	}
	if after := s.everything(t); after != before {
		t.Errorf("a stranger's call changed\n%s\nto\n%s", before, after)
	}
}

// TestEveryRouteReachesOnlyItsOwn checks that a valid token of another runner, org or attempt gets
// the same response for an attempt that it does not own as for one that never existed.
func TestEveryRouteReachesOnlyItsOwn(t *testing.T) {
	s := serve(t, nil)
	mine, other, elsewhere := s.atWork(t, s.Org.ID), s.atWork(t, s.Org.ID), s.atWork(t, s.AddOrg(t).ID)
	// Another job of the same runner, and an earlier attempt of the same job.
	s.Job(t, mine.Runner, "apply", s.Component(t, mine.Runner))
	_, sibling := s.Start(t, mine.Runner)
	never := api.AttemptRef{Job: id.New("job"), Attempt: 1}
	others := map[string]struct{ token, kind string }{
		"another runner": {other.Key, byKey}, "another runner's attempt": {other.token, byAttempt},
		"another org's runner": {elsewhere.Key, byKey}, "another org's attempt": {elsewhere.token, byAttempt},
		"another attempt of the runner": {sibling, byAttempt},
	}
	before := s.everything(t)
	for _, route := range routesOf(t) {
		for name, as := range others {
			opens := slices.Contains(open[route], as.kind)
			if !strings.Contains(route, "{attempt}") {
				if !opens && !unregistered(route) {
					if a := s.ask(t, route, mine.ref, as.token); a.status != 403 || a.code(t) != "wrong_token" {
						t.Errorf("%s as %s: %d %s", route, name, a.status, a.body)
					}
				}
				continue
			}
			got, none := s.ask(t, route, mine.ref, as.token), s.ask(t, route, never, as.token)
			switch {
			case opens && (got.status != 404 || got.code(t) != "not_found"), !opens &&
				(got.status != 403 || got.code(t) != "wrong_token"):
				t.Errorf("%s as %s: %d %s", route, name, got.status, got.body)
			case got.status != none.status || nameless(got, mine.ref) != nameless(none, never):
				t.Errorf("%s as %s tells another's from none: %s, and %s", route, name, got.body, none.body)
			}
		}
	}
	if after := s.everything(t); after != before {
		t.Errorf("somebody else's call changed\n%s\nto\n%s", before, after)
	}
	// Its own tokens open only the routes of their kind.
	for _, route := range routesOf(t) {
		for plain, kind := range map[string]string{mine.Key: byKey, mine.token: byAttempt} {
			if a := s.ask(t, route, never, plain); !slices.Contains(open[route], kind) &&
				!unregistered(route) && (a.status != 403 || a.code(t) != "wrong_token") {
				t.Errorf("%s with its own %s: %d %s", route, kind, a.status, a.body)
			}
		}
	}
}

// unregistered reports whether a route is for machines that have no key yet: it answers any other
// token like a stranger's.
func unregistered(route string) bool {
	return slices.Contains(open[route], byRegistration) || slices.Contains(open[route], byClaim)
}

// nameless returns a response without the requested ids and the request id.
func nameless(a answer, ref api.AttemptRef) string {
	return strings.NewReplacer(ref.Job, "…", a.header.Get("X-Request-Id"), "").Replace(string(a.body))
}

// TestLeaseAndHeartbeatAreTheCallersOwn checks that the routes without an attempt in the path
// return only the runner's own jobs, and respond to another runner's attempt as to one that does
// not exist.
func TestLeaseAndHeartbeatAreTheCallersOwn(t *testing.T) {
	s := serve(t, nil)
	mine, other := s.atWork(t, s.Org.ID), s.atWork(t, s.Org.ID)
	queued := s.Job(t, mine.Runner, "apply", s.Component(t, mine.Runner))
	var offers api.Offers
	s.ok(t, "POST", "/runner/v1/lease", other.Key, api.LeaseRequest{Free: 5, Version: "1", WaitSeconds: -1}, &offers)
	if len(offers.Offers) != 0 {
		t.Errorf("another runner is offered %+v", offers)
	}
	s.ok(t, "POST", "/runner/v1/lease", mine.Key, api.LeaseRequest{Free: 5, Version: "1", WaitSeconds: -1}, &offers)
	if len(offers.Offers) != 1 || offers.Offers[0].Job != queued {
		t.Errorf("the runner is offered %+v", offers)
	}
	s.Exec(t, "update attempts set lease_until = now() + interval '1 second'")
	before := s.everything(t)
	never := api.AttemptRef{Job: id.New("job"), Attempt: 1}
	var beat api.HeartbeatAnswer
	s.ok(t, "POST", "/runner/v1/heartbeat", other.Key,
		api.Heartbeat{Version: "1", Attempts: []api.AttemptRef{mine.ref, never}}, &beat)
	if len(beat.Attempts) != 2 || beat.Attempts[0].Cancel != beat.Attempts[1].Cancel ||
		beat.Attempts[0].Superseded != beat.Attempts[1].Superseded {
		t.Errorf("of another's attempt and of none it is told %+v", beat.Attempts)
	}
	if after := s.everything(t); after != before {
		t.Error("a heartbeat extended somebody else's lease")
	}
}

// TestAnEndedAttemptsTokenEnds checks that late deliveries are accepted for a limited time.
func TestAnEndedAttemptsTokenEnds(t *testing.T) {
	s := serve(t, nil)
	a := s.atWork(t, s.Org.ID)
	logs := "POST /runner/v1/jobs/{job}/attempts/{attempt}/logs"
	s.replace(t, a.Runner)
	for _, c := range []struct {
		days, want int
	}{{29, 204}, {31, 401}} {
		s.Exec(t,
			"update attempts set ended_at = now() - make_interval(days => $1) where job_id = $2", c.days, a.ref.Job)
		if came := s.ask(t, logs, a.ref, a.token); came.status != c.want {
			t.Errorf("%d days after the end: %d %s, want %d", c.days, came.status, came.body, c.want)
		}
	}
}

// TestReplacedRunnerOnlyDelivers checks that a machine that was wrongly declared dead can deliver
// what it has done, and can do nothing new.
func TestReplacedRunnerOnlyDelivers(t *testing.T) {
	v := newVendor(t)
	s := serve(t, v)
	for _, route := range routesOf(t) {
		if !strings.Contains(route, "{attempt}") {
			continue
		}
		gone := s.atWork(t, s.Org.ID)
		s.replace(t, gone.Runner)
		if a := s.ask(t, route, gone.ref, gone.Key); a.status != 401 {
			t.Errorf("%s with the key: %d %s", route, a.status, a.body)
		}
		a := s.ask(t, route, gone.ref, gone.token)
		if delivers := a.status/100 == 2; delivers != slices.Contains(open[route], late) ||
			!delivers && a.status >= 500 {
			t.Errorf("%s with the attempt's token: %d %s", route, a.status, a.body)
		}
	}
	named, _ := v.add(t, "acme/web", "the module")
	r := s.Runner(t, runners.KindInstall)
	_, plain := s.sync(t, r, named)
	path := "/v2/" + named.Repository + "/manifests/" + named.Digest
	s.ok(t, "GET", path, plain, nil, nil)
	s.replace(t, r)
	if a := s.call(t, "GET", path, plain, nil); a.status != 404 && a.status != 401 {
		t.Errorf("an artifact: %d %s", a.status, a.body)
	}
}

// TestRunnersChangesAreRecorded checks that changes of a runner's identity, and states that need a
// person's decision, are in the audit log under the runner's name, without any secret.
func TestRunnersChangesAreRecorded(t *testing.T) {
	s := serve(t, nil)
	registration := s.registration(t)
	var registered api.Registered
	s.ok(t, "POST", "/runner/v1/register", registration, api.Registration{Version: "1", Capacity: 1}, &registered)
	var next api.RunnerKey
	s.ok(t, "POST", "/runner/v1/key", registered.RunnerKey, nil, &next)
	s.ok(t, "POST", "/runner/v1/heartbeat", next.RunnerKey, api.Heartbeat{}, nil)
	s.ok(t, "POST", "/runner/v1/heartbeat", next.RunnerKey, api.Heartbeat{}, nil)
	const events = "select coalesce(string_agg(action, ' ' order by id), '') from audit_events where subject = $1 and " +
		"actor = 'runner ' || $2"
	if got, want := s.Text(t, events, registered.RunnerID, registered.Name),
		"runner.register runner.ask_key runner.rotate_key"; got != want {
		t.Errorf("recorded %q, want %q", got, want)
	}
	mine := s.atWork(t, s.Org.ID)
	s.ok(t, "POST", attemptPath(mine.ref, "state"), mine.Key, aState(1), nil)
	foreign := aState(2)
	foreign.Lineage = "another"
	s.ok(t, "POST", attemptPath(mine.ref, "state"), mine.Key, foreign, nil)
	s.ok(t, "POST", attemptPath(mine.ref, "state"), mine.Key, foreign, nil)
	if n := s.Text(t, "select count(*)::text from audit_events where action = 'state.contested'"); n != "1" {
		t.Errorf("%s contested states are recorded, want one", n)
	}
	all := s.Text(t, "select string_agg(e::text, ' ') from audit_events e")
	for _, secret := range []string{registration, registered.RunnerKey, next.RunnerKey, mine.Key, mine.token} {
		if strings.Contains(all, secret[len(secret)-43:]) {
			t.Errorf("the audit has %s: %s", secret, all)
		}
	}
}
