package cloudtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// AWS is the part of a cloud that stands for Amazon Web Services: accounts with roles, and sessions of them. A service
// authenticates a request with Authenticate.
type AWS struct {
	cloud *Cloud

	mu         sync.Mutex
	roles      map[string]*Role // by ARN
	sessions   map[string]Session
	federation map[string]*issuer // by account
	shortened  time.Duration      // of ShortenSessions; zero for none
	// Secrets is the Secrets Manager of all accounts, in which stacks store secrets.
	Secrets *SecretsManager
}

// Role is a role of an account.
type Role struct {
	Account, Name string
	// TrustedBy are the ARNs of roles that may assume it; nil means nobody. ExternalID, if set, is what they must state.
	TrustedBy  []string
	ExternalID string
	// TrustedUntil is when the trust ends, as a condition on the time; zero means never.
	TrustedUntil time.Time
	// Allows decides about a request for an action on a resource; nil allows everything.
	Allows func(action, resource string) bool
	// MaxSession is the maximum duration of a session; zero means an hour.
	MaxSession time.Duration
}

// ARN returns the ARN of the role.
func (r Role) ARN() string { return "arn:aws:iam::" + r.Account + ":role/" + r.Name }

// Session is a session of a role with its credentials.
type Session struct {
	AccessKeyID, SecretAccessKey, SessionToken string
	Expires                                    time.Time
	Role                                       Role
	Name                                       string
	Tags                                       map[string]string
	Chained                                    bool
	// Region is that of the request which Authenticate checked.
	Region string
}

// ARN returns the ARN of the session, as sts:GetCallerIdentity returns it.
func (s Session) ARN() string {
	return "arn:aws:sts::" + s.Role.Account + ":assumed-role/" + s.Role.Name + "/" + s.Name
}

// Credentials returns the credentials for the SDK.
func (s Session) Credentials() aws.Credentials {
	return aws.Credentials{AccessKeyID: s.AccessKeyID, SecretAccessKey: s.SecretAccessKey, SessionToken: s.SessionToken,
		CanExpire: true, Expires: s.Expires}
}

// Environ returns the variables by which a program acts as the session.
func (s Session) Environ() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + s.AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + s.SecretAccessKey,
		"AWS_SESSION_TOKEN=" + s.SessionToken}
}

func newAWS(c *Cloud) *AWS {
	a := &AWS{cloud: c, roles: map[string]*Role{}, sessions: map[string]Session{}, federation: map[string]*issuer{},
		Secrets: NewSecretsManager()}
	c.hosts["secretsmanager.*.amazonaws.com"] = a.Secrets
	c.hosts["sts.*.amazonaws.com"] = http.HandlerFunc(a.serveSTS)
	c.hosts["*.tokens.sts.global.api.aws"] = http.HandlerFunc(a.serveKeys)
	return a
}

// AddRole adds a role, or replaces it.
func (a *AWS) AddRole(r Role) Role {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.roles[r.ARN()] = &r
	return r
}

// Role returns a role; the zero value if there is none.
func (a *AWS) Role(arn string) Role {
	a.mu.Lock()
	defer a.mu.Unlock()
	if role := a.roles[arn]; role != nil {
		return *role
	}
	return Role{}
}

// RemoveRole removes a role. Its sessions continue until they expire, as in AWS, but may do nothing any more.
func (a *AWS) RemoveRole(arn string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.roles, arn)
}

// NewSession starts a session of a role, such as that of a machine or function, whose name is the session's.
func (a *AWS) NewSession(role Role, name string, life time.Duration) Session {
	s := Session{AccessKeyID: "ASIA" + strings.ToUpper(randomHex(8)), SecretAccessKey: randomHex(20),
		SessionToken: "session+" + randomHex(48) + "==", Expires: a.cloud.Now().Add(life).UTC().Truncate(time.Second),
		Role: role, Name: name}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions[s.AccessKeyID] = s
	return s
}

// ShortenSessions makes the sessions that other sessions start from now on end after a time, as if the rest of it had
// passed already.
func (a *AWS) ShortenSessions(life time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.shortened = life
}

// AWSError is an error in the terms of AWS.
type AWSError struct {
	Status        int
	Code, Message string
}

// Error returns the code and the message.
func (e AWSError) Error() string { return e.Code + ": " + e.Message }

// maxSkew is how far the date of a signed request may be from the cloud's clock.
const maxSkew = 5 * time.Minute

