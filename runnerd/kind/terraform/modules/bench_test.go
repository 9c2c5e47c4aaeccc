package modules

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/filetree"
	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform/modules/registrytest"
)

// BenchmarkThreeRegistryModules compares a resolution, without and with a record and a cache, with
// Terraform's own init of the same component. Each module has 200 files, like large public ones.
func BenchmarkThreeRegistryModules(b *testing.B) {
	server := registrytest.New(b)
	text := ""
	for i := range 3 {
		files := []string{"main.tf", ""}
		for n := range 200 {
			files = append(files, fmt.Sprintf("docs/%d.md", n), strings.Repeat(fmt.Sprintf("line %d of %d\n", n, i), 300))
		}
		name := fmt.Sprintf("acme/m%d/aws", i)
		server.PublishModule(name, "1.0.0", files...)
		text += calling(fmt.Sprintf("m%d", i), server.Host+"/"+name, "~> 1.0")
	}
	source := filesOf("app/main.tf", text)
	options := trusting(server)
	options.Cache = b.TempDir()
	var recorded *Resolution
	resolve := func(b *testing.B, previous *Resolution) {
		b.Helper()
		for b.Loop() {
			result, err := New(options).Resolve(b.Context(), filetree.New(source), "app", previous)
			if err != nil {
				b.Fatal(err)
			}
			recorded = &result.Resolution
		}
	}
	b.Run("fetched", func(b *testing.B) { resolve(b, nil) })
	b.Run("cached", func(b *testing.B) { resolve(b, recorded) })
	b.Run("terraform", func(b *testing.B) {
		roots := server.CertificateFile()
		for b.Loop() {
			dir := filepath.Join(b.TempDir(), "tree")
			if err := artifact.WriteTree(source, dir, artifact.Limits{}); err != nil {
				b.Fatal(err)
			}
			runTerraform(b, filepath.Join(dir, "app"), []string{"SSL_CERT_FILE=" + roots}, "init", "-input=false")
			if err := os.RemoveAll(dir); err != nil {
				b.Fatal(err)
			}
		}
	})
}
