// Package operator is a hostile operator: it has tokens of the roles viewer, ci and operator of a
// real control plane, and tries to approve, to loosen the settings for approvals, to run what
// nobody approved, and to get more rights.
//
// The database decides whether an attack succeeded: there must be no answer to an approval by the
// attacker, no looser setting, no apply, no script and no new token.
package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/nuon-toolkit/nuon/examples/internal/attack"
	"github.com/nuon-toolkit/nuon/examples/internal/attack/world"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// hang bounds a wait, to end a hang.
const hang = 20 * time.Minute

// roles lists the roles of the attacker's tokens. None of them may approve.
var roles = []string{"viewer", "ci", "operator"}

// hostile is the operator.
type hostile struct {
	*world.World
	tokens    map[string]string // by role
	approvals []string
	before    snapshot
}

// snapshot counts what the attacker's tokens must not change.
type snapshot struct{ settings, tokens, answers, applies, actions, credentials int64 }

// Attacks creates the attacker's tokens and returns the attacks.
func Attacks(ctx context.Context, w *world.World) ([]attack.Attack, error) {
	h := &hostile{World: w, tokens: map[string]string{}}
	for _, role := range roles {
		var made api.CreatedToken
		args := []string{"tokens", "create", "hostile-" + role, "--role", role}
		if role == "ci" {
			args = append(args, "--app", "target")
		}
		if err := w.Fleet.JSON(ctx, &made, args...); err != nil {
			return nil, err
		}
		h.tokens[role] = made.Secret
	}
	err := fleet.Until(ctx, hang, "a plan waits for an approval", func() (bool, error) {
		n, err := w.Count(ctx, "select count(*) from approvals where status = 'waiting'")
		return n > 0, err
	})
	if err != nil {
		return nil, err
	}
	rows, err := w.Database.Query(ctx, "select id from approvals")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		h.approvals = append(h.approvals, id)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if h.before, err = h.look(ctx); err != nil {
		return nil, err
	}
	var list []attack.Attack
	for _, each := range []struct {
		name string
		try  attack.Try
	}{
		{"looser approval settings", h.loosen},
		{"an answer to an approval", h.approve},
		{"more rights", h.rights},
		{"a script with a chosen environment", h.script},
		{"requests with random bodies", h.bodies},
	} {
		list = append(list, attack.Attack{Name: each.name, Try: attack.Judged(each.try, h.judge)})
	}
	return list, nil
}

// look counts what must not change. Applies and actions are those of the hostile install, for which
// nobody approved anything.
func (h *hostile) look(ctx context.Context) (s snapshot, err error) {
	for sql, into := range map[string]*int64{
		"select count(*) from installs where approval <> 'prompt' or allow_destroy": &s.settings,
		"select count(*) from tokens where created_by like '%hostile%'":             &s.tokens,
		"select count(*) from approval_responses where actor like '%hostile%'":      &s.answers,
		"select count(*) from credentials":                                          &s.credentials,
		"select count(*) from jobs j join installs i on i.id = j.install_id where j.kind = 'apply' and i.name <> '" +
			world.Honest + "'": &s.applies,
		"select count(*) from jobs j join installs i on i.id = j.install_id where j.kind = 'action' and i.name <> '" +
			world.Honest + "'": &s.actions,
	} {
		if *into, err = h.Count(ctx, sql); err != nil {
			return s, err
		}
	}
	return s, nil
}

// judge reports forbidden changes.
func (h *hostile) judge(ctx context.Context) error {
	after, err := h.look(ctx)
	if err != nil {
		return err
	}
	if after != h.before {
		return attack.Breached("counted %+v before and %+v after", h.before, after)
	}
	if _, err := h.Fleet.Nuon(ctx, "installs", "list"); err != nil {
		return attack.Breached("the control plane does not answer any more: %v", err)
	}
	return nil
}

// send sends a request with the token of a role, and returns the status.
func (h *hostile) send(ctx context.Context, role, method, path string, body any) (int, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	status, err := attack.Send(ctx, method, h.Fleet.Control.URL()+path, h.tokens[role], encoded)
	if err == nil && status >= http.StatusInternalServerError {
		return 0, attack.Breached("%s %s: %d", method, path, status)
	}
	return status, err
}

func role(r *rand.Rand) string { return roles[r.IntN(len(roles))] }

// loosen tries every way to loosen a setting. An install file may request one, but then it waits
// for an approver.
func (h *hostile) loosen(ctx context.Context, r *rand.Rand) error {
	change := map[string]any{}
	for len(change) == 0 {
		if r.IntN(2) == 0 {
			change["approval"] = "approve-all"
		}
		if r.IntN(2) == 0 {
			change["allow_destroy"] = true
		}
	}
	if r.IntN(2) == 0 {
		change["by"], change["managed_by"] = "config", "config"
	}
	if _, err := h.send(ctx, role(r), http.MethodPatch, "/v1/installs/"+world.Hostile, change); err != nil {
		return err
	}
	delete(change, "by")
	change["app"], change["name"] = "target", fmt.Sprintf("loose-%x", r.Uint32())
	_, err := h.send(ctx, role(r), http.MethodPost, "/v1/installs", change)
	return err
}

