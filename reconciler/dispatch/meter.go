package dispatch

import "time"

// Meter is told how long jobs take, once it is recorded. What is nil is told nothing.
type Meter struct {
	// Accepted: how long the job was queued, and how long its offer stood.
	Accepted func(kind string, queued, offered time.Duration)
	// Ended: how long the attempt ran.
	Ended func(kind, outcome string, ran time.Duration)
}

// OnMeter names who is told. Set it before the service is used.
func (d *Dispatch) OnMeter(m Meter) { d.meter = m }

// accepted tells of an attempt that has begun. The database's clock and this machine's may differ a little.
func (m Meter) accepted(h held) {
	if m.Accepted != nil && h.job.ID != "" {
		m.Accepted(h.job.Kind, max(0, h.attempt.OfferedAt.Sub(h.job.CreatedAt)), max(0, time.Since(h.attempt.OfferedAt)))
	}
}

// ended tells of an attempt with which its job has ended.
func (m Meter) ended(h held, outcome JobStatus) {
	if m.Ended != nil && h.job.ID != "" && h.attempt.AcceptedAt != nil {
		m.Ended(h.job.Kind, string(outcome), max(0, time.Since(*h.attempt.AcceptedAt)))
	}
}
