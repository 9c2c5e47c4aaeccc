package terraform

import (
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/state"
)

// newerStateGuard is a state.Backend that detects when this runner has delivered a newer state than
// the control plane has. That happens only when the control plane was restored from an older
// backup, because it never discards a stored version. The newer state is then delivered again,
// because a plan from the older one would create existing objects a second time. A control
// plane that accepts the newer state and still serves an older one of the same lineage
// is rejected, because a hostile one would roll a state back this way. A state that a person
// abandoned stays abandoned: then there is no state, or one of another lineage. Of an earlier lineage
// it is never an older state than this runner has delivered.
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
	kept, serials, there, err := g.spool.CachedState(g.component)
	switch {
	case err != nil || !there:
		return newest, found, err
	case found && kept.Lineage != newest.Lineage:
		return g.checkSerial(newest, serials)
	case found && kept.Serial <= newest.Serial:
		return newest, found, nil
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
	case err != nil || !found:
		// A person may have abandoned the state in the meantime (nuon state abandon),
		// and their decision counts.
		return newest, found, err
	case newest.Lineage != kept.Lineage || newest.Serial < kept.Serial:
		return g.checkSerial(newest, serials)
	case newest.Digest != kept.Digest:
		return newest, found, nil
	}
	g.logf("the control plane had %s, but this runner has handed in serial %d before: it was brought back from an older "+
		"backup. Serial %d is delivered again, and the work goes on from it", had, kept.Serial, kept.Serial)
	return newest, true, nil
}

// checkSerial returns the state, or an error if this runner has delivered a newer one of its lineage. A version is
// never withdrawn from a lineage that continues: a restored state gets a new serial.
func (g newerStateGuard) checkSerial(newest api.State, serials map[string]int64) (api.State, bool, error) {
	if highest := serials[newest.Lineage]; newest.Serial < highest {
		return api.State{}, false, fmt.Errorf("this runner has handed in serial %d of this state before, and the control "+
			"plane still gives out serial %d: continuing from it would undo what was applied since; look at the audit log "+
			"(nuon audit), and if the older state is right, remove states/%s.json in the directory of the runner", highest,
			newest.Serial, g.component)
	}
	return newest, true, nil
}

// guardOf returns the guard of the states of a job's component.
func guardOf(op *deploy.Operation) newerStateGuard {
	return newerStateGuard{Backend: op.Env.API, spool: spool.Spool{Root: op.Env.Root},
		component: op.Deploy.InstallComponent, logf: op.Env.Log.Warn}
}
