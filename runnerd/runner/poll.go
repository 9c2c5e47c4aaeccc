package runner

import (
	"context"
	"errors"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/apiclient"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

// leasePoller makes the calls with which a runner requests work, one after the other. The server
// holds each open for minutes, and sends a byte from time to time.
//
// Some proxies buffer a response until it is complete, so that these bytes do not get through.
// After a poll without any byte the next ones request a short wait, until one shows that bytes
// arrive as they are sent.
type leasePoller struct {
	client *api.ClientWithResponses
	timing timing.Timing
	line   *apiclient.ConnectionLog

	short bool
	first time.Time // when the first byte of the current poll arrived
}

func newLeasePoller(o Options, key func() seal.Secret, line *apiclient.ConnectionLog) (p *leasePoller, err error) {
	p = &leasePoller{timing: o.Timing, line: line}
	p.client, err = apiclient.NewLongPollClient(o.URL, key, p.longPoll())
	return p, err
}

// longPoll returns how long a poll lasts at most, and what hears of its bytes.
func (p *leasePoller) longPoll() apiclient.LongPoll {
	return apiclient.LongPoll{
		Silence: p.timing.LongPollSilence, Limit: p.timing.LongPoll + p.timing.LongPollSilence, OnRead: p.onRead,
	}
}

// lease makes one poll. Without capacity for a job the server responds immediately.
func (p *leasePoller) lease(ctx context.Context, request api.LeaseRequest,
	key seal.Secret) (*api.LeaseResponse, error) {
	hold := p.timing.LongPoll
	if p.short {
		hold = p.timing.ShortPoll
	}
	request.WaitSeconds = max(1, int(hold/time.Second))
	if request.Free == 0 {
		request.WaitSeconds = -1
	}
	p.first = time.Time{}
	answer, err := p.client.LeaseWithResponse(ctx, request, apiclient.WithToken(key))
	switch {
	case errors.Is(err, apiclient.ErrSilent) && p.first.IsZero():
		p.short = true
	case err == nil && !p.first.IsZero() && time.Since(p.first) >= p.timing.BatchInterval:
		p.short = false // the start of the response arrived before its end
	}
	return answer, err
}

// onRead is called while lease runs, by its goroutine. Contact is back with the first byte,
// not when the poll is over.
func (p *leasePoller) onRead() {
	if p.first.IsZero() {
		p.first = time.Now()
	}
	p.line.Recovered()
}
