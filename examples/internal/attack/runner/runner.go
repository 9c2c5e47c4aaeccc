// Package runner is a hostile runner: it has the key of one runner of a real control plane, takes
// the jobs of its install, and sends arbitrary requests.
//
// It owns the attacks and the criteria for a breach: the rows of the honest install, the amount
// that the control plane stored for the hostile one, and whether the control plane still answers.
package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/examples/internal/attack"
	"github.com/nuon-toolkit/nuon/examples/internal/attack/world"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/pkg/version"
)

// maxStored is the limit of what the control plane may store for an install that never applied
// anything, in bytes.
const maxStored = 64 << 20

// hang bounds a wait, to end a hang.
const hang = 20 * time.Minute

// hostile is the runner with the jobs that it has.
type hostile struct {
	*world.World
	plan   attempt // a plan job that it accepted
	honest []ref   // the jobs of the honest install
	before string  // the rows of the honest install
}

type ref struct {
	job    string
	number int
}

type attempt struct {
	ref
	token string
}

// Attacks takes the first jobs of the hostile install and returns the attacks of its runner.
func Attacks(ctx context.Context, w *world.World) ([]attack.Attack, error) {
	h := &hostile{World: w}
	if err := h.settle(ctx); err != nil {
		return nil, err
	}
	if err := h.takePlan(ctx); err != nil {
		return nil, err
	}
	var list []attack.Attack
	for _, each := range []struct {
		name string
		try  attack.Try
	}{
		{"states of a plan", h.states},
		{"the attempts of another runner", h.others},
		{"made-up tokens from the same address", h.garbage},
		{"artifacts that no job of its own names", h.artifacts},
		{"requests with random bodies", h.bodies},
		{"a lease with a policy out of bounds", h.policy},
		{"logs without end", h.logs},
	} {
		list = append(list, attack.Attack{Name: each.name, Try: attack.Judged(each.try, h.judge)})
	}
	return list, nil
}

// settle waits until the honest install is in its desired state, and records it.
func (h *hostile) settle(ctx context.Context) error {
	err := fleet.Until(ctx, hang, world.Honest+" is applied", func() (bool, error) {
		n, err := h.Count(ctx, `select count(*) from install_components c join installs i on i.id = c.install_id
			where i.name = $1 and applied_digest = desired_digest and applied_digest <> ''`, world.Honest)
		return n > 0, err
	})
	if err != nil {
		return err
	}
	return h.remember(ctx)
}

// remember records the honest install's jobs and rows.
func (h *hostile) remember(ctx context.Context) (err error) {
	rows, err := h.Database.Query(ctx, `select job_id, number from attempts join jobs on jobs.org_id = attempts.org_id and jobs.id = job_id
		join installs on installs.org_id = jobs.org_id and installs.id = install_id where installs.name = $1`, world.Honest)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var r ref
		if err := rows.Scan(&r.job, &r.number); err != nil {
			return err
		}
		h.honest = append(h.honest, r)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	h.before, err = h.rows(ctx)
	return err
}

// rows returns the rows of the honest install in the database, without columns that change on their
// own.
func (h *hostile) rows(ctx context.Context) (text string, err error) {
	err = h.Database.QueryRow(ctx, `select concat(
		(select string_agg(concat(c.id, desired_presence, desired_digest, applied_digest, applied_values), ',' order by c.id) from install_components c where install_id = i.id),
		(select string_agg(concat(o.name, o.value, o.sealed, o.hash), ',' order by o.scope, o.owner, o.name) from outputs o where install_id = i.id),
		(select string_agg(concat(s.version, s.digest, s.status), ',' order by s.version) from states s join install_components c
			on c.id = s.install_component_id where c.install_id = i.id),
		(select string_agg(concat(a.id, a.status), ',' order by a.id) from approvals a where install_id = i.id))
		from installs i where name = $1`, world.Honest).Scan(&text)
	return text, err
}

// takePlan completes the jobs of the hostile install until it gets the plan.
func (h *hostile) takePlan(ctx context.Context) error {
	for {
		leased, err := h.Runner.LeaseWithResponse(ctx, api.LeaseRequest{Free: 1, Version: version.Number, WaitSeconds: 30})
		if err != nil {
			return err
		}
		if leased.JSON200 == nil {
			return fmt.Errorf("lease: %s %s", leased.Status(), leased.Body)
		}
		for _, offer := range leased.JSON200.Offers {
			accepted, err := h.Runner.AcceptWithResponse(ctx, offer.Job, offer.Attempt)
			if err != nil {
				return err
			}
			if accepted.JSON200 == nil {
				continue // the offer expired
			}
			if offer.Kind == string(api.JobSpecKindPlan) {
				h.plan = attempt{ref{offer.Job, offer.Attempt}, accepted.JSON200.Token}
				return nil
			}
			if _, err := h.Runner.PostResultWithResponse(ctx, offer.Job, offer.Attempt,
				api.JobResult{Status: api.JobResultStatusSucceeded}); err != nil {
				return err
			}
		}
	}
}

