package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// TestConfirmEnded checks that a person can end only an attempt of which the runner knows nothing more.
func TestConfirmEnded(t *testing.T) {
	pod := spool.Pod{Namespace: "nuon", Job: "nuon-job-1", Name: "nuon-job-1-abc", Node: "node-1"}
	ended, unproven := pod, pod
	ended.Ended, unproven.Unproven = &spool.PodEnd{Proof: spool.ProofKubelet}, "the pod was removed"
	for name, test := range map[string]struct {
		attempt string
		pod     *spool.Pod
		want    string
	}{
		"a process":          {"job_1/1", nil, "is no job of this runner that runs as a pod"},
		"another job":        {"job_2/1", &unproven, "is no job of this runner that runs as a pod"},
		"no attempt":         {"job_1", &unproven, `"job_1" is no attempt of a job`},
		"a hostile name":     {"../x/1", &unproven, "is no attempt of a job"},
		"a pod that runs":    {"job_1/1", &pod, "cancel the job instead"},
		"a pod that ended":   {"job_1/1", &ended, "has ended, and the runner knows that"},
		"a pod that is gone": {"job_1/1", &unproven, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			attempt, err := spool.Spool{Root: dir}.Create(spool.Record{Job: "job_1", Attempt: 1, Kind: "apply"})
			if err == nil && test.pod != nil {
				err = attempt.SavePod(*test.pod)
			}
			if err != nil {
				t.Fatal(err)
			}
			root := newRoot()
			var out strings.Builder
			root.SetOut(&out)
			root.SetErr(&out)
			root.SetArgs([]string{"confirm-ended", test.attempt, "--dir", dir, "--reason", "the instance is off"})
			err = root.Execute()
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v", err)
			}
			if attempt.IsConfirmedEnded() != (test.want == "") {
				t.Error("it is confirmed, or not")
			}
			log, _ := os.ReadFile(filepath.Join(dir, "audit", "audit.log"))
			if test.want == "" && (!strings.Contains(string(log), "end of a job confirmed") ||
				!strings.Contains(string(log), "the instance is off") ||
				!strings.Contains(out.String(), "confirmed: nothing of job_1/1")) {
				t.Errorf("it prints %s, and the log is %s", out.String(), log)
			}
		})
	}
}
