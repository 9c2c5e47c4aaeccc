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
// plan from the older would be to make again what is there. A control plane that takes the newer one and goes on giving out an older
// one of the same lineage is refused, for that is how a hostile one would roll a state back. What a person has given up stays so: there
// is no state then, or one of another lineage.
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
	newest, found, err = a.Remote.GetState(ctx)
	switch {
	case err != nil || !found || newest.Lineage != kept.Lineage:
		// A person may have given the state up in the meantime (nuon state abandon). Theirs is the last word.
		return newest, found, err
	case newest.Serial < kept.Serial:
		// Nobody takes back a version of a state that goes on: what a person restores gets a new serial.
		return api.State{}, false, fmt.Errorf("the control plane took serial %d of this state, which this runner has handed in before, and still gives out serial %d: "+
			"to go on from that would undo what was applied since; look at the audit log (nuon audit), and if the older state is right, remove states/%s.json in the directory of the runner", kept.Serial, newest.Serial, a.component)
	case newest.Digest != kept.Digest:
		return newest, found, nil
	}
	a.say("the control plane had %s, but this runner has handed in serial %d before: it was brought back from an older backup. Serial %d is delivered again, and the work goes on from it", had, kept.Serial, kept.Serial)
	return newest, true, nil
}
