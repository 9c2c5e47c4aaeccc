package jobpod

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

// TestNamesOfJobs checks that each attempt has a name that Kubernetes accepts, and no other attempt has the same.
func TestNamesOfJobs(t *testing.T) {
	seen := map[string]string{}
	for _, runner := range []string{"run_1", "run_2"} {
		for _, job := range []string{"job_1", "job-1", "JOB_1", "a", "0__", strings.Repeat("x", 100),
			strings.Repeat("x", 99)} {
			for attempt := range 2 {
				name := jobName(runner, job, attempt+1)
				if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
					t.Errorf("%s: %v", name, problems)
				}
				if other, there := seen[name]; there {
					t.Errorf("%s and %s of %s are both %s", other, job, runner, name)
				}
				seen[name] = job
				if jobName(runner, job, attempt+1) != name {
					t.Errorf("%s has two names", job)
				}
			}
		}
	}
}
