package workflow

import (
	"encoding/json"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// FuzzTarget: a target is stored as JSON and read again. Any JSON is either read
// completely or rejected, and means the same when it is stored again.
func FuzzTarget(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `[1]`,
		`{"digest":"d","module":{"vars":{"a":"b"},"values":{"plain":{"x":1},"sealed":[]}},"config":{"after":null}}`,
		`{"restore":{"version":3,"digest":"x"},"before":{"digest":"d","version":null}}`, `{"problem":"p","stale":"s"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		target, err := decodeTarget(raw)
		if err != nil {
			return
		}
		once, err := encode(target)
		if err != nil {
			return // absent JSON values cannot be stored
		}
		again, err := decodeTarget(once)
		if err != nil {
			t.Fatalf("%s cannot be read again: %v", once, err)
		}
		if twice, err := encode(again); err != nil || string(twice) != string(once) {
			t.Fatalf("%s becomes %s (%v)", once, twice, err)
		}
		if known, err := target.applied(false); err == nil && known.Digest != "" {
			t.Fatal("what is not known has a digest")
		}
	})
}

// FuzzPlanResult: a runner's plan result passes the checks only if all of it is valid.
func FuzzPlanResult(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"applyable":true,"report":{"kind":"terraform","totals":{}},"report_digest":"sha256:00","bundle":{"repository":"r","digest":"sha256:00"},"basis":{"desired_digest":"d"}}`,
		`{"outputs":[{"name":"a","value":1},{"name":"b","value":"\u0000"},{"name":"a"}]}`, `{"report":[[[]]]}`,
		`{"outputs":[{"name":"n","value":1e999}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var r api.PlanResult
		if json.Unmarshal(raw, &r) != nil {
			return
		}
		if outputs, err := checkOutputs(r.Outputs); err == nil {
			for _, o := range outputs {
				if (o.value == nil) == (o.sealed == nil) || !outputName.MatchString(o.name) || o.hash == "" {
					t.Fatalf("output %+v was taken", o)
				}
			}
		}
		target := Target{Digest: r.Basis.DesiredDigest,
			Deploy: api.DeploySpec{Repository: "r", Artifact: api.ArtifactRef{Digest: r.Basis.Artifact}}}
		if report, err := checkPlan(r, target); err == nil &&
			(report == nil || r.Applyable && !sha256Digest.MatchString(r.Bundle.Digest)) {
			t.Fatal("a plan without a report or a bundle was taken")
		}
		target.Restore.Version = 1
		if _, err := checkPlan(r, target); err == nil && r.Applyable && !sha256Digest.MatchString(r.Bundle.Digest) {
			t.Fatal("a restore without a bundle was taken")
		}
	})
}

// FuzzAsked: the request of a workflow is decoded from its row.
func FuzzAsked(f *testing.F) {
	for _, seed := range []string{`{}`, `{"env":{"A":"b"}}`,
		`{"restore":{"component":"web","install_component":"ico_1","version":2,"digest":"d"}}`, `{"cancel":{"Actor":"a"}}`,
		`{"assumptions":{"absent":true,"torn_down":["web"]},"redeploy":["web"],"inputs":{"a":"b"}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var asked WorkflowParams
		if json.Unmarshal(raw, &asked) != nil {
			return
		}
		once, err := encode(asked)
		if err != nil {
			t.Fatal(err)
		}
		var again WorkflowParams
		if err := json.Unmarshal(once, &again); err != nil || again.Restore != asked.Restore {
			t.Fatalf("%s is read again as %+v (%v)", once, again, err)
		}
	})
}
