package control_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// TestRepos checks the refs that are read, for which apps, and their revisions.
func TestRepos(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	viewer := w.one.token["viewer"]
	w.one.add("watches", "id", "wat_unread", "url", "https://git.example/unread", "ref", "main")
	w.one.add("watches", "id", "wat_modules", "url", "https://git.example/a", "ref", "main", "credential_id",
		w.one.ids["credential"], "error", "no such branch")
	w.exec("update components set watch_id = 'wat_modules' where id = $1", w.one.ids["component"])
	shop := w.one.app("shop", appconfig.App{})
	w.exec("update apps set watch_id = $1 where id = $2", w.one.ids["watch"], shop)
	var list api.RepoList
	must(t, json.Unmarshal([]byte(w.call(viewer, http.MethodGet, "/v1/repos", nil).Body), &list))
	if len(list.Items) != 2 || list.Items[0].ID != "wat_modules" || list.Items[0].Problem != "no such branch" ||
		list.Items[0].Credential != w.one.mark+"-cred" ||
		strings.Join(list.Items[1].Apps, " ") != w.one.mark+"-app shop" ||
		list.Items[1].Commit != w.one.mark+"-commit" || list.Items[1].Revisions != nil {
		t.Errorf("%+v", list)
	}
	first, next := w.page("/v1/repos", 1, "", "id")
	second, end := w.page("/v1/repos", 1, next, "id")
	if strings.Join(append(first, second...), " ") != "wat_modules "+w.one.ids["watch"] || end != "" {
		t.Errorf("in pages: %v %v %q", first, second, end)
	}
	var repo api.Repo
	must(t, json.Unmarshal([]byte(w.call(viewer, http.MethodGet, "/v1/repos/"+w.one.ids["watch"], nil).Body), &repo))
	if len(repo.Revisions) != 1 || repo.Revisions[0].Subject != w.one.mark+" subject" ||
		repo.Revisions[0].Outcome != w.one.mark+" was built" {
		t.Errorf("%+v", repo)
	}
	w.refusedAs(w.call(viewer, http.MethodGet, "/v1/repos/wat_unread", nil), http.StatusNotFound, "not_found")
	looked := 0
	w.look = func(context.Context) error {
		looked++
		w.exec("update watches set error = 'it is gone' where id = $1", w.one.ids["watch"])
		return nil
	}
	got := w.call(w.one.token["operator"], http.MethodPost, "/v1/repos/"+w.one.ids["watch"]+"/look", nil)
	must(t, json.Unmarshal([]byte(got.Body), &repo))
	if got.Status != http.StatusOK || looked != 1 || repo.Problem != "it is gone" || len(repo.Revisions) != 1 {
		t.Errorf("%d looks: %d %s", looked, got.Status, got.Body)
	}
	w.refusedAs(w.call(w.one.token["operator"], http.MethodPost, "/v1/repos/wat_unread/look", nil),
		http.StatusNotFound, "not_found")
	if looked != 1 {
		t.Error("a repository that nobody reads was looked at")
	}
}
