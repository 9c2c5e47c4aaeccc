package bench

import (
	"bytes"
	"io"
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

// mostOfDyff is the most that a real upgrade may print without findings, as a part of dyff's bytes.
const mostOfDyff = 0.6

// eachUpgrade runs work for each pair in NUON_DIFF_CORPUS.
func eachUpgrade(tb testing.TB, work func(name string, before, after []byte)) {
	tb.Helper()
	dir := os.Getenv("NUON_DIFF_CORPUS")
	if dir == "" {
		tb.Skip("NUON_DIFF_CORPUS is not set")
	}
	for _, pair := range upgrades {
		var sides [2][]byte
		for i, name := range pair {
			data, err := os.ReadFile(filepath.Join(dir, name+".yaml"))
			if err != nil {
				tb.Fatal(err)
			}
			sides[i] = data
		}
		work(pair[1], sides[0], sides[1])
	}
}

// printUpgrade prints what nuon says of an upgrade, with findings.
func printUpgrade(tb testing.TB, w io.Writer, before, after []byte) {
	tb.Helper()
	r, err := kubernetes.Report([]manifest.Source{{Name: "before", Data: before}},
		[]manifest.Source{{Name: "after", Data: after}}, kubernetes.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	if err := terminal.Render(w, r, terminal.Options{}); err != nil {
		tb.Fatal(err)
	}
}

// TestUpgradesPrintFewBytes checks that each upgrade is printed in at most mostOfDyff of dyff's bytes. Both programs'
// outputs are the same in each run.
func TestUpgradesPrintFewBytes(t *testing.T) {
	eachUpgrade(t, func(name string, before, after []byte) {
		var printed, peer bytes.Buffer
		printUpgrade(t, &printed, before, after)
		dyffs(t, before, after, &peer)
		ours := len(finding.ReplaceAll(printed.Bytes(), nil))
		if ours == 0 || float64(ours) > mostOfDyff*float64(peer.Len()) {
			t.Errorf("%s is printed in %d bytes, and by dyff in %d: want at most %g of them", name, ours, peer.Len(),
				mostOfDyff)
		}
	})
}

// BenchmarkUpgrades measures the bytes printed for real upgrades, without findings. The peer is
// dyff.
func BenchmarkUpgrades(b *testing.B) {
	eachUpgrade(b, func(name string, before, after []byte) {
		b.Run(name, func(b *testing.B) {
			var ours, theirs times
			var printed, peer bytes.Buffer
			for b.Loop() {
				printed.Reset()
				peer.Reset()
				ours.take(func() { printUpgrade(b, &printed, before, after) })
				theirs.take(func() { dyffs(b, before, after, &peer) })
			}
			ours.report(b)
			ours.per(b, theirs, "x-dyff")
			text := finding.ReplaceAll(printed.Bytes(), nil)
			b.ReportMetric(float64(len(text)), "bytes")
			b.ReportMetric(float64(len(text))/float64(peer.Len()), "x-dyff-bytes")
			if out := os.Getenv("NUON_DIFF_PRINTED"); out != "" {
				_ = os.WriteFile(filepath.Join(out, name+".ours.txt"), text, 0o600)
				_ = os.WriteFile(filepath.Join(out, name+".dyff.txt"), peer.Bytes(), 0o600)
			}
		})
	})
}
