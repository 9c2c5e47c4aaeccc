package appconfig

import (
	"slices"
	"testing"
)

// TestPlanPolicies checks which policies plans of a component must pass.
func TestPlanPolicies(t *testing.T) {
	app := &App{Policies: []Policy{
		{Name: "z-named", Type: "terraform_module", Components: []string{"db"}, Contents: "x"},
		{Name: "a-all", Type: "terraform_module", Components: []string{"*"}, Contents: "x"},
		{Name: "old", Type: "helm_chart", Contents: "x"},
		{Name: "objects", Type: "kubernetes_manifest", Components: []string{"*"}, Contents: "x"},
		{Name: "base", Type: "sandbox", Contents: "x"},
		{Name: "cluster", Type: "kubernetes_cluster", Contents: "x"},
		{Name: "image", Type: "container_image", Components: []string{"*"}, Contents: "x"},
		{Name: "empty", Type: "terraform_module", Components: []string{"*"}},
	}}
	for _, c := range []struct {
		component Component
		want      []string
	}{
		{Component{Name: "db", Kind: "terraform_module"}, []string{"a-all", "z-named"}},
		{Component{Name: "vpc", Kind: "terraform_module"}, []string{"a-all"}},
		{Component{Name: "web", Kind: "helm_chart"}, []string{"old"}},
		{Component{Name: "quota", Kind: "kubernetes_manifest"}, []string{"objects", "old"}},
		{Component{Name: "api", Kind: "container_image"}, nil},
		{Component{Name: "sandbox", Kind: KindSandbox}, []string{"base"}},
	} {
		var got []string
		for _, p := range app.PlanPolicies(&c.component) {
			got = append(got, p.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %s: %v, want %v", c.component.Kind, c.component.Name, got, c.want)
		}
	}
}
