package runner

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
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

// TestInstallsOfARecord checks that a job process reads the installs whose secrets the owner allows as the file has
// them: an empty list means none, and no list means all.
func TestInstallsOfARecord(t *testing.T) {
	for text, none := range map[string]bool{"installs = []": true, "store = \"kubernetes\"": false} {
		file, err := policy.Parse("runner.toml", []byte("[secrets]\n"+text+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		record, err := withRule(spool.Record{}, file.RuleAt(time.Now()))
		if err != nil {
			t.Fatal(err)
		}
		var read policy.Secrets
		if err := json.Unmarshal(record.Secrets, &read); err != nil || (read.Installs != nil) != none {
			t.Errorf("%s is read as %+v, %v", text, read.Installs, err)
		}
	}
}
