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

// Cost returns the processor time of the work, as a multiple of that of a fixed piece of Go code (a
// unit) that runs right after it in the same thread. Other programs, other tests and the race
// detector affect the result little, because they slow down both. Work in other goroutines is not
// counted.
func Cost(work func()) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	took := measure(work)
	return float64(took) / float64(max(unit(), minUnit))
}

func measure(work func()) time.Duration {
	start := cpuTime()
	work()
	return cpuTime() - start
}

// CheckCost fails the test if the work costs more units than the limit. A unit is about a millisecond
// of one idle core, without the race detector. Limits are at least ten times the usual cost, and
// far below that of quadratic work.
func CheckCost(t testing.TB, limit float64, work func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	took := measure(work)
	if float64(took) <= limit*float64(minUnit) {
		return // saves a fuzz test the time to measure negligible work
	}
	cost := float64(took) / float64(max(unit(), minUnit))
	t.Logf("cost: %.1f units of %g", cost, limit)
	if cost > limit {
		t.Errorf("cost: %.0f units, more than %g", cost, limit)
	}
}

// minGrowthTime is the minimum time from which growth can be distinguished from the clock's
// resolution and from one-time work.
const minGrowthTime = time.Millisecond

// CheckGrowth fails the test if large takes more than limit times the processor time of small. It
// measures each up to three times and uses the minimum, because other load only increases the
// times. The processor time includes all goroutines and the garbage collector, so no other test may
// run at the same time: do not use it in tests that call t.Parallel.
func CheckGrowth(t testing.TB, limit float64, what string, small, large func()) {
	t.Helper()
	few := max(processCost(small), minGrowthTime)
	for range 2 {
		few = min(few, max(processCost(small), minGrowthTime))
	}
	ratio := float64(processCost(large)) / float64(few)
	for attempt := 0; attempt < 2 && ratio > limit; attempt++ {
		// Over several rounds, a run of the garbage collector affects both equally.
		few := max(processCost(func() { repeat(small) }), minGrowthTime)
		ratio = min(ratio, float64(processCost(func() { repeat(large) }))/float64(few))
	}
	if ratio > limit {
		t.Errorf("%s takes %.1f times as long, more than %g", what, ratio, limit)
	}
}

func repeat(work func()) {
	for range 8 {
		work()
	}
}

// processCost returns the processor time that this process uses while work runs.
func processCost(work func()) time.Duration {
	start := processTime()
	work()
	return processTime() - start
}

// unit returns the mean processor time of one unit of work, over so many units that the clock's
// resolution does not matter.
func unit() time.Duration {
	start, n := cpuTime(), 0
	for n < 4 || cpuTime()-start < 8*time.Millisecond {
		reference()
		n++
	}
	return (cpuTime() - start) / time.Duration(n)
}

// reference is the unit of work. It does what most of the measured code does: it creates strings,
// stores them in a map and sorts them.
func reference() {
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