func (h *hostile) approve(ctx context.Context, r *rand.Rand) error {
	plan, digest, err := h.displayed(ctx, h.approvals[r.IntN(len(h.approvals))])
	if err != nil {
		return err
	}
	for _, id := range h.approvals {
		body := map[string]any{"answer": "approve", "plan": plan, "content_digest": digest}
		if _, err := h.send(ctx, role(r), http.MethodPost, "/v1/approvals/"+id+"/response", body); err != nil {
			return err
		}
	}
	return nil
}

// displayed returns the plan and digest that an answer to an approval must contain.
func (h *hostile) displayed(ctx context.Context, id string) (plan, digest string, err error) {
	err = h.Database.QueryRow(ctx, "select coalesce(plan_id, ''), content_digest from approvals where id = $1",
		id).Scan(&plan, &digest)
	return plan, digest, err
}

// rights tries to get a better token, a credential, or the runner of someone else.
func (h *hostile) rights(ctx context.Context, r *rand.Rand) error {
	for _, call := range []struct {
		path string
		body map[string]any
	}{
		{"/v1/tokens", map[string]any{"name": fmt.Sprintf("x%x", r.Uint32()),
			"role": []string{"approver", "admin", "operator"}[r.IntN(3)]}},
		{"/v1/credentials", map[string]any{"name": fmt.Sprintf("x%x", r.Uint32()), "host": "example.test", "username": "x"}},
		{"/v1/runners/" + world.Honest + "/registration", map[string]any{}},
		{"/v1/runners/" + world.Honest + "/replace", map[string]any{"reason": "mine now"}},
		{"/v1/webhooks", map[string]any{"name": "x"}},
		{"/v1/apps", map[string]any{"name": fmt.Sprintf("x%x", r.Uint32())}},
	} {
		status, err := h.send(ctx, role(r), http.MethodPost, call.path, call.body)
		if err != nil {
			return err
		}
		if status < 300 {
			return attack.Breached("POST %s: %d", call.path, status)
		}
	}
	return nil
}

// reserved lists environment variables that run a command.
var reserved = []string{"BASH_ENV", "ENV", "LD_PRELOAD", "LD_LIBRARY_PATH", "PATH", "PYTHONSTARTUP",
	"BASH_FUNC_echo%%", "PERL5OPT", "NODE_OPTIONS", "GIT_SSH_COMMAND"}

func (h *hostile) script(ctx context.Context, r *rand.Rand) error {
	body := map[string]any{"kind": "action", "action": "greet",
		"env": map[string]string{reserved[r.IntN(len(reserved))]: "/tmp/x.sh"}}
	status, err := h.send(ctx, "operator", http.MethodPost, "/v1/installs/"+world.Hostile+"/workflows", body)
	if err != nil {
		return err
	}
	if status < 300 {
		return attack.Breached("an action was taken with the environment %v", body["env"])
	}
	// Even without these variables the script waits: no approver has seen it.
	_, err = h.send(ctx, "operator", http.MethodPost, "/v1/installs/"+world.Hostile+"/workflows",
		map[string]any{"kind": "action", "action": "greet"})
	return err
}

// bodies sends JSON of every shape to routes that change something.
func (h *hostile) bodies(ctx context.Context, r *rand.Rand) error {
	paths := []string{
		"/v1/installs", "/v1/installs/" + world.Hostile + "/workflows", "/v1/installs/" + world.Hostile + "/pin",
		"/v1/apps/target/sync", "/v1/installs/" + world.Hostile + "/preview", "/v1/apps/target/preview", "/v1/tokens",
		"/v1/credentials", "/v1/runners",
	}
	for range 20 {
		body := map[string]any{}
		for _, name := range []string{"app", "name", "kind", "approval", "allow_destroy", "inputs", "env", "components",
			"version", "toggles", "labels", "managed_by", "overrides"} {
			switch r.IntN(7) {
			case 0:
				body[name] = "approve-all"
			case 1:
				body[name] = map[string]any{"a": []any{nil, 1e300, "\x1b[2J"}}
			case 2:
				body[name] = []any{map[string]any{"name": "x", "value": "y"}}
			case 3:
				body[name] = -1
			case 4:
				body[name] = true
			}
		}
		if _, err := h.send(ctx, role(r), http.MethodPost, paths[r.IntN(len(paths))], body); err != nil {
			return err
		}
	}
	return nil
}
