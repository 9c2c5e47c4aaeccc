package review

import (
	"errors"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// TestTheResultMayArriveBeforeTheResponse checks that an answer that the control plane has recorded does not keep the
// user on the screen while the response to it takes its time, that it counts once, and that the answer of
// another person is not taken for it.
func TestTheResultMayArriveBeforeTheResponse(t *testing.T) {
	mine := func(a api.Approval) api.Approval {
		a.Status = api.ApprovalStatusRejected
		a.Response = api.GivenResponse{Answer: "reject", Actor: "vera", Reason: "not today", At: noon}
		return a
	}
	others := func(a api.Approval) api.Approval {
		a.Status = api.ApprovalStatusApproved
		a.Response = api.GivenResponse{Answer: "approve", Actor: "ann", At: noon}
		return a
	}
	reject := func(s *stage) { s.press("r"); s.write("not today"); s.press("enter") }
	all := alikeGrave()

	s := newStage(plainTheme, 110, 30, all[0])
	reject(s)
	s.send(listed{})
	s.shows(t, "Loading the reason")
	if s.press("q") != nil || s.unheard(0) == nil {
		t.Error("it leaves while nobody knows whether the answer arrived")
	}
	s.send(openedOf(mine(all[0])))
	s.shows(t, "Rejected by vera: not today")
	s.shows(t, "rejected: web on hello/acme")
	if s.press("q") == nil || s.unheard(0) != nil {
		t.Error("it does not leave although the answer is recorded")
	}
	s.send(answered{id: all[0].ID, answer: api.ResponseAnswerReject, approval: mine(all[0])})
	if len(s.given) != 1 {
		t.Errorf("%d answers were given", len(s.given))
	}

	s = newStage(plainTheme, 110, 30, all...)
	reject(s)
	s.send(listOf(all[1:]))
	s.send(openedOf(mine(all[0])))
	s.shows(t, "web: answered 1 of 3")
	for _, a := range all {
		s.send(answered{id: a.ID, answer: api.ResponseAnswerReject, approval: mine(a)})
	}
	s.shows(t, "rejected: web on 3 installs of hello")
	if len(s.given) != 3 {
		t.Errorf("%d answers were given", len(s.given))
	}

	s = newStage(plainTheme, 110, 30, all[0])
	reject(s)
	s.send(listed{})
	s.send(openedOf(others(all[0])))
	s.shows(t, "Approved by ann")
	if s.press("q") != nil {
		t.Error("the answer of another person counts as the user's own")
	}
	s.send(answered{id: all[0].ID, answer: api.ResponseAnswerReject, err: errors.New("web is no longer waiting")})
	s.pass(time.Second)
	s.shows(t, "web is no longer waiting")
	if len(s.given) != 0 || s.unheard(0) != nil {
		t.Errorf("%d answers were given, %v", len(s.given), s.unheard(0))
	}
}
