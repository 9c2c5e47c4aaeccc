package transfer

import (
	"context"
	"net/http"
	"testing"
)

// BenchmarkCopy copies 100 MiB: for the first time, again, and after an interruption
// in the middle. came and sent are bytes over the wire per MiB of the layer, from the vendor
// and to the install's registry.
func BenchmarkCopy(b *testing.B) {
	const size = 100 << 20
	fresh := func(b *testing.B) *rig {
		b.Helper()
		b.StopTimer()
		defer b.StartTimer()
		return newRig(b, size)
	}
	report := func(b *testing.B, came, sent int64) {
		b.Helper()
		b.ReportMetric(float64(came)/float64(b.N)/(1<<20), "MiB-came/op")
		b.ReportMetric(float64(sent)/float64(b.N)/(1<<20), "MiB-sent/op")
	}
	once := func(b *testing.B, r *rig) {
		b.Helper()
		if err := r.sync(); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("new", func(b *testing.B) {
		var came, sent int64
		for range b.N {
			r := fresh(b)
			once(b, r)
			came, sent = came+r.bytes.Load(), sent+r.stored.Load()
		}
		report(b, came, sent)
	})
	b.Run("again", func(b *testing.B) {
		r := fresh(b)
		once(b, r)
		came, sent := r.bytes.Load(), r.stored.Load()
		b.ResetTimer()
		for range b.N {
			once(b, r)
		}
		report(b, r.bytes.Load()-came, r.stored.Load()-sent)
	})
	b.Run("interrupted", func(b *testing.B) {
		var came, sent int64
		for range b.N {
			r := fresh(b)
			ctx, interrupt := context.WithCancel(b.Context())
			r.answer = func(w http.ResponseWriter, request *http.Request) bool {
				if r.layers.Load() == 1 {
					r.cut(w, request, size/2)
				}
				interrupt()
				<-request.Context().Done()
				return true
			}
			if _, err := (Sync{}).Run(ctx, r.env()); err == nil {
				b.Fatal("it was not interrupted")
			}
			r.answer = nil
			once(b, r)
			came, sent = came+r.bytes.Load(), sent+r.stored.Load()
		}
		report(b, came, sent)
	})
}
