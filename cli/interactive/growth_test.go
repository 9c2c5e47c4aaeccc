//go:build !race

package interactive

import (
	"runtime"
	"testing"
)

// TestALongSessionDoesNotGrow checks that many updates of a list and of a workflow leave no memory behind.
func TestALongSessionDoesNotGrow(t *testing.T) {
	s := newStage(t, plainTheme, 140, 45, many(t, 200))
	s.visit("installs")
	held := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	work := func(times int) {
		for range times {
			s.Update(loaded{view: s.top(), store: func() {}})
			s.Update(pushed{view: s.top(), stores: []func(){func() {}}})
			s.press("j")
			_ = s.View()
		}
	}
	work(100)
	before := held()
	work(2000)
	if after := held(); after > before+1<<20 {
		t.Errorf("%d bytes are held after 2,000 updates, %d before", after, before)
	}
}
