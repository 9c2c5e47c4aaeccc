package runner

import (
	"context"
	"errors"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/apiclient"
)

// errWithdrawn ends an attempt that does not belong to this runner.
var errWithdrawn = errors.New("the offer has expired")

// accept accepts the offer. Nothing is started before the response is on disk.
// If the control plane may have assigned the attempt without this runner getting the response,
// the attempt is returned as lost: nothing ran, and only this runner can confirm that.
func (a *attempt) accept(ctx context.Context) error {
	within, stop := context.WithDeadline(ctx, a.record.Load().AcceptBy)
	defer stop()
	unheard := a.adopted
	var accepted api.Accepted
	err := apiclient.Retry(within, a.runner.retryPolicy(), func(ctx context.Context) error {
		answer, err := a.runner.short.AcceptWithResponse(ctx, a.ref.Job, a.ref.Attempt)
		if err == nil {
			err = apiclient.CheckResponse("accept "+a.name(), answer.HTTPResponse, answer.Body)
		}
		if err == nil && (answer.JSON200 == nil || answer.JSON200.Token == "") {
			err = errors.New("accept " + a.name() + ": the response contains no attempt token")
		}
		if err != nil {
			unheard = unheard || apiclient.AsResponseError(err) == nil || apiclient.AsResponseError(err).IsTemporary()
			return err
		}
		accepted = *answer.JSON200
		return nil
	})
	switch {
	case err == nil:
		a.runner.setLease(accepted.LeaseSeconds)
		a.log.Info("job accepted")
		return a.setToken(accepted.Token)
	case ctx.Err() != nil:
		return ctx.Err()
	case unheard:
		a.log.Info("cannot tell whether the offer was accepted in time", "error", err)
		return a.returnOffer("the runner could not take it in time")
	}
	a.log.Info("the offer has expired", "error", err)
	return errors.Join(errWithdrawn, a.dir.Remove())
}
