package dispatch

import "context"

// Seen records a waiting runner's presence, as a keepalive of a held poll does.
func (d *Dispatch) Seen(ctx context.Context, caller Caller) error { return d.seen(ctx, caller) }

// Waiting returns how many polls of a runner are held, and whether they have queried and found
// nothing.
func (d *Dispatch) Waiting(caller Caller) (polls int, looked bool) {
	d.idle.mu.Lock()
	defer d.idle.mu.Unlock()
	r := d.idle.runners[caller.Org+"/"+caller.Runner]
	if r == nil {
		return 0, false
	}
	return r.waiting, !r.looked.IsZero()
}
