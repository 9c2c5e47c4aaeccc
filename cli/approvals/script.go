package approvals

import (
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/cli/review"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// This file has a person approve the script of an action that they run.

// Script has the script approved that an approval is about: that of the digest, which names what a person has read; without a digest the one
// that it shows on a terminal, after a yes. Where nobody can be asked, or the person may not approve, the script keeps waiting, and Script
// prints how it is answered.
func Script(ctx context.Context, e *env.Env, client *remote.Client, approval, digest string) error {
	t, err := remote.Get[api.Approval](client.GetApproval(ctx, approval))
	if err != nil || t.Status != api.ApprovalStatusWaiting || len(t.Scripts) == 0 {
		return err
	}
	c, read := e.Console, fmt.Sprintf("`nuon review %s` shows it, `nuon approve %[1]s` approves it", t.ID)
	if digest != "" {
		if len(t.Scripts) != 1 || t.Scripts[0].Digest != digest {
			return exit.Usagef("%s waits for an approver, and is not the one of --approve-script: it has the digest %s; %s",
				console.Line(review.Scripts(t)), console.Line(t.Scripts[0].Digest), read)
		}
		return sendScript(ctx, e, client, t)
	}
	who, err := remote.Get[api.Whoami](client.Whoami(ctx))
	switch {
	case err != nil:
		return err
	case !c.Asks(), who.Role != "approver" && who.Role != "admin":
		c.Say("%s waits for an approver: %s", console.Line(review.Scripts(t)), read)
		return nil
	}
	if err := showOne(c.Err, c, []api.Approval{t}); err != nil {
		return err // it does not add up, so nobody approves it
	}
	if err := c.Confirm(ctx, "this approves "+review.Scripts(t)+" for "+review.Place([]api.Approval{t}), false); err != nil {
		if exit.CodeOf(err) == exit.Rejected { // a person who does not say yes has not said no
			c.Say("it keeps waiting: %s", read)
			return nil
		}
		return err
	}
	return sendScript(ctx, e, client, t)
}

// sendScript approves what was displayed, or read before.
func sendScript(ctx context.Context, e *env.Env, client *remote.Client, t api.Approval) error {
	a := answer{env: e, give: api.ResponseAnswerApprove}
	if _, err := a.send(ctx, client, t); err != nil {
		return err
	}
	e.Console.Say("approved: %s for %s", console.Line(review.Scripts(t)), review.Place([]api.Approval{t}))
	return nil
}
