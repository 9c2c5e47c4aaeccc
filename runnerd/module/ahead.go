package module

import (
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/state"
)

// ahead notices when this runner has handed in a newer state than the control plane has. That only happens when the control plane
// was brought back from an older backup: what it has kept once it never takes back. The newer one is delivered again, because to
// plan from the older would be to make again what is there. What people have dismissed or abandoned stays so.
type ahead struct {
	state.Remote
	spool     spool.Spool
	component string
	say       func(format string, args ...any)
}

// GetState gives the newest sealed state that the control plane or this runner has.
func (a ahead) GetState(ctx context.Context) (newest api.State, found bool, err error) {
	newest, found, err = a.Remote.GetState(ctx)
	if err != nil {
		return newest, found, err
	}
	kept, there, err := a.spool.KeptState(a.component)
	if err != nil || !there || found && (kept.Lineage != newest.Lineage || kept.Serial <= newest.Serial) {
		return newest, found, err
	}
	had := "no state of this component"
	if found {
		had = fmt.Sprintf("serial %d of this state", newest.Serial)
	}
	if err := a.DeliverState(ctx, kept); err != nil {
		return api.State{}, false, fmt.Errorf("the control plane has %s, and does not take serial %d, which this runner has handed in before; it is in the runner's directory states: %w", had, kept.Serial, err)
	}
	// A person may have said in the meantime that this version counts for nothing. Theirs is the last word.
	newest, found, err = a.Remote.GetState(ctx)
	if err != nil || !found || newest.Digest != kept.Digest {
		return newest, found, err
	}
	a.say("the control plane had %s, but this runner has handed in serial %d before: it was brought back from an older backup. Serial %d is delivered again, and the work goes on from it", had, kept.Serial, kept.Serial)
	return newest, true, nil
}
