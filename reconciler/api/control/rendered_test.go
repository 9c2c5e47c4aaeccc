package control_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// TestRenderTexts checks that texts are rendered with an install's values, for every role that may
// see it, and that no row changes.
func TestRenderTexts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := "in-no-answer"
	config := switchable()
	config.Inputs = append(config.Inputs, appconfig.Input{
		Name: "preset", Type: "string", Sensitive: true, Default: &secret,
	})
	config.Actions = []appconfig.Action{{Name: "check",
		Steps: []appconfig.ActionStep{{Name: "look", InlineContents: "#!/bin/sh\necho {{.nuon.install.name}}\n",
			EnvVars: map[string]string{
				"SIZE": "{{.nuon.inputs.inputs.size}}", "PRESET": "{{.nuon.inputs.inputs.preset}}",
				"SUM":  "{{sha256sum .nuon.inputs.inputs.preset}}",
				"PAGE": "of {{.nuon.components.web.outputs.page}}", "GONE": "{{.nuon.inputs.inputs.sise}}",
			}}}}}
	app := w.one.app("shop", config)
	w.one.component(app, "cmp_web", "web")
	w.one.runner("pool", "install", true)
	w.ok(http.MethodPost, "/v1/installs", api.NewInstall{App: "shop", Name: "east"}, http.StatusCreated)
	w.call(w.one.token["viewer"], http.MethodGet, "/v1/installs/east", nil) // records the first use of the token
	before := w.rows("")
	rendered := func(query string) []api.RenderedText {
		got := w.call(w.one.token["viewer"], http.MethodGet, "/v1/installs/east/rendered?"+query, nil)
		if got.Status != http.StatusOK || strings.Contains(got.Body, secret) {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		var texts api.RenderedTexts
		must(t, json.Unmarshal([]byte(got.Body), &texts))
		if texts.Release != 1 {
			t.Errorf("it is of release %d", texts.Release)
		}
		return texts.Texts
	}
	script := api.RenderedText{Key: "steps[0].inline_contents", Text: "#!/bin/sh\necho east\n"}
	want := []api.RenderedText{
		{Key: "steps[0].env_vars.GONE", Problem: "steps[0].env_vars.GONE:1:3: .nuon.inputs.inputs.sise has no value (`dig` " +
			"and `hasKey` can ask for what may be missing)"},
		{Key: "steps[0].env_vars.PAGE", Text: "of ‹known after web is deployed›", Waits: []string{"web is deployed"}},
		{Key: "steps[0].env_vars.PRESET", Text: "‹sensitive›", Sensitive: true},
		{Key: "steps[0].env_vars.SIZE", Text: "s"},
		{Key: "steps[0].env_vars.SUM", Text: "‹contains a sensitive value›", Sensitive: true},
		script,
	}
	if diff := cmp.Diff(want, rendered("action=check")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]api.RenderedText{script}, rendered("action=check&key=steps[0].inline_contents")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[:5], rendered("action=check&key=steps[0].env_vars")); diff != "" {
		t.Error(diff)
	}
	if got := rendered("component=web"); len(got) != 0 {
		t.Errorf("web has the texts %v", got)
	}
	for query, status := range map[string]int{
		"": 400, "component=web&action=check": 400, "component=wob": 404, "action=web": 404, "component=%00": 400,
		"action=check&key=steps[0].env": 404, "action=check&key=s": 404,
	} {
		got := w.call(w.one.token["viewer"], http.MethodGet, "/v1/installs/east/rendered?"+query, nil)
		w.refusedAs(got, status, map[int]string{400: "bad_request", 404: "not_found"}[status])
	}
	if after := w.rows(""); !cmp.Equal(before, after) {
		t.Error("looking changed rows:\n" + cmp.Diff(before, after))
	}
}

// TestRenderTextsBeforeAVersion checks that an app that was never synced has no texts, with an
// error that explains it.
func TestRenderTextsBeforeAVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r, _ := w.one.runner("pool", "install", true)
	w.one.add("apps", "id", "app_new", "name", "new")
	w.one.add("installs", "id", "ins_new", "app_id", "app_new", "name", "first", "runner_id", r.ID)
	w.refusedAs(w.call(w.one.token["viewer"], http.MethodGet, "/v1/installs/first/rendered?component=web", nil),
		http.StatusNotFound, "not_found")
}
