package bench

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/gonvenience/ytbx"
	"github.com/homeport/dyff/pkg/dyff"
	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/kubernetes"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
	"github.com/nuon-toolkit/nuon/diff/terminal"
	"github.com/nuon-toolkit/nuon/diff/terraform"
)

// BenchmarkCRDs compares huge custom resource definitions as a process; 5 % of their lines differ.
// The peer is git diff.
func BenchmarkCRDs(b *testing.B) { processes(b, crds(1), crds(2), 1) }

// BenchmarkEqual compares equal inputs as a process. The peers are git diff, and cat, which only
// reads them.
func BenchmarkEqual(b *testing.B) { processes(b, shop(1), shop(1), 0) }

// processes compares two sides with nuon and its peers in turn. It reports the peak memory of nuon,
// less that of its help, relative to the size of both sides: the median, and the largest of all
// runs less the smallest of the help. They differ because of the pages of the program itself.
func processes(b *testing.B, before, after []byte, gitExit int) {
	program := nuon(b)
	x, y := files(b, before, after)
	var ours, git, cat times
	var peak, empty []int64 // in bytes
	for b.Loop() {
		t := process(b, 0, program, "diff", "manifests", x, y)
		ours, peak = append(ours, t.Time), append(peak, t.Peak)
		git = append(git, process(b, gitExit, "git", "--no-pager", "diff", "--no-index", x, y).Time)
		empty = append(empty, process(b, 0, program, "diff", "manifests", "--help").Peak)
		if gitExit == 0 {
			cat = append(cat, process(b, 0, "cat", x, y).Time)
		}
	}
	ours.report(b)
	ours.per(b, git, "x-git")
	if gitExit == 0 {
		ours.per(b, cat, "x-cat")
	}
	slices.Sort(peak)
	slices.Sort(empty)
	n, size := len(peak), float64(len(before)+len(after))
	b.ReportMetric(float64(peak[n/2]-empty[n/2])/size, "mem-x-input")
	b.ReportMetric(float64(peak[n-1]-empty[0])/size, "mem-x-input-max")
}

// BenchmarkShop compares 500 objects. All differ in a chart label, and one in four has a real
// difference. The peers are sigs.k8s.io/yaml, which only parses both sides, and dyff, which compares
// and prints them.
func BenchmarkShop(b *testing.B) {
	before, after := shop(1), shop(2)
	var ours, sigs, theirs times
	for b.Loop() {
		ours.take(func() { compare(b, before, after) })
		sigs.take(func() { parse(b, before); parse(b, after) })
		theirs.take(func() { dyffs(b, before, after, io.Discard) })
	}
	ours.report(b)
	ours.per(b, sigs, "x-sigs")
	ours.per(b, theirs, "x-dyff")
}

// BenchmarkTable compares one text of 16,000 lines, every fifth of which differs. The peer is
// sigs.k8s.io/yaml, which only parses.
func BenchmarkTable(b *testing.B) {
	before, after := table(1), table(2)
	var ours, sigs times
	for b.Loop() {
		ours.take(func() { compare(b, before, after) })
		sigs.take(func() { parse(b, before); parse(b, after) })
	}
	ours.report(b)
	ours.per(b, sigs, "x-sigs")
}

// BenchmarkPlan describes a plan of 10,000 resources. The peer is encoding/json, which only decodes
// it.
func BenchmarkPlan(b *testing.B) {
	data := plan()
	var ours, decoded times
	for b.Loop() {
		ours.take(func() {
			r, err := terraform.Report(bytes.NewReader(data), terraform.Options{})
			if err != nil {
				b.Fatal(err)
			}
			show(b, r)
		})
		decoded.take(func() {
			var v any
			if err := json.Unmarshal(data, &v); err != nil {
				b.Fatal(err)
			}
		})
	}
	ours.report(b)
	ours.per(b, decoded, "x-json")
}

// compare reads, compares and prints two sides.
func compare(b *testing.B, before, after []byte) {
	b.Helper()
	r, err := kubernetes.Report([]manifest.Source{{Name: "before", Data: before}},
		[]manifest.Source{{Name: "after", Data: after}}, kubernetes.Options{})
	if err != nil {
		b.Fatal(err)
	}
	show(b, r)
}

func show(b *testing.B, r *diff.Report) {
	b.Helper()
	if err := terminal.Render(io.Discard, r, terminal.Options{}); err != nil {
		b.Fatal(err)
	}
}

// parse reads one side as the clients of the Kubernetes API do.
func parse(b *testing.B, side []byte) {
	b.Helper()
	for document := range bytes.SplitSeq(side, []byte("---\n")) {
		var v any
		if err := yaml.Unmarshal(document, &v); err != nil {
			b.Fatal(err)
		}
	}
}

// dyffs reads, compares and prints two sides with dyff.
func dyffs(tb testing.TB, before, after []byte, w io.Writer) {
	tb.Helper()
	var sides [2]ytbx.InputFile
	for i, data := range [][]byte{before, after} {
		documents, err := ytbx.LoadDocuments(data)
		if err != nil {
			tb.Fatal(err)
		}
		sides[i] = ytbx.InputFile{Documents: documents}
	}
	report, err := dyff.CompareInputFiles(sides[0], sides[1])
	if err != nil {
		tb.Fatal(err)
	}
	human := &dyff.HumanReport{Report: report, Indent: 2, MinorChangeThreshold: 0.1, MultilineContextLines: 4,
		OmitHeader: true}
	if err := human.WriteReport(w); err != nil {
		tb.Fatal(err)
	}
}

// times holds the durations of all runs of one program.
type times []time.Duration

func (t *times) take(what func()) {
	start := time.Now()
	what()
	*t = append(*t, time.Since(start))
}

func (t times) median() time.Duration {
	sorted := slices.Sorted(slices.Values(t))
	return sorted[len(sorted)/2]
}

// report replaces the time per operation, which includes all peers, with that of nuon.
func (t times) report(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(1000*t.median().Seconds(), "ms")
}

// per reports our time relative to that of a peer.
func (t times) per(b *testing.B, peer times, name string) {
	b.ReportMetric(t.median().Seconds()/peer.median().Seconds(), name)
}
