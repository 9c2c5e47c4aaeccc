package tfstate

import "github.com/nuon-toolkit/nuon/reconciler/store"

// Service stores sealed Terraform states and state locks. It is safe for concurrent use.
type Service struct {
	store  *store.Store
	limits Limits
}

// New returns the service. A limit that is not positive means its default.
func New(s *store.Store, limits Limits) *Service {
	return &Service{store: s, limits: Limits{
		AttemptVersions: orDefault(limits.AttemptVersions, DefaultLimits.AttemptVersions),
		AttemptBytes:    orDefault(limits.AttemptBytes, DefaultLimits.AttemptBytes),
		InstallVersions: orDefault(limits.InstallVersions, DefaultLimits.InstallVersions),
		InstallBytes:    orDefault(limits.InstallBytes, DefaultLimits.InstallBytes),
	}}
}
