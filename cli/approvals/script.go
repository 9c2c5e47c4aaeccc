package approvals

import (
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/review"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// This file asks a person to approve the script of an action that they run.

// Script approves the script of an approval. With a digest, it approves only a script
// of that digest, which the person has read before. Without one, it displays the
// script on a terminal and asks. If nobody can be asked, or the person may not
// approve, the script keeps waiting and Script prints how to answer it.
func Script(ctx context.Context, e *cmdenv.Env, client *apiclient.Client, approval, digest string) error {
	t, err := apiclient.Decode[api.Approval](client.GetApproval(ctx, approval))
	if err != nil || t.Status != api.ApprovalStatusWaiting || len(t.Scripts) == 0 {
		return err
	}
	c, read := e.Console, fmt.Sprintf("review it with `nuon review %s`, approve it with `nuon approve %[1]s`", t.ID)
	if digest != "" {
		if len(t.Scripts) != 1 || t.Scripts[0].Digest != digest {
			return exitcode.Usagef("%s needs approval, and its digest %s is not the one of --approve-script; %s",
				console.Line(review.Scripts(t)), console.Line(t.Scripts[0].Digest), read)
		}
		return sendScript(ctx, e, client, t)
	}
	who, err := apiclient.Decode[api.Whoami](client.Whoami(ctx))
	switch {
	case err != nil:
		return err
	case !c.Asks(), who.Role != "approver" && who.Role != "admin":
		c.Messagef("%s needs approval: %s", console.Line(review.Scripts(t)), read)
		return nil
	}
	if err := showOne(c.Err, c, []api.Approval{t}, printOptions{}); err != nil {
		return err // the report is inconsistent, so nobody may approve it
	}
	if err := c.Confirm(ctx, "this approves "+review.Scripts(t)+" for "+review.Place([]api.Approval{t}),
		false); err != nil {
		if exitcode.CodeOf(err) == exitcode.Rejected { // a declined confirmation does not reject the script
			c.Messagef("not approved: %s", read)
			return nil
		}
		return err
	}
	return sendScript(ctx, e, client, t)
}

// sendScript approves a script that was displayed, or read before.
func sendScript(ctx context.Context, e *cmdenv.Env, client *apiclient.Client, t api.Approval) error {
	a := answerOptions{env: e, give: api.ResponseAnswerApprove}
	if _, err := a.send(ctx, client, t); err != nil {
		return err
	}
	e.Console.Messagef("approved: %s for %s", console.Line(review.Scripts(t)), review.Place([]api.Approval{t}))
	return nil
}
