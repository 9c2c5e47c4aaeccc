package helm_test

import (
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// TestSecretsHideNothingFromPolicies checks that no Secret of a chart makes a policy pass that denies the plan without
// it.
func TestSecretsHideNothingFromPolicies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const admin = `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: all}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: default}]
`
	for _, value := range []string{"no word of it", "review", "object", "roleRef", "cluster-admin"} {
		spec := r.spec(r.chart("templates/admin.yaml", admin, "templates/secret.yaml",
			"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: "+value+"}\n"))
		spec.Policies = []api.PolicySpec{{Name: "no-admin", Engine: api.Opa, Contents: `package nuon
deny contains "cluster-admin" if input.review.object.roleRef.name == "cluster-admin"`}}
		report := reportOf(t, r.mustPlan(spec, false))
		if !report.Denied() || len(report.Policies) != 1 || report.Policies[0].Result != diff.PolicyDeny {
			t.Errorf("with a Secret of %s: %+v", value, report.Policies)
		}
	}
}
