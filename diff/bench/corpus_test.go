package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/nuon-toolkit/nuon/diff/kubernetes"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
	"github.com/nuon-toolkit/nuon/diff/terminal"
)

// upgrades lists the pairs in NUON_DIFF_CORPUS.
var upgrades = [][2]string{
	{"argo-cd-2.14", "argo-cd-3.5"}, {"ingress-nginx-1.12", "ingress-nginx-1.15"}, {"metallb-0.13", "metallb-0.15"},
	{"tekton-0.50", "tekton-1.0"},
}

// finding matches a line with a finding of a rule; dyff has no findings.
var finding = regexp.MustCompile(`(?m)^ {6}(! )?(security|note|restart|replace|destroy|additive): .*\n`)

// BenchmarkUpgrades measures the bytes printed for real upgrades, without findings. The peer is
// dyff.
func BenchmarkUpgrades(b *testing.B) {
	dir := os.Getenv("NUON_DIFF_CORPUS")
	if dir == "" {
		b.Skip("NUON_DIFF_CORPUS is not set")
	}
	for _, pair := range upgrades {
		b.Run(pair[1], func(b *testing.B) {
			var sides [2][]byte
			for i, name := range pair {
				data, err := os.ReadFile(filepath.Join(dir, name+".yaml"))
				if err != nil {
					b.Fatal(err)
				}
				sides[i] = data
			}
			var ours, theirs times
			var printed, peer bytes.Buffer
			for b.Loop() {
				printed.Reset()
				peer.Reset()
				ours.take(func() {
					r, err := kubernetes.Report([]manifest.Source{{Name: "before", Data: sides[0]}},
						[]manifest.Source{{Name: "after", Data: sides[1]}},
						kubernetes.Options{})
					if err != nil {
						b.Fatal(err)
					}
					if err := terminal.Render(&printed, r, terminal.Options{}); err != nil {
						b.Fatal(err)
					}
				})
				theirs.take(func() { dyffs(b, sides[0], sides[1], &peer) })
			}
			ours.report(b)
			ours.per(b, theirs, "x-dyff")
			text := finding.ReplaceAll(printed.Bytes(), nil)
			b.ReportMetric(float64(len(text)), "bytes")
			b.ReportMetric(float64(len(text))/float64(peer.Len()), "x-dyff-bytes")
			if out := os.Getenv("NUON_DIFF_PRINTED"); out != "" {
				_ = os.WriteFile(filepath.Join(out, pair[1]+".ours.txt"), text, 0o600)
				_ = os.WriteFile(filepath.Join(out, pair[1]+".dyff.txt"), peer.Bytes(), 0o600)
			}
		})
	}
}
