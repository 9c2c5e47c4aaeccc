// Package cloudidentity checks the proofs by which machines and functions in customers' accounts show
// which account they run in: identity tokens of AWS, GCP and Azure, and signed requests that the
// security token service of AWS answers. It reports what a cloud vouches for and decides nothing:
// package cloudclaim compares it with the install. It stores nothing but the public keys of issuers.
package cloudidentity

import (
	"context"
	"net/http"
	"regexp"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/cloudproof"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
)

// The clouds, as in requests and in the keys of an install's account.
const (
	AWS   = "aws"
	GCP   = "gcp"
	Azure = "azure"
)

// Subject is who a cloud vouches for.
type Subject struct {
	Cloud     string
	Account   string // account, project or subscription
	Tenant    string // of Azure
	Name      string // of the role, service account or resource, within the account
	Machine   string // the instance, as far as the cloud reports it
	Principal string // the whole name, such as an ARN
}

// The refusals of this package.
var (
	// ErrIdentity: the proof is wrong, old, or meant for somebody else.
	ErrIdentity = refusal.New(refusal.Forbidden, "identity_refused", "the cloud identity is not accepted",
		"Check the clock of the machine, and that it uses the runner URL of its stack; then try again.")
	// ErrUnavailable: the cloud did not answer.
	ErrUnavailable = &refusal.Error{Kind: refusal.Upstream, Code: "identity_unavailable",
		Title: "the cloud identity cannot be checked now", Remedy: "Try again in a moment.", RetryAfter: retryAfter}
)

const retryAfter = 5 * time.Second

// Limits of one check.
const (
	maxProof   = 16 << 10 // bytes of a token, and of a header of a signed request
	maxAnswer  = 256 << 10
	maxSkew    = 5 * time.Minute // between a signed request and our clock
	leeway     = time.Minute     // for the times in tokens
	checkTime  = 10 * time.Second
	maxIssued  = 25 * time.Hour // from the issue of a token to its end
	maxRenewal = time.Minute    // between two requests for the keys of an issuer
	keysLife   = time.Hour
	maxIssuers = 1000
)

// Options configures a Verifier.
type Options struct {
	// RunnerURL is the address at which runners reach the control plane: the audience of proofs.
	RunnerURL string
	// AzureAudience is the identifier URI of the application that Azure issues tokens for, api://…;
	// empty refuses Azure.
	AzureAudience string
	// Client sends the requests to clouds; nil means one with the proxy of the environment.
	Client *http.Client
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Verifier checks proofs. It is safe for concurrent use.
type Verifier struct {
	options Options
	client  *http.Client
	keys    *keyCache
}

// New returns a verifier. Without a runner URL it refuses everything.
func New(o Options) *Verifier {
	if o.Now == nil {
		o.Now = time.Now
	}
	client := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	if o.Client != nil {
		copied := *o.Client
		client = &copied
	}
	client.Timeout = checkTime
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	v := &Verifier{options: o, client: client}
	v.keys = &keyCache{fetch: v.get, now: o.Now, sets: map[string]*keySet{}}
	return v
}

// Verify returns who a proof for a nonce is of. Errors: ErrIdentity, ErrUnavailable.
func (v *Verifier) Verify(ctx context.Context, p api.CloudIdentity, nonce string) (Subject, error) {
	ctx, stop := context.WithTimeout(ctx, checkTime)
	defer stop()
	if v.options.RunnerURL == "" {
		return Subject{}, ErrIdentity.With("this control plane was started without --runner-url")
	}
	request := p.AwsRequest
	switch size := len(p.Token) + len(request.Authorization) + len(request.Date) + len(request.SessionToken); {
	case size > maxProof:
		return Subject{}, ErrIdentity.With("it has %d bytes, and at most %d are read", size, maxProof)
	case (p.Token == "") == (request == api.SignedRequest{}):
		return Subject{}, ErrIdentity.With("it must have either a token or a signed request")
	case p.Token == "" && p.Cloud != AWS:
		return Subject{}, ErrIdentity.With("only AWS has signed requests")
	}
	audience, err := cloudproof.Audience(v.options.RunnerURL, nonce)
	if err != nil {
		return Subject{}, ErrIdentity.With("%v", err)
	}
	switch {
	case p.Cloud == AWS && p.Token == "":
		return v.callerIdentity(ctx, request, nonce)
	case p.Cloud == AWS:
		return v.awsToken(ctx, p.Token, audience)
	case p.Cloud == GCP:
		return v.gcpToken(ctx, p.Token, audience)
	case p.Cloud == Azure:
		return v.azureToken(ctx, p.Token)
	}
	return Subject{}, ErrIdentity.With("%.20q is no cloud; use aws, gcp or azure", p.Cloud)
}

// hexID is an id such as 5f0c3a52-….
const hexID = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

// Patterns of what clouds vouch for. They are strict, because parts of them are compared and shown.
var (
	awsAccount  = regexp.MustCompile(`^[0-9]{12}$`)
	assumedRole = regexp.MustCompile(`^arn:aws(?:-cn|-us-gov)?:sts::([0-9]{12}):assumed-role/` +
		`([\w+=,.@-]{1,64})/([\w+=,.@-]{2,64})$`)
	iamRole   = regexp.MustCompile(`^arn:aws(?:-cn|-us-gov)?:iam::([0-9]{12}):role/(?:[!-.0-~]+/)*([\w+=,.@-]{1,64})$`)
	awsIssuer = regexp.MustCompile(`^https://` + hexID + `\.tokens\.sts\.global\.api\.aws$`)

	gcpName    = `[a-z][a-z0-9-]{4,28}[a-z0-9]`
	gcpEmail   = regexp.MustCompile(`^(` + gcpName + `)@(` + gcpName + `)\.iam\.gserviceaccount\.com$`)
	gcpProject = regexp.MustCompile(`^` + gcpName + `$`)
	gcpNumber  = regexp.MustCompile(`^[0-9]{1,20}$`)

	guid    = regexp.MustCompile(`^` + hexID + `$`)
	azureID = regexp.MustCompile(`(?i)^/subscriptions/(` + hexID + `)/resourcegroups/[\w().-]{1,90}/providers/` +
		`(?:Microsoft\.Compute/virtualMachines|Microsoft\.Compute/virtualMachineScaleSets|` +
		`Microsoft\.ManagedIdentity/userAssignedIdentities)/([\w-]{1,128})$`)
)

// ofAssumedRole returns the subject of the ARN of a session of a role.
func ofAssumedRole(arn, account string) (Subject, error) {
	m := assumedRole.FindStringSubmatch(arn)
	if m == nil || m[1] != account {
		return Subject{}, ErrIdentity.With("%.200q is no session of a role", arn)
	}
	return Subject{Cloud: AWS, Account: m[1], Name: m[2], Machine: m[3], Principal: arn}, nil
}
