package terraform

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform/modules"
	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform/modules/registrytest"
)

// latencies are the times that a request takes besides the transfer: to a registry on the internet,
// and to one on the same machine, where the time of the processes is all there is.
var latencies = []struct {
	name string
	by   time.Duration
}{{"internet", 50 * time.Millisecond}, {"loopback", 0}}

// BenchmarkBuildWithModules compares a whole build of a module that calls three registry modules of
// 200 files, by the build handler, with "terraform init" alone in the same source, in the same run:
// without a cache, and with the record and the packages of an earlier build, when nothing is fetched.
func BenchmarkBuildWithModules(b *testing.B) {
	r := newRig(b)
	server, source := threeModules(b)
	build := func(b *testing.B, earlier api.ModuleResolution) api.BuildResult {
		b.Helper()
		env := r.env(api.JobSpecKindBuild)
		env.Spec.Build = api.BuildSpec{
			Build: "bld_1", Component: "web", ComponentKind: "terraform_module", Source: r.source(source...),
			Directory: "app", Repository: "vendor/web", TerraformVersion: terraformVersion, Tree: "sha256:0123",
			Modules: earlier,
		}
		result, err := Build{resolver: modules.Options{Roots: server.Roots,
			AllowPrivate: func(string) bool { return true }}}.Run(context.Background(), env)
		if err != nil {
			b.Fatal(err)
		}
		return result.Build
	}
	first := build(b, api.ModuleResolution{}) // also finds Terraform
	roots := server.CertificateFile()
	for _, latency := range latencies {
		b.Run(latency.name, func(b *testing.B) {
			server.Delay(latency.by)
			took := map[string][]float64{}
			measure := func(name string, one func()) {
				began := time.Now()
				one()
				took[name] = append(took[name], time.Since(began).Seconds())
			}
			for b.Loop() { // all three in each round, so that other work on the machine slows all of them
				measure("init", func() { runInit(b, source, roots) })
				if err := os.RemoveAll(filepath.Join(r.root, "modules")); err != nil {
					b.Fatal(err)
				}
				measure("build", func() { build(b, api.ModuleResolution{}) })
				server.Requests()
				measure("unchanged", func() { build(b, first.Modules) })
				if asked := server.Requests(); len(asked) > 0 {
					b.Fatalf("unchanged modules were fetched again: %v", asked)
				}
			}
			for name, all := range took {
				slices.Sort(all)
				b.ReportMetric(all[len(all)/2], "s/"+name)
			}
			median := func(name string) float64 { return took[name][len(took[name])/2] }
			b.ReportMetric(median("build")/median("init"), "ratio")
			b.ReportMetric(median("unchanged")/median("init"), "ratio-unchanged")
		})
	}
}

// threeModules returns a registry with three modules, and a component that calls them.
func threeModules(b *testing.B) (*registrytest.Server, []string) {
	b.Helper()
	server := registrytest.New(b)
	text := ""
	for i := range 3 {
		files := []string{"main.tf", "output \"id\" {\n  value = 1\n}\n"}
		for n := range 200 {
			files = append(files, fmt.Sprintf("docs/%d.md", n), strings.Repeat(fmt.Sprintf("line %d of %d\n", n, i), 300))
		}
		name := fmt.Sprintf("acme/m%d/aws", i)
		server.PublishModule(name, "1.0.0", files...)
		text += fmt.Sprintf("module \"m%d\" {\n  source  = %q\n  version = \"~> 1.0\"\n}\n", i, server.Host+"/"+name)
	}
	return server, []string{"app/main.tf", text}
}

// runInit runs "terraform init" in a fresh copy of a source.
func runInit(b *testing.B, source []string, roots string) {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "tree")
	if err := artifact.WriteTree([]artifact.File{{Path: source[0], Content: []byte(source[1])}}, dir,
		artifact.Limits{}); err != nil {
		b.Fatal(err)
	}
	program, err := exec.LookPath("terraform")
	if err != nil {
		b.Fatal(err)
	}
	init := exec.CommandContext(b.Context(), program, "init", "-input=false", "-no-color")
	init.Dir = filepath.Join(dir, "app")
	init.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + b.TempDir(), "CHECKPOINT_DISABLE=1", "SSL_CERT_FILE=" + roots,
	}
	if printed, err := init.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, printed)
	}
	if err := os.RemoveAll(dir); err != nil {
		b.Fatal(err)
	}
}
