package refusal_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/refusal"
)

func TestDetailsKeepTheRefusal(t *testing.T) {
	gone := refusal.New(refusal.Conflict, "offer_gone", "the offer has expired", "Lease again.")
	other := refusal.New(refusal.Conflict, "offer_gone", "the offer has expired", "Lease again.")
	err := fmt.Errorf("accept: %w", gone.With("its workflow %s", "ended").With("twice"))
	if !errors.Is(err, gone) || errors.Is(err, other) {
		t.Errorf("%v is %v: %t, is another: %t", err, gone, errors.Is(err, gone), errors.Is(err, other))
	}
	var detailed *refusal.Error
	if !errors.As(err, &detailed) {
		t.Fatalf("%v is no refusal", err)
	}
	if detailed.Title != "the offer has expired: its workflow ended: twice" || detailed.Code != gone.Code ||
		detailed.Kind != gone.Kind || detailed.Remedy != gone.Remedy {
		t.Errorf("details made %+v", detailed)
	}
	if want := "the offer has expired: its workflow ended: twice. Lease again."; detailed.Error() != want {
		t.Errorf("the text is %q, want %q", detailed.Error(), want)
	}
	if gone.Title != "the offer has expired" {
		t.Errorf("details changed the sentinel to %q", gone.Title)
	}
}

func TestInvalidf(t *testing.T) {
	err := refusal.Invalidf("a name has at most %d bytes", 63)
	if !errors.Is(err, refusal.ErrInvalid) || err.Title != "the request is not valid: a name has at most 63 bytes" {
		t.Errorf("%v", err)
	}
}
