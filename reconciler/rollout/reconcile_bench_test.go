package rollout_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// benchComponents is the number of components of BenchmarkReconcile, with the sandbox.
const benchComponents = 20

// benchApp returns an app of modules. In a chain, each reads three outputs of the one before.
func benchApp(chain bool) (app appconfig.App, names []string) {
	module := func() *appconfig.Terraform {
		return &appconfig.Terraform{Version: "1.11.4", Vars: map[string]string{"size": "{{.nuon.inputs.inputs.size}}"}}
	}
	small := "small"
	app.Inputs = []appconfig.Input{{Name: "size", Type: "string", Default: &small}}
	app.Sandbox = &appconfig.Component{Name: "sandbox", Kind: "sandbox",
		Terraform: &appconfig.Terraform{Version: "1.11.4"}}
	names = []string{"sandbox"}
	for i := 1; i < benchComponents; i++ {
		c := appconfig.Component{Name: fmt.Sprintf("c%02d", i), Kind: "terraform_module", Terraform: module()}
		for v := range 3 {
			if chain && i > 1 {
				c.Terraform.Vars[fmt.Sprint("v", v)] = fmt.Sprintf("{{.nuon.components.c%02d.outputs.out%d}}", i-1, v)
			}
		}
		app.Components, names = append(app.Components, c), append(names, c.Name)
	}
	return app, names
}

// BenchmarkReconcile measures one reconcile of an install with 20 components: one of which nothing changed, one of
// which a row changed that leads to nothing, and one of which nineteen plans wait for a person.
func BenchmarkReconcile(b *testing.B) {
	settled := func(*world, int) {}
	for _, state := range []struct {
		name   string
		chain  bool
		before func(w *world)
		each   func(w *world, round int)
	}{
		{"settled", true, func(*world) {}, settled},
		{"changed", true, func(*world) {}, func(w *world, round int) {
			w.exec("update installs set pin_reason = $1 where id = $2", strconv.Itoa(round), w.install)
		}},
		{"waiting", false, func(w *world) {
			w.input("size", "large")
			w.look()
			w.runJobs()
			if waiting := len(w.asked()); waiting != benchComponents-1 {
				w.Fatalf("%d plans wait", waiting)
			}
		}, settled},
	} {
		b.Run(state.name, func(b *testing.B) {
			app, names := benchApp(state.chain)
			w := newWorldOf(b, app, names...)
			w.moreOutputs = 5
			w.provision()
			state.before(w)
			for range 10 { // connects, and lets Postgres settle on query plans
				must(b, w.rollout.Reconcile(b.Context(), w.org, w.install))
			}
			b.ReportAllocs()
			round := 0
			for b.Loop() {
				b.StopTimer()
				round++
				state.each(w, round)
				b.StartTimer()
				must(b, w.rollout.Reconcile(b.Context(), w.org, w.install))
			}
		})
	}
}
