package bench

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/nuon-toolkit/nuon/diff/internal/sample"
	"github.com/nuon-toolkit/nuon/diff/kubernetes"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
	"github.com/nuon-toolkit/nuon/diff/terminal"
)

// finding matches a line with a finding of a rule; dyff has no findings.
var finding = regexp.MustCompile(`(?m)^ {6}(! )?(security|note|restart|replace|destroy|additive): .*\n`)

// mostOfDyff is the most that a real upgrade may print without findings, as a part of dyff's bytes.
const mostOfDyff = 0.6

// coveredInstead is what runs without the real upgrades.
const coveredInstead = "the other benchmarks have generated inputs"

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
	sample.Upgrades(t, coveredInstead, func(t *testing.T, before, after []byte) {
		var printed, peer bytes.Buffer
		printUpgrade(t, &printed, before, after)
		dyffs(t, before, after, &peer)
		ours := len(finding.ReplaceAll(printed.Bytes(), nil))
		if ours == 0 || float64(ours) > mostOfDyff*float64(peer.Len()) {
			t.Errorf("it is printed in %d bytes, and by dyff in %d: want at most %g of them", ours, peer.Len(), mostOfDyff)
		}
	})
}

// BenchmarkUpgradeProcesses compares real upgrades as a process. The peer is git diff.
func BenchmarkUpgradeProcesses(b *testing.B) {
	for _, u := range sample.ReadUpgrades(b, coveredInstead) {
		b.Run(u.To, func(b *testing.B) { processes(b, u.Before, u.After, 1) })
	}
}

// BenchmarkUpgrades measures the bytes printed for real upgrades, without findings. The peer is
// dyff.
func BenchmarkUpgrades(b *testing.B) {
	for _, u := range sample.ReadUpgrades(b, coveredInstead) {
		b.Run(u.To, func(b *testing.B) {
			var ours, theirs times
			var printed, peer bytes.Buffer
			for b.Loop() {
				printed.Reset()
				peer.Reset()
				ours.take(func() { printUpgrade(b, &printed, u.Before, u.After) })
				theirs.take(func() { dyffs(b, u.Before, u.After, &peer) })
			}
			ours.report(b)
			ours.per(b, theirs, "x-dyff")
			text := finding.ReplaceAll(printed.Bytes(), nil)
			b.ReportMetric(float64(len(text)), "bytes")
			b.ReportMetric(float64(len(text))/float64(peer.Len()), "x-dyff-bytes")
			if out := os.Getenv("NUON_DIFF_PRINTED"); out != "" {
				_ = os.WriteFile(filepath.Join(out, u.To+".ours.txt"), text, 0o600)
				_ = os.WriteFile(filepath.Join(out, u.To+".dyff.txt"), peer.Bytes(), 0o600)
			}
		})
	}
}
