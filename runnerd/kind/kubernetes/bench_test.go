package kubernetes

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// distant is a transport to a server with latency.
type distant struct {
	http.RoundTripper
	away time.Duration
}

// RoundTrip sends a request after a delay.
func (d distant) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := sleep(request.Context(), d.away); err != nil {
		return nil, err
	}
	return d.RoundTripper.RoundTrip(request)
}

// BenchmarkDryRuns does dry runs of 500 new objects, alternating between 8 workers and one.
// The ratio is that of one run on one machine; it is mostly hidden with a server that shares
// its processors with the test, but not with one that is 20 ms away.
func BenchmarkDryRuns(b *testing.B) {
	for _, away := range []time.Duration{0, 20 * time.Millisecond} {
		b.Run(fmt.Sprintf("away=%s", away), func(b *testing.B) { benchmarkDryRuns(b, away) })
	}
}

func benchmarkDryRuns(b *testing.B, away time.Duration) {
	r := newRig(b)
	var text strings.Builder
	for i := range 500 {
		fmt.Fprintf(&text, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c-%d}\ndata: {a: %q}\n", i,
			strings.Repeat("x", 500))
	}
	objects, err := decode(text.String())
	if err != nil {
		b.Fatal(err)
	}
	env := r.env(api.JobSpecKindPlan)
	opened, err := values.Open("inl1", api.Values{}, env.Key, &redact.Set{})
	if err != nil {
		b.Fatal(err)
	}
	session, err := open(env, api.DeploySpec{InstallID: "inl1", InstallComponent: r.component,
		Cluster: api.ClusterSpec{Context: "sandbox"}}, opened, opened.Secrets)
	if err != nil {
		b.Fatal(err)
	}
	far := session.cluster.WithTransport(func(next http.RoundTripper) http.RoundTripper { return distant{next, away} })
	if session.client, err = far.Dynamic(); err != nil {
		b.Fatal(err)
	}
	all, err := session.resolveObjects(objects, r.name)
	if err != nil {
		b.Fatal(err)
	}
	var together, alone time.Duration
	for b.Loop() {
		for part := range slices.Chunk(all, 100) {
			began := time.Now()
			if _, err := session.dryRunAll(b.Context(), part, nil); err != nil {
				b.Fatal(err)
			}
			together += time.Since(began)
			began = time.Now()
			for _, w := range part {
				if _, err := session.dryRun(b.Context(), w, newChangeContext(part, nil)); err != nil {
					b.Fatal(err)
				}
			}
			alone += time.Since(began)
		}
	}
	b.ReportMetric(float64(alone)/float64(together), "one/8workers")
	b.ReportMetric(float64(together.Milliseconds())/float64(b.N), "ms/500objects")
}
