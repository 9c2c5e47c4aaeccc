package control_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// seededState returns a world in which the first tenant's install has a state with a kept and a
// contested version and a leftover lock, and the path prefixes of the install and the component.
func seededState(t *testing.T) (w *world, install, component string) {
	t.Helper()
	w = newWorld(t)
	w.one.fill()
	w.one.fillStates()
	w.two.fill()
	install = "/v1/installs/" + w.one.mark + "-inst"
	return w, install, install + "/components/" + w.one.mark + "-web"
}

// TestStatesAreShown checks the summary per install and every version per component, the newest
// first, never with its content.
func TestStatesAreShown(t *testing.T) {
	w, install, component := seededState(t)
	list, err := w.one.as("viewer").ListStatesWithResponse(t.Context(), w.one.mark+"-inst")
	must(t, err)
	if list.JSON200 == nil || len(list.JSON200.Items) != 1 {
		t.Fatalf("%s: %s", install, list.Body)
	}
	s := list.JSON200.Items[0]
	if s.Component != w.one.mark+"-web" || s.Newest.Version != 1 || s.Newest.Workflow != w.one.ids["workflow"] ||
		len(s.Contested) != 1 || s.Contested[0].Version != 2 {
		t.Errorf("state %+v", s)
	}
	if s.Lock.Job != w.one.ids["job"] || s.Lock.Runner != w.one.mark+"-runner" || s.Lock.Live {
		t.Errorf("lock %+v", s.Lock)
	}
	var seen []int
	for cursor := ""; ; {
		page, err := w.one.as("viewer").ListStateVersionsWithResponse(t.Context(), w.one.ids["install"],
			w.one.mark+"-web", &api.ListStateVersionsParams{Limit: 1, Cursor: cursor})
		must(t, err)
		if page.JSON200 == nil {
			t.Fatalf("versions: %s", page.Body)
		}
		for _, v := range page.JSON200.Items {
			seen = append(seen, v.Version)
		}
		if cursor = page.JSON200.Next; cursor == "" {
			break
		}
	}
	if len(seen) != 2 || seen[0] != 2 || seen[1] != 1 {
		t.Errorf("versions %v, want the newest first", seen)
	}
	if strings.Contains(string(list.Body), "eA==") {
		t.Error("the sealed state is in the answer")
	}
	w.refusedAs(w.call(w.one.token["viewer"], "GET", install+"/components/none/states", nil),
		http.StatusNotFound, "not_found")
	w.refusedAs(w.call(w.two.token["admin"], "GET", component+"/states", nil), http.StatusNotFound, "not_found")
}

// TestAContestedVersionIsDismissedOnce checks that a reason is required, which is shown with the
// version from then on.
func TestAContestedVersionIsDismissedOnce(t *testing.T) {
	w, _, component := seededState(t)
	dismiss := func(version, reason string) answer {
		return w.call(w.one.token["operator"], "POST", component+"/states/"+version+"/dismiss",
			map[string]any{"reason": reason})
	}
	w.refusedAs(dismiss("2", " "), http.StatusUnprocessableEntity, "no_reason")
	w.refusedAs(dismiss("2", strings.Repeat("x", 501)), http.StatusUnprocessableEntity, "bad_reason")
	w.refusedAs(dismiss("9", "why"), http.StatusNotFound, "not_found")
	w.refusedAs(dismiss("99999999999", "why"), http.StatusNotFound, "not_found")
	w.refusedAs(dismiss("1", "why"), http.StatusConflict, "not_contested")
	done, err := w.one.as("operator").DismissStateWithResponse(t.Context(), w.one.ids["install"], w.one.mark+"-web", 2,
		api.Reason{Reason: "the other is right"})
	must(t, err)
	want := "dismissed by " + w.one.mark + "-operator: the other is right"
	if done.JSON200 == nil || done.JSON200.Status != api.Dismissed || done.JSON200.Reason != want {
		t.Fatalf("dismissed: %s", done.Body)
	}
	w.refusedAs(dismiss("2", "again"), http.StatusConflict, "not_contested")
	if n := w.text(
		"select count(*)::text from river.river_job where kind = 'rollout' and args->>'install' = $1",
		w.one.ids["install"],
	); n != "1" {
		t.Errorf("the install is looked at %s times", n)
	}
}

