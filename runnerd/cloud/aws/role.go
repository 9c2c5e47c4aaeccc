// Package aws acts under roles of an AWS account.
package aws

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"
	"github.com/aws/smithy-go"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/runnerd/cloud/session"
)

// defaultRegion is where sessions are started if the runner has no region.
const defaultRegion = "us-east-1"

// minSession is the shortest session of AWS.
const minSession = 15 * time.Minute

// issuer starts sessions of a role with the runner's own credentials.
type issuer struct {
	client         *sts.Client
	request        session.Request
	region         string
	partition, arn string
	now            func() time.Time
}

var _ session.Issuer = (*issuer)(nil)

// Open finds the runner's own credentials, as the SDK finds them, and its account. The role is in that account,
// also if a job names another one.
func Open(ctx context.Context, request session.Request) (session.Issuer, error) {
	loaded, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the configuration of AWS: %w", err)
	}
	made := &issuer{request: request, region: loaded.Region, now: time.Now}
	if loaded.Region == "" {
		loaded.Region = defaultRegion
	}
	made.client = sts.NewFromConfig(loaded)
	own, err := made.client.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return nil, describe(err, "find the runner's own identity in AWS")
	}
	parts := strings.SplitN(aws.ToString(own.Arn), ":", 3)
	if len(parts) < 3 || parts[0] != "arn" || aws.ToString(own.Account) == "" {
		return nil, fmt.Errorf("AWS named the runner's identity %.80q, which is no ARN", aws.ToString(own.Arn))
	}
	made.partition = parts[1]
	made.arn = "arn:" + parts[1] + ":iam::" + aws.ToString(own.Account) + ":role/" + request.Role
	return made, nil
}

// Identity returns the ARN of the role.
func (i *issuer) Identity() string { return i.arn }

// Endpoint returns how the SDKs of AWS ask for credentials in a container.
func (i *issuer) Endpoint() session.Endpoint { return session.Endpoint{TokenHeader: "Authorization"} }

// endpointContent is what the SDKs read from an endpoint for containers.
type endpointContent struct {
	AccessKeyID     string    `json:"AccessKeyId"`
	SecretAccessKey string    `json:"SecretAccessKey"`
	Token           string    `json:"Token"`
	Expiration      time.Time `json:"Expiration"`
	RoleARN         string    `json:"RoleArn"`
}

// Issue starts a session. It lasts an hour, or until the end of the grant: AWS has no session of less than 15 minutes,
// so a policy of the session denies everything after the end.
func (i *issuer) Issue(ctx context.Context, _ string) (session.Credentials, error) {
	life := session.MaxSession
	input := &sts.AssumeRoleInput{RoleArn: &i.arn, RoleSessionName: aws.String(sessionName(i.request.Session))}
	if !i.request.Until.IsZero() {
		life = max(min(life, i.request.Until.Sub(i.now())), minSession)
		input.Policy = aws.String(i.endPolicy())
	}
	input.DurationSeconds = aws.Int32(int32(life / time.Second)) //nolint:gosec // at most an hour
	if i.request.ReadOnly {
		input.PolicyArns = []types.PolicyDescriptorType{
			{Arn: aws.String("arn:" + i.partition + ":iam::aws:policy/ReadOnlyAccess")}}
	}
	for _, key := range slices.Sorted(maps.Keys(i.request.Tags)) {
		if value := tagValue(i.request.Tags[key]); value != "" {
			input.Tags = append(input.Tags, types.Tag{Key: aws.String(key), Value: aws.String(value)})
		}
	}
	answer, err := i.client.AssumeRole(ctx, input)
	if err != nil {
		return session.Credentials{}, describe(err, "assume "+i.arn)
	}
	got := answer.Credentials
	if got == nil {
		return session.Credentials{}, fmt.Errorf("assume %s: AWS returned no credentials", i.arn)
	}
	expires := aws.ToTime(got.Expiration)
	if !i.request.Until.IsZero() && i.request.Until.Before(expires) {
		expires = i.request.Until
	}
	content, err := json.Marshal(endpointContent{
		AccessKeyID: aws.ToString(got.AccessKeyId), SecretAccessKey: aws.ToString(got.SecretAccessKey),
		Token: aws.ToString(got.SessionToken), Expiration: expires.UTC(), RoleARN: i.arn,
	})
	return session.Credentials{Content: content, Expires: expires,
		Secrets: []string{aws.ToString(got.SecretAccessKey), aws.ToString(got.SessionToken)}}, err
}

// endPolicy returns the policy of a session that denies everything from the end of the grant on.
func (i *issuer) endPolicy() string {
	end := i.request.Until.UTC().Format("2006-01-02T15:04:05Z")
	deny := `{"Effect":"Deny","Action":"*","Resource":"*","Condition":{"DateGreaterThanEquals":{"aws:CurrentTime":"` +
		end + `"}}}`
	if !i.request.ReadOnly {
		deny += `,{"Effect":"Allow","Action":"*","Resource":"*"}`
	}
	return `{"Version":"2012-10-17","Statement":[` + deny + `]}`
}

// Environ returns the variables by which all SDKs of AWS find the job's endpoint, and no other credentials.
func (i *issuer) Environ(endpoint, token string, _ session.Credentials) map[string]string {
	environ := map[string]string{
		"AWS_CONTAINER_CREDENTIALS_FULL_URI": endpoint, "AWS_CONTAINER_AUTHORIZATION_TOKEN": token,
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
	}
	if i.region != "" {
		environ["AWS_REGION"] = i.region
	}
	return environ
}

var (
	notInSession = lazyregexp.New(`[^\w+=,.@-]`)
	notInTag     = lazyregexp.New(`[^\p{L}\p{Z}\p{N}_.:/=+\-@]`)
)

// sessionName returns a name that AWS accepts for a session.
func sessionName(job string) string {
	name := notInSession.ReplaceAllString(job, "-")
	return (name + "--")[:min(max(len(name), 2), 64)]
}

// tagValue returns a text that AWS accepts as the value of a tag.
func tagValue(text string) string {
	value := []rune(notInTag.ReplaceAllString(text, "-"))
	return string(value[:min(len(value), 256)])
}

// describe describes an error of AWS for a person. It is an *session.UnusableError if a later request may succeed.
func describe(err error, doing string) error {
	var code string
	if known := smithy.APIError(nil); errors.As(err, &known) {
		code = known.ErrorCode()
	}
	hint, later := "", true
	switch code {
	case "AccessDenied":
		hint = "the account does not allow it: the role is switched off in the stack, its grant has ended, or it does not " +
			"trust this runner"
	case "ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId":
		hint = "the runner's own credentials are not valid any more"
	case "SignatureDoesNotMatch":
		hint = "check the clock of this machine and the runner's own credentials"
	case "Throttling", "ThrottlingException", "RequestLimitExceeded":
		hint = "AWS received too many requests of this account; it is tried again"
	case "InternalFailure", "ServiceUnavailable":
		hint = "AWS cannot answer now; it is tried again"
	case "":
		hint = "the runner has no credentials of its own, or cannot reach AWS"
	default:
		later = false
	}
	if !later {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return &session.UnusableError{Refused: code == "AccessDenied", Err: fmt.Errorf("%s: %s (%w)", doing, hint, err)}
}
