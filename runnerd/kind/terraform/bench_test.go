package terraform

import "testing"

// BenchmarkPlanAndApply plans and applies a module without a resource, each in a job as the
// runner starts it, against a state that exists.
func BenchmarkPlanAndApply(b *testing.B) {
	r := newRig(b)
	spec := r.spec(r.mustBuild("m", "m/main.tf", "variable \"a\" {}\noutput \"a\" {\n  value = var.a\n}\n"))
	for i := 0; b.Loop(); i++ {
		spec.Terraform.Vars = map[string]string{"a": string(rune('a' + i%26))}
		r.mustApply(applySpec(spec, r.mustPlan(spec, false), false))
	}
}