// TestAStateIsAbandonedByAnAdminWithAReason checks that afterwards nothing is known of the
// component, and that all its versions are listed.
func TestAStateIsAbandonedByAnAdminWithAReason(t *testing.T) {
	w, install, component := seededState(t)
	abandon := func(role, reason string) answer {
		return w.call(w.one.token[role], "POST", component+"/abandon", map[string]any{"reason": reason})
	}
	w.refusedAs(abandon("approver", "why"), http.StatusForbidden, "forbidden")
	w.refusedAs(abandon("admin", " "), http.StatusUnprocessableEntity, "no_reason")
	w.refusedAs(w.call(w.one.token["admin"], "POST", install+"/components/none/abandon",
		map[string]any{"reason": "why"}), http.StatusNotFound, "not_found")
	w.refusedAs(abandon("admin", "why"), http.StatusConflict, "key_unknown")
	w.exec("update runners set recipient = $1 where id = $2", w.key.Recipient().String(), w.one.ids["runner"])
	done, err := w.one.as("admin").AbandonStateWithResponse(t.Context(), w.one.ids["install"], w.one.mark+"-web",
		api.Reason{Reason: "it burnt"})
	must(t, err)
	if done.JSON200 == nil || done.JSON200.Component != w.one.mark+"-web" || done.JSON200.Newest.Version != 0 ||
		len(done.JSON200.Contested) != 0 {
		t.Fatalf("abandoned: %s", done.Body)
	}
	if got := w.texts(
		"select version || ' ' || status || ' ' || reason from states order by version",
	); strings.Join(got, ", ") !=
		"1 dismissed abandoned by "+w.one.mark+"-admin: it burnt, 2 dismissed abandoned by "+
			w.one.mark+"-admin: it burnt" {
		t.Errorf("the versions are %v", got)
	}
	p := w.refusedAs(abandon("admin", "again"), http.StatusConflict, "no_state")
	if p.Detail == "" || p.Detail[0] < 'A' || p.Detail[0] > 'Z' {
		t.Errorf("what to do next is %q", p.Detail)
	}
}

// TestALockIsFreedByHandWhenItsAttemptIsOver checks that the lock of a running attempt is refused
// with its holder and a remedy.
func TestALockIsFreedByHandWhenItsAttemptIsOver(t *testing.T) {
	w, _, component := seededState(t)
	free := func() answer {
		return w.call(w.one.token["operator"], "DELETE", component+"/lock?reason=left+behind", nil)
	}
	w.refusedAs(w.call(w.one.token["operator"], "DELETE", component+"/lock?reason=+", nil),
		http.StatusUnprocessableEntity, "no_reason")
	w.exec("update jobs set status = 'running' where id = $1", w.one.ids["job"])
	w.exec("update attempts set status = 'expired' where job_id = $1", w.one.ids["job"])
	p := w.refusedAs(free(), http.StatusConflict, "locked")
	if !strings.Contains(p.Title, w.one.ids["job"]) || !strings.Contains(p.Title, w.one.mark+"-runner") ||
		!strings.Contains(p.Detail, "nuon runners replace") {
		t.Errorf("said %q, %q", p.Title, p.Detail)
	}
	w.exec("update attempts set status = 'lost' where job_id = $1", w.one.ids["job"])
	if got := free(); got.Status != http.StatusNoContent {
		t.Errorf("freed: %d %s", got.Status, got.Body)
	}
	w.refusedAs(free(), http.StatusNotFound, "not_locked")
}

// TestARestoreIsAWorkflowThatWaitsForAPerson checks that the request itself does not change the
// state.
func TestARestoreIsAWorkflowThatWaitsForAPerson(t *testing.T) {
	w, _, component := seededState(t)
	ask := func(version string) answer {
		return w.call(w.one.token["operator"], "POST", component+"/states/"+version+"/restore",
			map[string]any{"reason": "it was right"}, "Idempotency-Key", "k"+version)
	}
	w.refusedAs(ask("7"), http.StatusNotFound, "not_found")
	if got := ask("1"); got.Status != http.StatusConflict {
		t.Errorf("restoring the newest version: %d %s", got.Status, got.Body)
	}
	first, again := ask("2"), ask("2")
	if first.Status != http.StatusCreated || first.Body != again.Body ||
		!strings.Contains(first.Body, `"kind":"restore"`) {
		t.Fatalf("asked: %d %s, then %d %s", first.Status, first.Body, again.Status, again.Body)
	}
	if got := w.texts(
		"select version || ' ' || status from states order by version",
	); strings.Join(got, ", ") != "1 kept, 2 contested" {
		t.Errorf("the versions are %v", got)
	}
	if n := w.text("select count(*)::text from workflows where kind = 'restore'"); n != "1" {
		t.Errorf("%s workflows", n)
	}
}

// TestAReviewSaysThatAPlanRestores checks that the approval shows the restore, and not why the
// component was last deployed.
func TestAReviewSaysThatAPlanRestores(t *testing.T) {
	w, _, _ := seededState(t)
	w.exec("update workflows set kind = 'restore' where id = $1", w.one.ids["workflow"])
	w.exec("update approvals set because = 'ann wants version 2 back' where id = $1", w.one.ids["approval"])
	w.exec(`update plans set target = target || '{"restore": {"version": 2, "digest": "d"}}' where id = $1`,
		w.one.ids["plan"])
	for _, path := range []string{"/v1/approvals/" + w.one.ids["approval"], "/v1/approvals"} {
		got := w.call(w.one.token["viewer"], "GET", path, nil)
		if got.Status != http.StatusOK || !strings.Contains(got.Body, `"restore":2`) ||
			!strings.Contains(got.Body, `"because":"ann wants version 2 back"`) {
			t.Errorf("%s shows %s", path, got.Body)
		}
	}
}
