package image

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// BenchmarkCopy compares the build of an image for three platforms of 64 MiB, with a signature, with oras
// copy -r of the same image between the same registries, in the same round. The ratio is that of their
// throughput. "again" is a build of an image that the vendor has; it fails if it sends a blob of the image.
func BenchmarkCopy(b *testing.B) {
	r := newRig(b)
	const size = 64 << 20
	index := r.index("1.4", r.platform("amd64", size), r.platform("arm64", size), r.platform("riscv64", size))
	r.attach(index, "signature")
	var own, peer, again []time.Duration
	for i := 0; b.Loop(); i++ {
		env := r.env("1.4")
		env.Root, env.Spec.Build.Repository = b.TempDir(), fmt.Sprintf("org/builds/api%d", i)
		own = append(own, timed(func() { r.mustBuild(env) }))
		peer = append(peer, timed(func() { r.orasCopy(b.Context(), fmt.Sprintf("peer/api%d", i)) }))

		sent := r.stored.Load()
		again = append(again, timed(func() { r.mustBuild(env) }))
		if more := r.stored.Load() - sent; more > 0 {
			b.Fatalf("%d bytes of blobs were sent again", more)
		}
	}
	b.ReportMetric(median(peer).Seconds()/median(own).Seconds(), "of-oras")
	b.ReportMetric(float64(median(own).Milliseconds()), "ms/copy")
	const manifests = 5
	b.ReportMetric(float64(median(again).Milliseconds())/manifests, "ms-again/manifest")
}

// orasCopy copies the image, and what refers to it, with the library of oras.
func (r *rig) orasCopy(ctx context.Context, to string) {
	r.t.Helper()
	open := func(host, name string, plain bool) *remote.Repository {
		opened, err := remote.NewRepository(host + "/" + name)
		r.must(err)
		opened.PlainHTTP = plain
		opened.Client = &auth.Client{Client: r.source.Client()}
		if plain {
			opened.Client = &auth.Client{Client: &http.Client{}}
		}
		return opened
	}
	_, err := oras.ExtendedCopy(ctx, open(r.host(), sourceName, false), "1.4",
		open(strings.TrimPrefix(r.vendor.URL, "http://"), to, true), "1.4", oras.DefaultExtendedCopyOptions)
	r.must(err)
}

func timed(do func()) time.Duration {
	start := time.Now()
	do()
	return time.Since(start)
}

func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
