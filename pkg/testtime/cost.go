package testtime

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
)

// minUnit is less than the time of a unit on any machine.
const minUnit = 20 * time.Microsecond

// CPUCost returns the processor time of the work, as a multiple of that of a fixed piece of Go code (a
// unit) that runs right after it in the same thread. Other programs, other tests and the race
// detector affect the result little, because they slow down both. Work in other goroutines is not
// counted.
func CPUCost(work func()) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	elapsed := threadCPUTime(work)
	return float64(elapsed) / float64(max(measureUnit(), minUnit))
}

func threadCPUTime(work func()) time.Duration {
	start := cpuTime()
	work()
	return cpuTime() - start
}

// CheckCPUCost fails the test if the work costs more units than the limit. A unit is about a millisecond
// of one idle core, without the race detector. Limits are at least ten times the usual cost, and
// far below that of quadratic work.
func CheckCPUCost(t testing.TB, limit float64, work func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	elapsed := threadCPUTime(work)
	if float64(elapsed) <= limit*float64(minUnit) {
		return // saves a fuzz test the time to measure negligible work
	}
	cost := float64(elapsed) / float64(max(measureUnit(), minUnit))
	t.Logf("cost: %.1f units of %g", cost, limit)
	if cost > limit {
		t.Errorf("cost: %.0f units, more than %g", cost, limit)
	}
}

// minGrowthTime is the minimum time from which growth can be distinguished from the clock's
// resolution and from one-time work.
const minGrowthTime = time.Millisecond

// growthAttempts is how often a growth that is too high is measured again.
const growthAttempts = 8

// CheckGrowth fails the test if large takes more than maxRatio times the processor time of small. If it
// does, it measures both again, up to growthAttempts times, because other load can lengthen one of them.
// The lowest ratio counts. The processor time includes all goroutines and the garbage collector, so no other test may
// run at the same time: do not use it in tests that call t.Parallel.
func CheckGrowth(t testing.TB, maxRatio float64, name string, small, large func()) {
	t.Helper()
	few := max(processCPUTime(small), minGrowthTime)
	for range 2 {
		few = min(few, max(processCPUTime(small), minGrowthTime))
	}
	ratio := float64(processCPUTime(large)) / float64(few)
	for attempt := 0; attempt < growthAttempts && ratio > maxRatio; attempt++ {
		// Over several rounds, a run of the garbage collector affects both equally.
		few := max(processCPUTime(func() { repeat(small) }), minGrowthTime)
		ratio = min(ratio, float64(processCPUTime(func() { repeat(large) }))/float64(few))
	}
	t.Logf("%s takes %.1f times as long; the limit is %g", name, ratio, maxRatio)
	if ratio > maxRatio {
		t.Errorf("%s takes %.1f times as long, more than %g", name, ratio, maxRatio)
	}
}

func repeat(work func()) {
	for range 8 {
		work()
	}
}

// processCPUTime returns the processor time that this process uses while work runs.
func processCPUTime(work func()) time.Duration {
	start := processTime()
	work()
	return processTime() - start
}

// measureUnit returns the mean processor time of one unit of work, over so many units that the clock's
// resolution does not matter.
func measureUnit() time.Duration {
	start, n := cpuTime(), 0
	for n < 4 || cpuTime()-start < 8*time.Millisecond {
		runUnit()
		n++
	}
	return (cpuTime() - start) / time.Duration(n)
}

// runUnit is the unit of work. It does what most of the measured code does: it creates strings,
// stores them in a map and sorts them.
func runUnit() {
	const n = 2000
	index := make(map[string]int, n)
	for i := range n {
		index[fmt.Sprint("key ", i*7919%n)] = i
	}
	keys := make([]string, 0, n)
	for key := range index {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	runtime.KeepAlive(keys)
}
