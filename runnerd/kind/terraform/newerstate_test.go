package terraform

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/state"
)

// restored is a control plane with at most one state.
type restored struct {
	state.Backend
	has       *api.State
	dismissed bool // delivered states are not stored
	refuses   error
	delivered []api.State
}

func (r *restored) GetState(context.Context) (api.State, bool, error) {
	if r.has == nil {
		return api.State{}, false, nil
	}
	return *r.has, true, nil
}

func (r *restored) DeliverState(_ context.Context, s api.State) error {
	r.delivered = append(r.delivered, s)
	if r.refuses == nil && !r.dismissed {
		r.has = &s
	}
	return r.refuses
}

func TestAheadOfAControlPlane(t *testing.T) {
	t.Parallel()
	version := func(serial int64, lineage string) *api.State {
		return &api.State{Serial: serial, Lineage: lineage, Digest: fmt.Sprint(lineage, serial)}
	}
	for name, test := range map[string]struct {
		has, kept *api.State
		refuses   error
		want      int64 // serial; -1 for an error
		again     bool
		dismissed bool
		earlier   []*api.State // of other lineages, cached before kept
	}{
		"nothing anywhere":               {nil, nil, nil, 0, false, false, nil},
		"a new runner":                   {version(3, "l"), nil, nil, 3, false, false, nil},
		"the same":                       {version(3, "l"), version(3, "l"), nil, 3, false, false, nil},
		"another runner went on":         {version(4, "l"), version(3, "l"), nil, 4, false, false, nil},
		"made anew by a person":          {version(1, "new"), version(9, "l"), nil, 1, false, false, nil},
		"restored from an older backup":  {version(3, "l"), version(5, "l"), nil, 5, true, false, nil},
		"restored from before the first": {nil, version(5, "l"), nil, 5, true, false, nil},
		"a person abandoned it":          {nil, version(5, "l"), nil, 0, true, true, nil},
		"it rolls the state back":        {version(3, "l"), version(5, "l"), nil, -1, true, true, nil},
		"it does not take it":            {version(3, "l"), version(5, "l"), errors.New("no"), -1, true, false, nil},
		"it rolls an abandoned state back": {version(3, "l"), version(1, "m"), nil, -1, false, false,
			[]*api.State{version(5, "l")}},
		"a person went back to an abandoned state": {version(6, "l"), version(1, "m"), nil, 6, false, false,
			[]*api.State{version(5, "l")}},
	} {
		t.Run(name, func(t *testing.T) {
			spooled, said := spool.Spool{Root: t.TempDir()}, ""
			if test.kept != nil {
				a, err := spooled.Create(spool.Record{Job: "job", Attempt: 1})
				if err != nil {
					t.Fatal(err)
				}
				spec := api.JobSpec{Kind: api.JobSpecKindPlan, Plan: api.PlanSpec{Deploy: api.DeploySpec{InstallComponent: "web"}}}
				if err := a.SaveSpec(spec); err != nil {
					t.Fatal(err)
				}
				for _, state := range append(test.earlier, test.kept) {
					if err := a.CacheState(*state); err != nil {
						t.Fatal(err)
					}
				}
			}
			remote := &restored{has: test.has, refuses: test.refuses, dismissed: test.dismissed}
			got, found, err := newerStateGuard{Backend: remote, spool: spooled, component: "web",
				logf: func(f string, args ...any) { said += fmt.Sprintf(f, args...) }}.GetState(t.Context())
			if test.want < 0 {
				if err == nil || found || !strings.Contains(err.Error(), "serial 5") {
					t.Errorf("%v %t %v", got, found, err)
				}
				return
			}
			if err != nil || got.Serial != test.want || found != (test.want > 0) {
				t.Errorf("serial %d, %t, %v; want %d", got.Serial, found, err, test.want)
			}
			if again := len(remote.delivered) == 1; again != test.again ||
				(again && !test.dismissed) != strings.Contains(said, "older backup") {
				t.Errorf("delivered %v, said %q", remote.delivered, said)
			}
		})
	}
}
