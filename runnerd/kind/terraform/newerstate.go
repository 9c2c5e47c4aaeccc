package terraform

import (
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/state"
)

// newerStateGuard is a state.Backend that detects when this runner has delivered a newer state than
// the control plane has. That happens only when the control plane was restored from an older
// backup, because it never discards a stored version. The newer state is then delivered again,
// because a plan from the older one would create existing objects a second time. A control
// plane that accepts the newer state and still serves an older one of the same lineage
// is rejected, because a hostile one would roll a state back this way. A state that a person
// abandoned stays abandoned: then there is no state, or one of another lineage.
type newerStateGuard struct {
	state.Backend
	spool     spool.Spool
	component string
	logf      func(format string, args ...any)
}

// GetState returns the newest sealed state that the control plane or this runner has.
func (g newerStateGuard) GetState(ctx context.Context) (newest api.State, found bool, err error) {
	newest, found, err = g.Backend.GetState(ctx)
	if err != nil {
		return newest, found, err
	}
	kept, there, err := g.spool.CachedState(g.component)
	if err != nil || !there || found && (kept.Lineage != newest.Lineage || kept.Serial <= newest.Serial) {
		return newest, found, err
	}
	had := "no state of this component"
	if found {
		had = fmt.Sprintf("serial %d of this state", newest.Serial)
	}
	if err := g.DeliverState(ctx, kept); err != nil {
		return api.State{}, false, fmt.Errorf("the control plane has %s, and does not take serial %d, which this runner "+
			"has handed in before; it is in the runner's directory states: %w", had, kept.Serial, err)
	}
	newest, found, err = g.Backend.GetState(ctx)
	switch {
	case err != nil || !found || newest.Lineage != kept.Lineage:
		// A person may have abandoned the state in the meantime (nuon state abandon),
		// and their decision counts.
		return newest, found, err
	case newest.Serial < kept.Serial:
		// A version is never withdrawn from a lineage that continues: a restored
		// state gets a new serial.
		return api.State{}, false, fmt.Errorf("the control plane took serial %d of this state, which this runner has "+
			"handed in before, and still gives out serial %d: "+
			"continuing from it would undo what was applied since; look at the audit log (nuon audit), and if the older state "+
			"is right, remove states/%s.json in the directory of the runner", kept.Serial, newest.Serial, g.component)
	case newest.Digest != kept.Digest:
		return newest, found, nil
	}
	g.logf("the control plane had %s, but this runner has handed in serial %d before: it was brought back from an older "+
		"backup. Serial %d is delivered again, and the work goes on from it", had, kept.Serial, kept.Serial)
	return newest, true, nil
}
