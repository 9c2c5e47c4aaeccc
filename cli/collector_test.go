package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

func collectorPercent() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// TestTheFirstCollectionIsPutOff checks that the delay ends with the first collection, and
// that GOGC overrides it.
func TestTheFirstCollectionIsPutOff(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(usualPercent))
	t.Setenv("GOGC", "50")
	if relaxCollector(); collectorPercent() != usualPercent {
		t.Errorf("with GOGC the percentage is changed to %d", collectorPercent())
	}
	t.Setenv("GOGC", "")
	debug.SetGCPercent(-1)
	if relaxCollector(); collectorPercent() != relaxedPercent {
		t.Errorf("before the first collection the percentage is %d, want %d", collectorPercent(), relaxedPercent)
	}
	runtime.GC()
	testtime.Until(t, "the collector is as usual", func() bool { return collectorPercent() == usualPercent })
}
