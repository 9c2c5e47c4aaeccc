package control_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
)

// TestWhoJoinsARunner checks that an operator or approver adds no install to the runner of another one that its machine
// has not registered for, because one more would keep the machine out, and none with looser rules to the runner of an
// install with approvals_by_others. An admin may, and a shared runner takes all.
func TestWhoJoinsARunner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plain := hello("web")
	plain.Inputs = nil
	app := w.one.app("shop", plain)
	for _, name := range []string{"empty", "waiting", "open", "strict", "shared"} {
		w.one.add("runners", "id", id.New("run"), "name", name, "kind", "install", "shared", name == "shared")
		if name != "empty" {
			w.one.add("installs", "id", id.New("ins"), "app_id", app, "name", "first-on-"+name, "runner_id",
				w.text("select id from runners where name = $1", name),
				"approvals_by_others", name == "strict" || name == "shared")
		}
	}
	w.exec("update runners set key_hash = convert_to(name, 'UTF8'), registered_at = now() " +
		"where name in ('open', 'strict')")
	create := func(role string, n api.NewInstall) answer {
		n.App, n.Name = "shop", strings.ToLower(id.New("x"))
		return w.call(w.one.token[role], http.MethodPost, "/v1/installs", n)
	}
	for _, role := range []string{"operator", "approver"} {
		p := w.refusedAs(create(role, api.NewInstall{Runner: "waiting"}), http.StatusConflict, "not_registered")
		if !strings.Contains(p.Detail, "omit the runner") {
			t.Errorf("%s: the refusal does not name how to go on: %+v", role, p)
		}
		p = w.refusedAs(create(role, api.NewInstall{Runner: "strict"}), http.StatusForbidden, "forbidden")
		if !strings.Contains(p.Title, "needs admin") || !strings.Contains(p.Detail, "--approvals-by-others") {
			t.Errorf("%s: the refusal does not name the role and how to go on: %+v", role, p)
		}
	}
	for name, c := range map[string]struct {
		role string
		n    api.NewInstall
	}{
		"the first one":            {"operator", api.NewInstall{Runner: "empty"}},
		"a registered runner":      {"operator", api.NewInstall{Runner: "open"}},
		"rules that are as strict": {"operator", api.NewInstall{Runner: "strict", ApprovalsByOthers: true}},
		"a shared runner":          {"operator", api.NewInstall{Runner: "shared"}},
		"no runner":                {"operator", api.NewInstall{}},
		"an admin, unregistered":   {"admin", api.NewInstall{Runner: "waiting"}},
		"an admin, looser rules":   {"admin", api.NewInstall{Runner: "strict"}},
	} {
		if got := create(c.role, c.n); got.Status != http.StatusCreated {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
}
