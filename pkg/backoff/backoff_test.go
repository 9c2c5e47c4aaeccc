package backoff_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
)

func TestNext(t *testing.T) {
	for name, test := range map[string]struct {
		backoff backoff.Backoff
		want    []time.Duration
	}{
		"doubles up to the most":    {backoff.Backoff{First: 1, Max: 5}, []time.Duration{1, 2, 4, 5, 5}},
		"stays":                     {backoff.Backoff{First: 3, Max: 3}, []time.Duration{3, 3, 3}},
		"first is more than most":   {backoff.Backoff{First: 4, Max: 3}, []time.Duration{4, 3, 3}},
		"the zero value is at once": {backoff.Backoff{}, []time.Duration{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []time.Duration
			for range test.want {
				got = append(got, test.backoff.Next())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestJitter(t *testing.T) {
	for _, pause := range []time.Duration{-1, 0, 1} {
		if got := backoff.Jitter(pause); got != pause {
			t.Errorf("Jitter(%d) is %d", pause, got)
		}
	}
	drawn := map[time.Duration]bool{}
	for range 1000 {
		got := backoff.Jitter(time.Second)
		if got < time.Second/2 || got >= time.Second {
			t.Fatalf("Jitter(1s) is %s", got)
		}
		drawn[got] = true
	}
	if len(drawn) < 2 {
		t.Error("all draws are the same")
	}
}

func TestPause(t *testing.T) {
	for name, test := range map[string]struct {
		pause, end time.Duration // end of the context; none if zero
		want       bool
		took       time.Duration
	}{
		"to the end":        {pause: time.Minute, want: true, took: time.Minute},
		"context ends":      {pause: time.Minute, end: time.Second, took: time.Second},
		"no time":           {want: true},
		"less than none":    {pause: -time.Second, want: true},
		"context ends late": {pause: time.Second, end: time.Minute, want: true, took: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if test.end != 0 {
					within, cancel := context.WithTimeout(ctx, test.end)
					defer cancel()
					ctx = within
				}
				begun := time.Now()
				if got := backoff.Pause(ctx, test.pause); got != test.want || time.Since(begun) != test.took {
					t.Errorf("%v after %s, want %v after %s", got, time.Since(begun), test.want, test.took)
				}
			})
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, pause := range []time.Duration{0, time.Hour} {
		if backoff.Pause(ended, pause) {
			t.Errorf("waited %s after the end of its context", pause)
		}
	}
}
