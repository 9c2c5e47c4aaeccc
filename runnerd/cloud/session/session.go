// Package session describes sessions of a role, which the package of each cloud starts: how a runner acts under a role
// of the customer's account for one job. Package jobrole calls them in the job's own process.
package session

import (
	"context"
	"net/url"
	"time"
)

// Request describes the sessions that a job needs.
type Request struct {
	// Role is the name of the role, without an account: a session is always in the runner's own account.
	Role string
	// Session is the name of each session, by which the cloud's own log names the job.
	Session string
	// Tags are the tags of each session.
	Tags map[string]string
	// ReadOnly limits the sessions to reading, on AWS.
	ReadOnly bool
	// Until is when the role's grant ends; zero for a standing role. The credentials end then at the latest.
	Until time.Time
}

// Credentials are those of one session.
type Credentials struct {
	// Content is what programs get from the job's endpoint.
	Content []byte
	// Secrets are what a log must not show.
	Secrets []string
	Expires time.Time
}

// Issuer starts sessions of one role.
type Issuer interface {
	// Identity returns what the sessions act as, for people.
	Identity() string
	// Issue starts a session that ends at the request's end at the latest. The audience is what Endpoint reads from a
	// program's request; it is empty for the first session, which shows that the role can be used.
	Issue(ctx context.Context, audience string) (Credentials, error)
	// Endpoint returns how programs ask the job's endpoint for credentials.
	Endpoint() Endpoint
	// Environ returns the variables by which programs use the endpoint with its token, or the first credentials.
	Environ(endpoint, token string, first Credentials) map[string]string
}

// UnusableError is why sessions of a role cannot be started now, although they may be later, without another job.
type UnusableError struct {
	// Refused means that the account refused the role. Otherwise the cloud could not answer, for example because of
	// throttling or a wrong clock.
	Refused bool
	Err     error
}

// Error returns the reason.
func (e *UnusableError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the cloud.
func (e *UnusableError) Unwrap() error { return e.Err }

// Endpoint is how the libraries of a cloud ask for credentials.
type Endpoint struct {
	// TokenHeader is the header with the token of the job.
	TokenHeader string
	// TokenInPath also accepts the token as the last part of the path, for programs that send no header.
	TokenInPath bool
	// Audience returns what credentials are for, or why there are none; nil where they are for everything.
	Audience func(query url.Values) (string, error)
}

// MaxSession is the duration of a session. AWS allows no more for a role that another role assumes.
const MaxSession = time.Hour
