package terraform

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// spent is what a part of a benchmark took: the time on the clock, and that of processors in this
// process and in those that it started, which hardly depends on what else the machine does.
type spent struct{ clock, processor time.Duration }

func (s *spent) measure(b *testing.B, do func()) {
	b.Helper()
	used := func() (sum time.Duration) {
		for _, whose := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
			var usage syscall.Rusage
			if err := syscall.Getrusage(whose, &usage); err != nil {
				b.Fatal(err)
			}
			sum += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		}
		return sum
	}
	begun, before := time.Now(), used()
	do()
	s.clock += time.Since(begun)
	s.processor += used() - before
}

// BenchmarkBuildAndDeploy builds a module without a resource, and plans and applies it, each in the
// handler of its job, against a state that exists. The peer runs only the commands of Terraform that
// these jobs need, with a state in a file. They run alternately; the ratios are to the peer.
func BenchmarkBuildAndDeploy(b *testing.B) {
	const module = "variable \"a\" {}\noutput \"a\" {\n  value = var.a\n}\n"
	r := newRig(b)
	bare := b.TempDir()
	if err := os.WriteFile(filepath.Join(bare, "main.tf"), []byte(module), 0o600); err != nil {
		b.Fatal(err)
	}
	run := func(args ...string) {
		command := exec.CommandContext(b.Context(), "terraform", args...)
		command.Dir = bare
		command.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE="+os.DevNull)
		if out, err := command.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
	var builds, bareBuilds, deploys, bareDeploys spent
	for i := 0; b.Loop(); i++ {
		value := fmt.Sprint(i)
		spec := r.spec(r.mustBuild("m", "m/main.tf", module+"# "+value+"\n"))
		spec.Terraform.Vars = map[string]string{"a": value}
		builds.measure(b, func() { r.mustBuild("m", "m/main.tf", module+"# once more "+value+"\n") })
		deploys.measure(b, func() { r.mustApply(applySpec(spec, r.mustPlan(spec, false), false)) })
		bareBuilds.measure(b, func() {
			run("init")
			run("validate", "-json")
		})
		bareDeploys.measure(b, func() {
			run("init")
			run("plan", "-json", "-var", "a="+value, "-out=plan")
			run("show", "-json", "plan")
			run("init")
			run("show", "-json", "plan")
			run("apply", "-json", "plan")
		})
	}
	for name, pair := range map[string][2]spent{"build": {builds, bareBuilds}, "deploy": {deploys, bareDeploys}} {
		b.ReportMetric(pair[0].clock.Seconds()*1000/float64(b.N), "ms/"+name)
		b.ReportMetric(float64(pair[0].clock)/float64(pair[1].clock), "ratio/"+name)
		b.ReportMetric(pair[0].processor.Seconds()*1000/float64(b.N), "cpu-ms/"+name)
		b.ReportMetric(float64(pair[0].processor)/float64(pair[1].processor), "cpu-ratio/"+name)
	}
}
