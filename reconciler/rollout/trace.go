package rollout

import "time"

// trace returns the trace that led to a workflow over some components: that of the newest of their
// artifacts, or of the app's config if that is newer. It is empty if tracing is off.
func (s *snapshot) trace(components []string) string {
	var newest time.Time
	trace := ""
	for _, name := range components {
		p := s.components[name]
		if p == nil || p.artifact == nil || p.artifact.Trace == "" || !p.artifact.CreatedAt.After(newest) {
			continue
		}
		newest, trace = p.artifact.CreatedAt, p.artifact.Trace
	}
	if s.configTrace != "" && s.configAt.After(newest) {
		return s.configTrace
	}
	return trace
}