// Authenticate returns the session that signed a request for a service with Signature Version 4 in its headers, and the
// body of the request. It signs the request again, with the SDK's own signer, and compares the signatures.
func (a *AWS) Authenticate(r *http.Request, service string) (Session, []byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return Session{}, nil, AWSError{413, "RequestEntityTooLarge", err.Error()}
	}
	rest, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	if !ok {
		return Session{}, body, AWSError{403, "MissingAuthenticationToken", "Missing Authentication Token"}
	}
	fields := map[string]string{}
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		fields[name] = value
	}
	scope := strings.Split(fields["Credential"], "/")
	if len(scope) != 5 || scope[3] != service || scope[4] != "aws4_request" {
		return Session{}, body, AWSError{403, "SignatureDoesNotMatch", "Credential should be scoped to correct service"}
	}
	a.mu.Lock()
	session, known := a.sessions[scope[0]]
	a.mu.Unlock()
	token := r.Header.Get("X-Amz-Security-Token")
	if !known || subtle.ConstantTimeCompare([]byte(token), []byte(session.SessionToken)) != 1 {
		return session, body, AWSError{403, "InvalidClientTokenId", "The security token included in the request is invalid"}
	}
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil || at.Format("20060102") != scope[1] {
		return session, body, AWSError{403, "IncompleteSignature", "Date in Credential scope does not match X-Amz-Date"}
	}
	now := a.cloud.Now()
	if skew := now.Sub(at).Abs(); skew > maxSkew {
		return session, body, AWSError{403, "SignatureDoesNotMatch", fmt.Sprintf("Signature not current: %s is not within 5 "+
			"min. of %s", at.Format(time.RFC3339), now.UTC().Format(time.RFC3339))}
	}
	if now.After(session.Expires) {
		return session, body, AWSError{403, "ExpiredToken", "The security token included in the request is expired"}
	}
	session.Region = scope[2]
	want, err := signAgain(r, body, session, fields["SignedHeaders"], service, scope[2], at)
	if err != nil || subtle.ConstantTimeCompare([]byte(want), []byte(fields["Signature"])) != 1 {
		return session, body, AWSError{403, "SignatureDoesNotMatch",
			"The request signature we calculated does not match the signature you provided."}
	}
	return session, body, nil
}

// signAgain returns the signature that a request must have.
func signAgain(r *http.Request, body []byte, s Session, signed, service, region string, at time.Time) (string, error) {
	again, err := http.NewRequestWithContext(context.Background(), r.Method, "https://"+r.Host+r.URL.RequestURI(), nil)
	if err != nil {
		return "", err
	}
	names := strings.Split(signed, ";")
	if !slices.Contains(names, "host") {
		return "", fmt.Errorf("the host is not signed")
	}
	for _, name := range names {
		switch name {
		case "host", "x-amz-date", "x-amz-security-token": // set by the signer
		case "content-length":
			again.ContentLength, again.Body = int64(len(body)), io.NopCloser(bytes.NewReader(body))
		default:
			again.Header[http.CanonicalHeaderKey(name)] = r.Header.Values(name)
		}
	}
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(context.Background(), s.Credentials(), again, hex.EncodeToString(sum[:]), service,
		region, at); err != nil {
		return "", err
	}
	_, signature, _ := strings.Cut(again.Header.Get("Authorization"), "Signature=")
	return signature, nil
}

// allows reports whether a session may do something now.
func (a *AWS) allows(s Session, action, resource string) bool {
	a.mu.Lock()
	role := a.roles[s.Role.ARN()]
	a.mu.Unlock()
	return role != nil && (role.Allows == nil || role.Allows(action, resource))
}

// Authorize returns an error if the role of a session may not do something.
func (a *AWS) Authorize(s Session, action, resource string) error {
	if a.allows(s, action, resource) {
		return nil
	}
	return AWSError{403, "AccessDenied",
		"User: " + s.ARN() + " is not authorized to perform: " + action + " on resource: " + resource}
}

// form reads the parameters of a service with the query protocol.
func form(body []byte) url.Values {
	values, _ := url.ParseQuery(string(body)) // what cannot be read is missing
	return values
}

// listOf returns the values of NAME.member.1, NAME.member.2 and so on, with a suffix such as .Key.
func listOf(v url.Values, name, suffix string) []string {
	var all []string
	for i := 1; v.Has(name + ".member." + strconv.Itoa(i) + suffix); i++ {
		all = append(all, v.Get(name+".member."+strconv.Itoa(i)+suffix))
	}
	return all
}

// writeAWSError writes an error as services with the query protocol do.
func writeAWSError(w http.ResponseWriter, status int, code, message string) {
	type detail struct{ Type, Code, Message string }
	writeXML(w, status, struct {
		XMLName   xml.Name `xml:"https://sts.amazonaws.com/doc/2011-06-15/ ErrorResponse"`
		Error     detail
		RequestID string `xml:"RequestId"`
	}{Error: detail{"Sender", code, message}, RequestID: requestID()})
}

func writeXML(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "text/xml")
	w.Header().Set("x-amzn-RequestId", requestID())
	w.WriteHeader(status)
	_ = xml.NewEncoder(w).Encode(v) // the client sees an answer that is cut off
}

func requestID() string {
	id := randomHex(16)
	return id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:]
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