// judge reports forbidden changes.
func (h *hostile) judge(ctx context.Context) error {
	after, err := h.rows(ctx)
	if err != nil {
		return err
	}
	if after != h.before {
		return attack.Breached("the honest install changed:\n%s\n%s", h.before, after)
	}
	stored, err := h.Count(ctx, `select (select coalesce(sum(bytes), 0) from states s join install_components c on c.id = s.install_component_id
			join installs i on i.id = c.install_id where i.name = $1)
		+ (select coalesce(sum(octet_length(lines)), 0) from log_chunks l join jobs j on j.id = l.job_id join installs i on i.id = j.install_id
			where i.name = $1)`, world.Hostile)
	if err != nil {
		return err
	}
	if stored > maxStored {
		return attack.Breached("the hostile runner made the control plane store %d bytes", stored)
	}
	if _, err := h.Fleet.Nuon(ctx, "installs", "list"); err != nil {
		return attack.Breached("the control plane does not answer people any more: %v", err)
	}
	leased, err := h.Runner.LeaseWithResponse(ctx, api.LeaseRequest{Free: 1, Version: version.Number, WaitSeconds: -1})
	if err != nil || leased.JSON200 == nil {
		return attack.Breached("a runner with a good key is not let in: %v", err)
	}
	return nil
}

// send sends a request as the hostile runner, with a token, and returns the status.
func (h *hostile) send(ctx context.Context, method, path, token string, body []byte) (int, error) {
	return attack.Send(ctx, method, h.Fleet.Ready(0).RunnerURL+path, token, body)
}

func at(r ref, rest string) string {
	return fmt.Sprintf("/runner/v1/jobs/%s/attempts/%d%s", r.job, r.number, rest)
}

// states stores versions of a state from a plan job. One is accepted, the next after the newest: a
// runner that is ahead of a control plane that was restored from a backup must be able to deliver
// its version.
func (h *hostile) states(ctx context.Context, r *rand.Rand) error {
	taken := 0
	for serial := range 8 {
		sealed, err := h.Key.Recipient().Seal(seal.Context{Kind: seal.KindState},
			bytes.Repeat([]byte{byte(r.Uint32())}, 1<<20))
		if err != nil {
			return err
		}
		body, err := json.Marshal(api.State{
			Serial: int64(serial + 1), Lineage: "lineage", Digest: "hmac:" + strings.Repeat("ab", 32), Sealed: sealed,
		})
		if err != nil {
			return err
		}
		status, err := h.send(ctx, http.MethodPost, at(h.plan.ref, "/state"), h.plan.token, body)
		if err != nil {
			return err
		}
		if status < 300 {
			taken++
		}
	}
	if taken > 1 {
		return attack.Breached("a plan stored %d states", taken)
	}
	return nil
}

// routes lists the routes of an attempt.
var routes = []struct{ method, path string }{
	{http.MethodPost, "/accept"}, {http.MethodGet, "/spec"}, {http.MethodPost, "/logs"}, {http.MethodPost, "/result"},
	{http.MethodGet, "/state"}, {http.MethodPost, "/state"}, {http.MethodPost, "/state/lock"},
	{http.MethodDelete, "/state/lock"},
}

// others tries to access the attempts of the honest runner with the credentials of the hostile one.
func (h *hostile) others(ctx context.Context, r *rand.Rand) error {
	key, err := h.key(ctx)
	if err != nil {
		return err
	}
	for _, route := range routes {
		victim := h.honest[r.IntN(len(h.honest))]
		for _, token := range []string{h.plan.token, key} {
			status, err := h.send(ctx, route.method, at(victim, route.path), token,
				[]byte(`{"status":"lost","chunks":[],"serial":1,"ID":"x"}`))
			if err != nil {
				return err
			}
			if status < 300 {
				return attack.Breached("%s %s of another runner: %d", route.method, route.path, status)
			}
		}
	}
	return nil
}

// key returns the runner's key as its client sends it.
func (h *hostile) key(ctx context.Context) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.Fleet.Ready(0).RunnerURL, nil)
	if err != nil {
		return "", err
	}
	client, is := h.Runner.ClientInterface.(*api.Client)
	if !is {
		return "", fmt.Errorf("the client is a %T", h.Runner.ClientInterface)
	}
	for _, edit := range client.RequestEditors {
		if err := edit(ctx, request); err != nil {
			return "", err
		}
	}
	return strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer "), nil
}

// garbage sends invalid tokens of every form.
func (h *hostile) garbage(ctx context.Context, r *rand.Rand) error {
	key, err := h.key(ctx)
	if err != nil {
		return err
	}
	for range 400 {
		forged := []byte(key)
		switch r.IntN(3) {
		case 0:
			forged[len(forged)-1-r.IntN(20)] ^= 1
		case 1:
			forged = []byte(fmt.Sprintf("nuonr_%x", r.Uint64()))
		default:
			forged = forged[:r.IntN(len(forged))]
		}
		status, err := h.send(ctx, http.MethodPost, "/runner/v1/lease", string(forged),
			[]byte(`{"free":1,"version":"x","wait_seconds":-1}`))
		if err != nil {
			return err
		}
		if status < 300 && string(forged) != key {
			return attack.Breached("a token that nobody made: %d", status)
		}
	}
	return nil
}

