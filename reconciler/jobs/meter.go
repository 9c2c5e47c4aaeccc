package jobs

import "time"

// Meter receives durations of jobs after they are recorded. A nil function is not called.
type Meter struct {
	// Accepted receives how long the job was queued and how long its offer was open.
	Accepted func(kind string, queued, offered time.Duration)
	// Ended receives how long the attempt ran.
	Ended func(kind, outcome string, ran time.Duration)
}

// OnMeter sets the meter. Call it before the service is used.
func (s *Service) OnMeter(m Meter) { s.meter = m }

// accepted reports an attempt that has started. The database's clock may differ slightly from this
// machine's.
func (m Meter) accepted(h Attempt) {
	if m.Accepted != nil && h.Job.ID != "" {
		m.Accepted(h.Job.Kind, max(0, h.Row.OfferedAt.Sub(h.Job.CreatedAt)),
			max(0, time.Since(h.Row.OfferedAt)))
	}
}

// ended reports an attempt that ended its job.
func (m Meter) ended(h Attempt, outcome JobStatus) {
	if m.Ended != nil && h.Job.ID != "" && h.Row.AcceptedAt != nil {
		m.Ended(h.Job.Kind, string(outcome), max(0, time.Since(*h.Row.AcceptedAt)))
	}
}
