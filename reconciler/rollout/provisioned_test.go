package rollout_test

import (
	"maps"
	"sync"
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

// provisioned caches a world whose install is up to date, with its rows. Most tests
// start from it, and reaching it is most of their work.
var provisioned struct {
	sync.Mutex
	world *world // nil until a test needs it; not connected
	rows  storetest.Snapshot
}

// newProvisionedWorld is newWorld followed by provision: a copy of everything, on the
// test's own database.
func newProvisionedWorld(t testing.TB) *world {
	t.Helper()
	provisioned.Lock()
	defer provisioned.Unlock()
	if provisioned.world == nil {
		w := newWorld(t)
		w.provision()
		must(t, w.seed.Close(t.Context()))
		w.store.Close()
		provisioned.rows, provisioned.world = storetest.TakeSnapshot(t, w.dsn), w
	}
	w := *provisioned.world
	w.TB, w.dsn, w.app = t, provisioned.rows.DSN(t), hello()
	w.state, w.plans, w.break_ = maps.Clone(w.state), maps.Clone(w.plans), maps.Clone(w.break_)
	w.open()
	w.exec("select set_config('nuon.org', $1, false)", w.org)
	w.exec("update runners set last_seen = now()") // the cached value may be old
	return &w
}
