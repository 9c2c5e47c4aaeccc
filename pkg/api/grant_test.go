package api_test

import (
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// TestGrantedUntil checks that the longest grant counts, and that one which has ended does not.
func TestGrantedUntil(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	in := func(hours int) time.Time { return now.Add(time.Duration(hours) * time.Hour) }
	roles := api.RunnerRoles{Granted: []api.RunnerGrant{
		{Role: "repair", Until: in(2)}, {Role: "rep*", Until: in(3)}, {Role: "*", Until: in(1)},
		{Role: "ended", Until: in(-1)}, {Role: "ends-now", Until: now},
	}}
	for role, want := range map[string]time.Time{"repair": in(3), "report": in(3), "ended": in(1), "ends-now": in(1)} {
		if end, granted := roles.GrantedUntil(role, now); !granted || !end.Equal(want) {
			t.Errorf("%s is granted until %v, %t; want %v", role, end, granted, want)
		}
	}
	for _, at := range []time.Time{in(3), in(4)} {
		if end, granted := roles.GrantedUntil("repair", at); granted || !end.IsZero() {
			t.Errorf("at %v, the role is granted until %v", at, end)
		}
	}
}
