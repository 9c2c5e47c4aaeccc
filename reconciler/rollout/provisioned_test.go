package rollout_test

import (
	"maps"
	"sync"
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

// provisioned is a world whose install is up to date, and its rows. Most tests go on from it, and the way there is most of their work,
// so it is gone once.
var provisioned struct {
	sync.Mutex
	world *world // nil until a test needed it; connected to nothing
	rows  storetest.Frozen
}

// newProvisionedWorld is newWorld and provision: a copy of everything, on a database of the test's own.
func newProvisionedWorld(t *testing.T) *world {
	t.Helper()
	provisioned.Lock()
	defer provisioned.Unlock()
	if provisioned.world == nil {
		w := newWorld(t)
		w.provision()
		must(t, w.seed.Close(t.Context()))
		w.store.Close()
		provisioned.rows, provisioned.world = storetest.Freeze(t, w.dsn), w
	}
	w := *provisioned.world
	w.T, w.dsn, w.app = t, provisioned.rows.DSN(t), hello()
	w.state, w.plans, w.break_ = maps.Clone(w.state), maps.Clone(w.plans), maps.Clone(w.break_)
	w.open()
	w.exec("select set_config('nuon.org', $1, false)", w.org)
	w.exec("update runners set last_seen = now()") // it may be a while since
	return &w
}
