package cloudtest

import (
	"encoding/xml"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of sessions.
const (
	minSession = 15 * time.Minute
	maxChained = time.Hour // of a session of a role that another session of a role started
)

// serveSTS serves the security token service.
func (a *AWS) serveSTS(w http.ResponseWriter, r *http.Request) {
	session, body, err := a.Authenticate(r, "sts")
	if err == nil {
		values := form(body)
		if r.Method == http.MethodGet {
			values = r.URL.Query()
		}
		a.cloud.note(values.Get("Action"))
		err = a.answerSTS(w, session, values)
	}
	var refused AWSError
	if errors.As(err, &refused) {
		writeAWSError(w, refused.Status, refused.Code, refused.Message)
	}
}

// note adds the action to the newest request.
func (c *Cloud) note(action string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests[len(c.requests)-1].Action = action
}

func (a *AWS) answerSTS(w http.ResponseWriter, s Session, v url.Values) error {
	switch v.Get("Action") {
	case "GetCallerIdentity":
		type result struct{ Arn, UserId, Account string } //nolint:revive // names of AWS
		writeXML(w, http.StatusOK, struct {
			XMLName  xml.Name `xml:"https://sts.amazonaws.com/doc/2011-06-15/ GetCallerIdentityResponse"`
			Result   result   `xml:"GetCallerIdentityResult"`
			Metadata metadata `xml:"ResponseMetadata"`
		}{Result: result{s.ARN(), "AROA" + strings.ToUpper(s.Role.Account) + ":" + s.Name, s.Role.Account},
			Metadata: metadata{requestID()}})
	case "AssumeRole":
		return a.assumeRole(w, s, v)
	case "GetWebIdentityToken":
		return a.webIdentityToken(w, s, v)
	default:
		return AWSError{400, "InvalidAction", "Could not find operation " + v.Get("Action")}
	}
	return nil
}

type metadata struct{ RequestId string } //nolint:revive // a name of AWS

var sessionName = regexp.MustCompile(`^[\w+=,.@-]{2,64}$`)

// assumeRole starts a session of another role.
func (a *AWS) assumeRole(w http.ResponseWriter, s Session, v url.Values) error {
	arn, name := v.Get("RoleArn"), v.Get("RoleSessionName")
	a.mu.Lock()
	role, shortened := a.roles[arn], a.shortened
	a.mu.Unlock()
	seconds, err := strconv.Atoi(v.Get("DurationSeconds"))
	if v.Get("DurationSeconds") == "" {
		seconds, err = 3600, nil
	}
	life, longest := time.Duration(seconds)*time.Second, time.Hour
	if role != nil && role.MaxSession > 0 {
		longest = role.MaxSession
	}
	switch {
	case err != nil || !sessionName.MatchString(name) || life < minSession:
		return AWSError{400, "ValidationError", "a parameter of AssumeRole is not valid"}
	case role == nil || !role.trusts(s.Role.ARN(), a.cloud.Now()) || !a.allows(s, "sts:AssumeRole", arn),
		role.ExternalID != "" && v.Get("ExternalId") != role.ExternalID:
		return AWSError{403, "AccessDenied",
			"User: " + s.ARN() + " is not authorized to perform: sts:AssumeRole on resource: " + arn}
	case life > longest:
		return AWSError{400, "ValidationError",
			"The requested DurationSeconds exceeds the MaxSessionDuration set for this role."}
	case life > maxChained: // the caller is always a session of a role
		return AWSError{400, "ValidationError",
			"The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining"}
	}
	if shortened > 0 {
		life = min(life, shortened)
	}
	made := a.NewSession(*role, name, life)
	made.Chained, made.Tags = true, map[string]string{}
	values := listOf(v, "Tags", ".Value")
	for i, key := range listOf(v, "Tags", ".Key") {
		made.Tags[key] = values[i]
	}
	a.mu.Lock()
	a.sessions[made.AccessKeyID] = made
	a.mu.Unlock()

	type user struct{ AssumedRoleId, Arn string } //nolint:revive // names of AWS
	type credentials struct {
		AccessKeyId, SecretAccessKey, SessionToken, Expiration string //nolint:revive // names of AWS
	}
	type result struct {
		Credentials     credentials
		AssumedRoleUser user
	}
	writeXML(w, http.StatusOK, struct {
		XMLName  xml.Name `xml:"https://sts.amazonaws.com/doc/2011-06-15/ AssumeRoleResponse"`
		Result   result   `xml:"AssumeRoleResult"`
		Metadata metadata `xml:"ResponseMetadata"`
	}{Result: result{credentials{made.AccessKeyID, made.SecretAccessKey, made.SessionToken,
		made.Expires.Format(time.RFC3339)}, user{"AROAEXAMPLE:" + name, made.ARN()}}, Metadata: metadata{requestID()}})
	return nil
}

// trusts reports whether a role may be assumed by another one now.
func (r Role) trusts(arn string, now time.Time) bool {
	return slices.Contains(r.TrustedBy, arn) && (r.TrustedUntil.IsZero() || now.Before(r.TrustedUntil))
}

// Sessions returns the sessions of a role that were started so far, whether they have ended or not.
func (a *AWS) Sessions(role string) []Session {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []Session
	for _, s := range a.sessions {
		if s.Role.Name == role {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(x, y Session) int { return strings.Compare(x.Name, y.Name) })
	return all
}
