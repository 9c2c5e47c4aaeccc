// Package jobrole lets the programs of one job act under the role of that job in the customer's cloud account, and as
// nothing else.
//
// It checks the role against the owner's rules and grants, has the cloud start a session for the job, and serves the
// credentials to the job's programs on a loopback endpoint of that job alone. It runs in the job's own process, so it
// outlives runnerd. It never shows the runner's own credentials to a program. Package job calls it.
package jobrole

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/namepattern"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/runnerd/audit"
	"github.com/nuon-toolkit/nuon/runnerd/cloud/aws"
	"github.com/nuon-toolkit/nuon/runnerd/cloud/azure"
	"github.com/nuon-toolkit/nuon/runnerd/cloud/gcp"
	"github.com/nuon-toolkit/nuon/runnerd/cloud/session"
	"github.com/nuon-toolkit/nuon/runnerd/grant"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
)

// renewBefore is how long before the end of a session programs get a new one.
const renewBefore = 10 * time.Minute

// maxAudiences bounds the credentials that are remembered for one job.
const maxAudiences = 50

// issueTimeout bounds one session's start.
const issueTimeout = time.Minute

// Options describe a job.
type Options struct {
	Spec   api.JobSpec
	Policy policy.Rule
	// Dir is the runner's own directory, with the grants and the audit log.
	Dir string
	// Log writes a line to the job's log.
	Log func(format string, args ...any)
	// Redact gets all credentials before a program does.
	Redact *redact.Set

	open func(context.Context, session.Request) (session.Issuer, error) // replaced by tests
	now  func() time.Time
}

// openers start sessions, by cloud.
var openers = map[string]func(context.Context, session.Request) (session.Issuer, error){
	"aws": aws.Open, "azure": azure.Open, "gcp": gcp.Open}

// complete returns the options with what tests leave out.
func (o Options) complete() (Options, error) {
	if o.now == nil {
		o.now = time.Now
	}
	if o.open == nil {
		o.open = openers[o.Spec.Role.Cloud]
	}
	if o.open == nil {
		return o, fmt.Errorf("this runner knows no roles of the cloud %.20q; update it to the version of the control plane",
			o.Spec.Role.Cloud)
	}
	return o, nil
}

// Session is what the programs of a job act as.
type Session struct {
	options Options
	request session.Request
	issuer  session.Issuer
	server  *endpoint

	mu      sync.Mutex
	current map[string]session.Credentials // by audience
}

// Open starts a session of the job's role, and makes the programs that this process starts from now on find the
// credentials of that session, and not those of the runner (jobenv.ToolEnv). The process itself still acts as the
// runner, for example to read the customer's secrets. It does nothing for a job without a role, or if the owner lets
// jobs run with the runner's own identity. Close ends the endpoint.
func Open(ctx context.Context, o Options) (*Session, error) {
	if o.Spec.Role.Name == "" || o.Policy.Roles.OwnIdentity {
		return &Session{}, nil
	}
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	s := &Session{options: o}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(s.refuse(err), s.Close())
	}
	return s, nil
}

// Try returns an error if no session of the job's role can be started now. It starts one that nothing uses.
func Try(ctx context.Context, o Options) error {
	o, err := o.complete()
	if err != nil {
		return err
	}
	s := &Session{options: o}
	_, err = s.first(ctx, "check-"+o.Spec.Job)
	return err
}

// Unusable returns the role of a job under which the cloud lets no job start now, for an error of Open or Try.
func Unusable(spec api.JobSpec, err error) (role api.UnusableRole, ok bool) {
	var unusable *session.UnusableError
	if !errors.As(err, &unusable) {
		return role, false
	}
	return api.UnusableRole{Role: policy.RoleName(spec.Role), Refused: unusable.Refused, Reason: unusable.Error()}, true
}

// first checks the role and starts the first session.
func (s *Session) first(ctx context.Context, name string) (first session.Credentials, err error) {
	o := s.options
	if err := o.Policy.CheckRole(o.Spec); err != nil {
		return first, err
	}
	s.request = requestOf(o)
	s.request.Session = name
	if s.request.Until, err = s.granted(); err != nil {
		return first, err
	}
	within, stop := context.WithTimeout(ctx, issueTimeout)
	defer stop()
	if s.issuer, err = o.open(within, s.request); err != nil {
		return first, err
	}
	return s.issue(within, "")
}

