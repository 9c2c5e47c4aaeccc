package rollout_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// override sets what the install overrides of components.
func (w *world) override(overrides map[string]appconfig.Override) {
	w.Helper()
	raw, err := json.Marshal(overrides)
	must(w, err)
	w.exec("update installs set overrides = $1", raw)
}

// TestOverridesReachTheirComponent checks that an override makes only its component behind, with a reason, that its
// templates are resolved like the component's own, and that a component whose outputs it reads is deployed before.
func TestOverridesReachTheirComponent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.provision()
	deployed := map[string]string{"sandbox": w.state["sandbox"], "network": w.state["network"], "web": w.state["web"]}
	w.done = nil
	over := appconfig.Override{TFVars: `size = "{{.nuon.inputs.inputs.greeting}}"`, HelmValues: "of: another kind"}
	w.override(map[string]appconfig.Override{"metrics": over, "gone": {TFVars: "a = 1"}, "sandbox": {TFVars: "a = 1"}})
	w.look()
	_, reason := w.component("metrics")
	if want := "the install's tf_vars for metrics changed"; !strings.Contains(reason, want) {
		t.Errorf("metrics: %q, want %q", reason, want)
	}
	w.approveAll()
	w.want(w.done, []string{"plan metrics", "apply metrics"})
	w.want(w.state["metrics"], "artifact "+w.one("select artifact_digest from builds b join components c on "+
		"c.id = b.component_id where c.name = 'metrics'")+"\noverride=size = \"hello\"")
	for name, was := range deployed {
		w.want(w.state[name], was)
	}

	w.done = nil
	w.look()
	w.want(w.done, []string(nil)) // the same override again
	w.input("greeting", "hi")
	w.look()
	w.approveAll()
	w.want(w.done, []string{"plan metrics", "plan web", "apply metrics", "apply web", "action smoke"})
	if !strings.HasSuffix(w.state["metrics"], `size = "hi"`) {
		t.Errorf("metrics was applied with %q", w.state["metrics"])
	}

	w.done = nil
	w.override(map[string]appconfig.Override{"metrics": {TFVars: `url = "{{.nuon.components.web.outputs.url}}"`}})
	w.look()
	w.approveAll()
	w.want(w.done, []string{"plan metrics", "apply metrics"})
	w.want(w.one("select applied_config->>'after' from install_components where name = 'metrics'"), `["sandbox", "web"]`)

	w.done = nil
	w.override(map[string]appconfig.Override{})
	w.look()
	w.approveAll()
	w.want(w.done, []string{"plan metrics", "apply metrics"})
	if strings.Contains(w.state["metrics"], "override") {
		t.Errorf("metrics was applied with %q", w.state["metrics"])
	}
}

// TestPreviewOfAnOverride checks that a preview has the effect of an override on its component alone.
func TestPreviewOfAnOverride(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.provision()
	must(t, w.in(func(ctx context.Context, tx *store.Tx) error {
		now, err := tx.LockInstall(ctx, w.org, w.install)
		must(t, err)
		as := now
		as.Overrides = json.RawMessage(`{"web": {"tf_vars": "a = 1"}}`)
		effects, err := rollout.Preview(ctx, tx, now, rollout.InstallChange{Install: as})
		must(t, err)
		for _, e := range effects {
			want := rollout.ComponentEffect{Component: e.Component, Effect: rollout.EffectNone, Reason: e.Reason}
			if e.Component == "web" {
				want = rollout.ComponentEffect{Component: "web", Effect: rollout.EffectBehind,
					Reason: "the install's tf_vars for web changed"}
			}
			w.want(e, want)
		}
		return nil
	}))
}
