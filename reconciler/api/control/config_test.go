package control_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// TestAppConfig checks that a client gets what it must prompt for, what a deploy can name, and
// which actions it can run, of the newest version and of an earlier one.
func TestAppConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := hello("web")
	config.Groups = []appconfig.InputGroup{{Name: "network", DisplayName: "Network"}}
	config.Sandbox.Terraform.Vars = map[string]string{"region": "{{ .nuon.inputs.inputs.region }}"}
	config.Components[0].Terraform.Vars = map[string]string{
		"greeting": "{{ .nuon.install.inputs.greeting }}, {{ .nuon.sandbox.outputs.vpc }}",
	}
	config.Components[0].Toggleable = true
	config.Components = append(config.Components, appconfig.Component{
		Name: "api", Kind: "terraform_module", Terraform: &appconfig.Terraform{}, Dependencies: []string{"web"},
	})
	config.Actions[0].Triggers = append(config.Actions[0].Triggers,
		appconfig.Trigger{Type: "post-deploy-component", ComponentName: "web"},
		appconfig.Trigger{Type: "cron", CronSchedule: "0 3 * * *"})
	config.Actions[0].Steps = []appconfig.ActionStep{{
		Name: "curl", InlineContents: "#!/bin/sh\ncurl {{ .nuon.inputs.inputs.greeting }}",
	}}
	config.Actions[0].Inputs = []appconfig.ActionInput{{Name: "depth", Type: "number", Default: ptr("3")}}
	app := w.one.app("shop", config)
	w.one.add("app_versions", "id", "ver_old", "app_id", app, "number", 7, "digest", "d", "config", "{}", "reason", "r")
	got := w.call(w.one.token["viewer"], http.MethodGet, "/v1/apps/shop/config", nil)
	var c api.AppConfig
	must(t, json.Unmarshal([]byte(got.Body), &c))
	if c.Version != 1 || len(c.Groups) != 1 || c.Groups[0].DisplayName != "Network" {
		t.Errorf("%s", got.Body)
	}
	if in := c.Inputs; len(in) != 3 || in[0].Name != "region" || !in[0].Required || in[0].Default != nil ||
		strings.Join(in[0].ReadBy, " ") != "sandbox" ||
		*in[1].Default != "hello" || strings.Join(in[1].ReadBy, " ") != "web action/smoke" ||
		!in[2].Sensitive || in[2].ReadBy != nil {
		t.Errorf("inputs: %+v", in)
	}
	if all := c.Components; len(all) != 3 || all[0].Name != "sandbox" || all[1].Name != "api" || !all[1].Enabled ||
		strings.Join(all[1].DependsOn, " ") != "web" ||
		!all[2].Toggleable || all[2].Enabled {
		t.Errorf("components: %+v", all)
	}
	if a := c.Actions; len(a) != 1 || a[0].Timeout != "1m" ||
		strings.Join(a[0].Triggers, " ") != "manual post-deploy-component:web cron" ||
		strings.Join(a[0].IdleTriggers, " ") != "cron" || strings.Join(a[0].Steps, " ") != "curl" ||
		len(a[0].Inputs) != 1 || a[0].Inputs[0].Type != "number" || *a[0].Inputs[0].Default != "3" {
		t.Errorf("actions: %+v", a)
	}
	old := w.call(w.one.token["viewer"], http.MethodGet, "/v1/apps/shop/config?version=7", nil)
	if old.Body != `{"actions":[],"components":[],"groups":[],"inputs":[],"version":7}`+"\n" {
		t.Errorf("version 7: %s", old.Body)
	}
	w.one.add("apps", "id", "app_bare", "name", "bare")
	for _, path := range []string{
		"/v1/apps/shop/config?version=2", "/v1/apps/shop/config?version=-1", "/v1/apps/shop/config?version=4294967303",
		"/v1/apps/bare/config",
	} {
		w.refusedAs(w.call(w.one.token["viewer"], http.MethodGet, path, nil), http.StatusNotFound, "not_found")
	}
}
