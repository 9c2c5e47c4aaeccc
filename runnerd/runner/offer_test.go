package runner

import (
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
)

// TestAPlanThatCopiesIsDeclinedWithoutSyncs checks that a plan that copies its artifact
// is declined, because it would fail, where syncs are not allowed.
func TestAPlanThatCopiesIsDeclinedWithoutSyncs(t *testing.T) {
	plans, syncs := []string{"plan"}, []string{"plan", "sync"}
	for _, c := range []struct {
		jobs   []string
		kind   string
		copies bool
		taken  bool
	}{
		{plans, "plan", false, true}, {plans, "plan", true, false}, {syncs, "plan", true, true},
		{plans, "sync", false, false}, {[]string{"sync"}, "plan", true, false},
	} {
		rule := policy.Rule{RunnerPolicy: api.RunnerPolicy{Jobs: &c.jobs}}
		if err := checkOffer(rule, c.kind, "terraform_module", c.copies); (err == nil) != c.taken {
			t.Errorf("%v allowed, %s that copies %t: %v", c.jobs, c.kind, c.copies, err)
		}
	}
}
