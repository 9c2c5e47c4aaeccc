package dispatch

import "time"

// Meter receives durations of jobs after they are recorded. A nil function is not called.
type Meter struct {
	// Accepted receives how long the job was queued and how long its offer was open.
	Accepted func(kind string, queued, offered time.Duration)
	// Ended receives how long the attempt ran.
	Ended func(kind, outcome string, ran time.Duration)
}

// OnMeter sets the meter. Call it before the service is used.
func (d *Dispatch) OnMeter(m Meter) { d.meter = m }

// accepted reports an attempt that has started. The database's clock may differ slightly from this
// machine's.
func (m Meter) accepted(h held) {
	if m.Accepted != nil && h.job.ID != "" {
		m.Accepted(h.job.Kind, max(0, h.attempt.OfferedAt.Sub(h.job.CreatedAt)),
			max(0, time.Since(h.attempt.OfferedAt)))
	}
}

// ended reports an attempt that ended its job.
func (m Meter) ended(h held, outcome JobStatus) {
	if m.Ended != nil && h.job.ID != "" && h.attempt.AcceptedAt != nil {
		m.Ended(h.job.Kind, string(outcome), max(0, time.Since(*h.attempt.AcceptedAt)))
	}
}