// start starts the first session and the endpoint, and sets the environment.
func (s *Session) start(ctx context.Context) error {
	o := s.options
	first, err := s.first(ctx, o.Spec.Job)
	if err != nil {
		return err
	}
	s.current = map[string]session.Credentials{"": first}
	if s.server, err = serve(s); err != nil {
		return err
	}
	if err := jobenv.UseRole(o.Spec.Role.Cloud, s.issuer.Environ(s.server.url, s.server.token, first)); err != nil {
		return err
	}
	o.Log("programs of this job act as %s (%s)", s.issuer.Identity(), o.Spec.Role.Operation)
	return s.record(audit.RoleAssumed, "")
}

// requestOf returns the sessions that a job needs. A check of health only reads.
func requestOf(o Options) session.Request {
	spec := o.Spec
	request := session.Request{Role: spec.Role.Name, Tags: map[string]string{
		"install": policy.InstallOf(spec), "component": policy.ComponentOf(spec), "operation": spec.Role.Operation}}
	request.ReadOnly = spec.Kind == api.JobSpecKindHealth || spec.Kind == api.JobSpecKindLogs ||
		spec.Kind == api.JobSpecKindDebugCommand || spec.Kind == api.JobSpecKindShell ||
		spec.Kind == api.JobSpecKindPlan && o.Policy.Roles.ReadOnlyPlans
	return request
}

// granted returns the end of the owner's grant of the role, or an error if it needs one and has none now. Standing
// roles have no end.
func (s *Session) granted() (until time.Time, err error) {
	role := s.options.Spec.Role
	if !s.options.Policy.NeedsGrant(role) {
		return until, nil
	}
	all, err := grant.List(s.options.Dir)
	if err != nil {
		return until, err
	}
	name, now := policy.RoleName(role), s.options.now()
	until, granted := api.RunnerRoles{Granted: grant.Current(all, now)}.GrantedUntil(name, now)
	if granted {
		return until, nil
	}
	for _, g := range all {
		if namepattern.Match(g.Role, name) {
			return until, fmt.Errorf("the owner's grant of the break-glass role %s ended at %s; the owner can grant it again: "+
				"runnerd grants add %s --for 2h", name, g.Until.UTC().Format(time.RFC3339), name)
		}
	}
	return until, fmt.Errorf("%s is a break-glass role, and the owner of this runner has not granted it; the owner can: "+
		"runnerd grants add %s --for 2h", name, name)
}

// issue starts a session, and hides its secrets from the log before anything else sees them.
func (s *Session) issue(ctx context.Context, audience string) (session.Credentials, error) {
	made, err := s.issuer.Issue(ctx, audience)
	if err != nil {
		return made, err
	}
	for _, secret := range made.Secrets {
		s.options.Redact.Add([]byte(secret))
	}
	return made, nil
}

// credentials returns credentials for a program, and starts a new session if the last one ends soon. It checks the
// grant each time.
func (s *Session) credentials(ctx context.Context, audience string) (session.Credentials, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, err := s.granted()
	if err != nil {
		return session.Credentials{}, s.refuse(err)
	}
	current := s.current[audience]
	left := current.Expires.Sub(s.options.now())
	if left > renewBefore || left > 0 && !until.IsZero() && !current.Expires.Before(until) {
		return current, nil
	}
	made, err := s.issue(ctx, audience)
	if err != nil {
		return session.Credentials{}, s.refuse(err)
	}
	if len(s.current) >= maxAudiences {
		clear(s.current)
	}
	s.current[audience] = made
	return made, s.record(audit.RoleAssumed, "")
}

// refuse records that the job gets no credentials, and returns why.
func (s *Session) refuse(why error) error {
	s.options.Log("the programs of this job get no credentials: %v", why)
	return errors.Join(why, s.record(audit.RoleRefused, why.Error()))
}

func (s *Session) record(what, why string) error {
	spec := s.options.Spec
	return audit.Append(s.options.Dir, audit.Event{At: s.options.now(), What: what, Role: policy.RoleName(spec.Role),
		Job: spec.Job, Attempt: spec.Attempt, Install: policy.InstallOf(spec), Component: policy.ComponentOf(spec),
		Operation: spec.Role.Operation, Until: s.request.Until, Reason: why})
}

// Close ends the endpoint.
func (s *Session) Close() error {
	if s == nil || s.server == nil {
		return nil
	}
	return s.server.close()
}
