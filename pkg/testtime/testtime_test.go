package testtime

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// spy records the result that a helper reports for a test.
type spy struct {
	testing.TB
	failed bool
}

func (s *spy) Helper()               {}
func (s *spy) Logf(string, ...any)   {}
func (s *spy) Errorf(string, ...any) { s.failed = true }
func (s *spy) Fatalf(string, ...any) { s.failed = true; runtime.Goexit() }

// fails reports whether a helper fails its test.
func fails(t *testing.T, helper func(t testing.TB)) bool {
	s := &spy{TB: t}
	var wait sync.WaitGroup
	wait.Go(func() { helper(s) })
	wait.Wait()
	return s.failed
}

func TestAHangEnds(t *testing.T) {
	for name, helper := range map[string]func(t testing.TB){
		"Receive": func(t testing.TB) { Receive(t, make(chan int), "a number") },
		"Until":   func(t testing.TB) { Until(t, "the end", func() bool { return false }) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				if !fails(t, helper) || time.Since(begun) < Limit || time.Since(begun) > Limit+longestPoll {
					t.Errorf("it ended after %s", time.Since(begun))
				}
			})
		})
	}
}

func TestWhatComesLateComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, numbers := time.Now(), make(chan int)
		go func() {
			time.Sleep(Limit - time.Minute)
			numbers <- 7
		}()
		if n := Receive(t, numbers, "a number"); n != 7 {
			t.Errorf("got %d", n)
		}
		begun = begun.Add(Limit)
		Until(t, "the hour", func() bool { return time.Now().After(begun) })
	})
}

func TestRest(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		0: minRest, 10 * time.Millisecond: minRest, 100 * time.Millisecond: 400 * time.Millisecond,
		time.Minute: maxRest,
	} {
		if got := Rest(took); got != want {
			t.Errorf("after a check of %s: %s, want %s", took, got, want)
		}
	}
}

func TestContextEndsAHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		<-Context(t).Done()
		if took := time.Since(begun); took != Limit {
			t.Errorf("it ended after %s", took)
		}
	})
}

// TestCost checks that the cost of work in units does not depend on other load.
func TestCost(t *testing.T) {
	stop := make(chan struct{})
	var busy sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		busy.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	defer busy.Wait()
	defer close(stop)
	work := func(units int) func() {
		return func() {
			for range units {
				runUnit()
			}
		}
	}
	median := func(work func()) float64 { // a single cost is wrong if other load changes between the work and its unit
		costs := []float64{CPUCost(work), CPUCost(work), CPUCost(work), CPUCost(work), CPUCost(work)}
		slices.Sort(costs)
		return costs[2]
	}
	few, many := median(work(2)), median(work(40))
	t.Logf("2 units cost %.1f, 40 cost %.1f", few, many)
	if few < 0.1 || many < 4 || few > 20 || many > 400 || many < 3*few {
		t.Errorf("2 units cost %.1f, 40 cost %.1f", few, many)
	}
	if fails(t, func(t testing.TB) { CheckCPUCost(t, 20, work(2)) }) ||
		!fails(t, func(t testing.TB) { CheckCPUCost(t, 2, work(40)) }) {
		t.Error("the limit is not what counts")
	}
}

// TestGrowth checks that quadratic growth is detected, and that linear growth passes.
func TestGrowth(t *testing.T) {
	work := func(units int) func() {
		return func() {
			for range units {
				runUnit()
			}
		}
	}
	if fails(t, func(t testing.TB) { CheckGrowth(t, 9, "work", work(1), work(4)) }) {
		t.Error("four times the work is too much")
	}
	if !fails(t, func(t testing.TB) { CheckGrowth(t, 4, "work", work(1), work(16)) }) {
		t.Error("16 times the work is not too much")
	}
}