// artifacts requests more from the registry than the job names. A plan names nothing: it works on
// the install's own copy.
func (h *hostile) artifacts(ctx context.Context, r *rand.Rand) error {
	digests := []string{sha256digest.Of(nil), "latest", "..%2f..", sha256digest.Of([]byte{byte(r.Uint32())})}
	rows, err := h.Database.Query(ctx, `select artifact_digest from builds where artifact_digest <> ''`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var digest string
		if err := rows.Scan(&digest); err != nil {
			return err
		}
		digests = append(digests, digest)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, repository := range []string{"target/sandbox", "vendor/target/sandbox", "install", "..", "_catalog"} {
		for _, kind := range []string{"manifests", "blobs", "tags"} {
			path := fmt.Sprintf("/v2/%s/%s/%s", repository, kind, digests[r.IntN(len(digests))])
			status, err := h.send(ctx, http.MethodGet, path, h.plan.token, nil)
			if err != nil {
				return err
			}
			if status < 300 {
				return attack.Breached("GET %s: %d", path, status)
			}
		}
	}
	return nil
}

// bodies sends JSON of every shape to every route of its own attempt except the result, which would
// end it.
func (h *hostile) bodies(ctx context.Context, r *rand.Rand) error {
	for range 40 {
		route := routes[r.IntN(len(routes))]
		if route.path == "/result" {
			continue
		}
		status, err := h.send(ctx, route.method, at(h.plan.ref, route.path), h.plan.token, randomJSON(r, 6))
		if err != nil {
			return err
		}
		if status >= 500 {
			return attack.Breached("%s %s: %d", route.method, route.path, status)
		}
	}
	return nil
}

// randomJSON returns JSON with the field names of the API and unexpected values.
func randomJSON(r *rand.Rand, depth int) []byte {
	names := []string{"status", "plan", "report", "outputs", "chunks", "seq", "lines", "serial", "lineage", "digest",
		"sealed", "ID", "Info", "basis", "bundle"}
	var value func(depth int) any
	value = func(depth int) any {
		switch pick := r.IntN(9); {
		case pick < 3 && depth > 0:
			made := map[string]any{}
			for range 1 + r.IntN(5) {
				made[names[r.IntN(len(names))]] = value(depth - 1)
			}
			return made
		case pick == 3 && depth > 0:
			return []any{value(depth - 1), value(depth - 1)}
		case pick == 4:
			return json.Number("1e400")
		case pick == 5:
			return -1 << 62
		case pick == 6:
			return "\x1b[2J\u202e" + strings.Repeat("x", r.IntN(1<<14))
		case pick == 7:
			return nil
		}
		return r.IntN(2) == 0
	}
	encoded, err := json.Marshal(value(depth))
	if err != nil {
		return []byte(`{"seq":1e400}`)
	}
	return encoded
}

func (h *hostile) policy(ctx context.Context, r *rand.Rand) error {
	key, err := h.key(ctx)
	if err != nil {
		return err
	}
	body := fmt.Sprintf(`{"free":%d,"version":%q,"wait_seconds":-1,"policy":{"jobs":[%q],"reason":%q}}`,
		r.IntN(1<<40), strings.Repeat("v", 1<<10), strings.Repeat("j", 1<<16), strings.Repeat("r", 1<<21))
	status, err := h.send(ctx, http.MethodPost, "/runner/v1/lease", key, []byte(body))
	if err != nil {
		return err
	}
	if status >= 500 {
		return attack.Breached("a policy out of bounds: %d", status)
	}
	return nil
}

// logs sends lines for as long as they are accepted, up to twice the storage limit.
func (h *hostile) logs(ctx context.Context, r *rand.Rand) error {
	line := make([]byte, 64<<10)
	for i := range line {
		line[i] = 'a' + byte(r.UintN(26)) // incompressible
	}
	seq := int64(1) + int64(r.IntN(1<<30))
	for range 2 * maxStored / (16 * len(line)) {
		lines := make([]api.LogLine, 16)
		for i := range lines {
			lines[i] = api.LogLine{M: string(line)}
		}
		body, err := json.Marshal(api.LogBatch{Chunks: []api.NewLogChunk{{Seq: seq, Lines: lines}}})
		if err != nil {
			return err
		}
		seq++
		status, err := h.send(ctx, http.MethodPost, at(h.plan.ref, "/logs"), h.plan.token, body)
		if err != nil {
			return err
		}
		if status >= 500 {
			return attack.Breached("logs: %d", status)
		}
		if status >= 300 {
			return nil // refused, or over the limit
		}
	}
	return nil
}
