package stackversion_test

import (
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/stackversion"
)

func TestStateOf(t *testing.T) {
	for _, c := range []struct {
		newest   int32
		reported bool
		running  string
		want     stackversion.State
	}{
		{0, false, "", stackversion.Pending}, {3, false, "2", stackversion.Pending}, {3, true, "3", stackversion.Active},
		{3, true, "2", stackversion.OutOfDate}, {3, true, "", stackversion.Unknown}, {3, true, "v3", stackversion.Unknown},
		{3, true, "4", stackversion.Unknown}, {0, true, "1", stackversion.Unknown},
	} {
		if got := stackversion.StateOf(stackversion.Newest{Version: c.newest}, c.reported, c.running); got != c.want {
			t.Errorf("newest %d, reported %v, running %q: %s", c.newest, c.reported, c.running, got)
		}
	}
}
