package cloudidentity

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/cloudproof"
)

// authorization is the header of a request that is signed with Signature Version 4 over exactly the
// headers that this package sends.
var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 ` +
	`Credential=([A-Z0-9]{16,128})/([0-9]{8})/([a-z0-9-]{1,24})/sts/aws4_request, ` +
	`SignedHeaders=` + regexp.QuoteMeta(cloudproof.SignedHeaders) + `, Signature=([0-9a-f]{64})$`)

// printable matches a session token.
var printable = regexp.MustCompile(`^[A-Za-z0-9+/=_-]{16,}$`)

// callerIdentity sends a sts:GetCallerIdentity request that somebody signed, and returns who AWS says
// that was. The sender of the proof chooses the signature, the time and the region only: the host, the
// path, the body and the headers are ours, so that a signature over anything else is wrong.
func (v *Verifier) callerIdentity(ctx context.Context, s api.SignedRequest, nonce string) (Subject, error) {
	m := authorization.FindStringSubmatch(s.Authorization)
	if m == nil {
		return Subject{}, ErrIdentity.With("the signed request is not of the required form: it must be signed for sts "+
			"over %s", cloudproof.SignedHeaders)
	}
	host, err := cloudproof.STSHost(m[3])
	if err != nil {
		return Subject{}, ErrIdentity.With("%v", err)
	}
	at, err := time.Parse("20060102T150405Z", s.Date)
	if err != nil || s.Date[:8] != m[2] {
		return Subject{}, ErrIdentity.With("the date of the signed request is wrong")
	}
	if skew := v.options.Now().Sub(at); skew.Abs() > maxSkew {
		return Subject{}, ErrIdentity.With("the request was signed %s from now by our clock", skew.Abs().Round(time.Second))
	}
	if !printable.MatchString(s.SessionToken) {
		return Subject{}, ErrIdentity.With("the session token is missing or wrong: only sessions of roles are accepted")
	}
	audience, err := cloudproof.Host(v.options.RunnerURL)
	if err != nil {
		return Subject{}, ErrIdentity.With("%v", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+host+"/",
		strings.NewReader(cloudproof.STSBody))
	if err != nil {
		return Subject{}, err
	}
	for name, value := range map[string]string{
		"Content-Type": cloudproof.STSContentType, "X-Amz-Date": s.Date, "X-Amz-Security-Token": s.SessionToken,
		"Authorization": s.Authorization, cloudproof.HeaderAudience: audience, cloudproof.HeaderNonce: nonce,
	} {
		request.Header.Set(name, value)
	}
	return v.askSTS(request)
}

// answer is the part of the answer to sts:GetCallerIdentity that is read.
type answer struct {
	XMLName xml.Name `xml:"https://sts.amazonaws.com/doc/2011-06-15/ GetCallerIdentityResponse"`
	Result  []struct {
		ARN     []string `xml:"Arn"`
		Account []string `xml:"Account"`
	} `xml:"GetCallerIdentityResult"`
}

// failure is the part of an error of STS that is read.
type failure struct {
	Error struct{ Code, Message string }
}

// busy are codes of errors after which a request may be repeated.
var busy = map[string]bool{"Throttling": true, "ThrottlingException": true, "RequestLimitExceeded": true,
	"InternalFailure": true, "ServiceUnavailable": true}

func (v *Verifier) askSTS(request *http.Request) (Subject, error) {
	status, body, err := v.send(request)
	if err != nil {
		return Subject{}, err
	}
	if status != http.StatusOK {
		var f failure
		_ = xml.Unmarshal(body, &f) // without a code it is what the status says
		if busy[f.Error.Code] || status >= 500 || status == http.StatusTooManyRequests {
			return Subject{}, ErrUnavailable.With("AWS answers %d %.60q", status, f.Error.Code)
		}
		return Subject{}, ErrIdentity.With("AWS answers %d %.60q: %.200q", status, f.Error.Code, f.Error.Message)
	}
	var a answer
	decoder := xml.NewDecoder(strings.NewReader(string(body)))
	if err := decoder.Decode(&a); err != nil || len(a.Result) != 1 || len(a.Result[0].ARN) != 1 ||
		len(a.Result[0].Account) != 1 {
		return Subject{}, ErrUnavailable.With("the answer of AWS cannot be read")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Subject{}, ErrUnavailable.With("the answer of AWS cannot be read")
	}
	return ofAssumedRole(a.Result[0].ARN[0], a.Result[0].Account[0])
}

// send sends a request to a cloud and reads the answer within bounds.
func (v *Verifier) send(request *http.Request) (status int, body []byte, err error) {
	response, err := v.client.Do(request)
	if err != nil {
		return 0, nil, ErrUnavailable.With("%s does not answer", request.URL.Host)
	}
	defer func() { _ = response.Body.Close() }() // only read
	body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil || len(body) > maxAnswer {
		return 0, nil, ErrUnavailable.With("the answer of %s cannot be read", request.URL.Host)
	}
	return response.StatusCode, body, nil
}

// get fetches an address of a cloud.
func (v *Verifier) get(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", address, err)
	}
	status, body, err := v.send(request)
	if err == nil && status != http.StatusOK {
		err = ErrUnavailable.With("%s answers %d", request.URL.Host, status)
	}
	return body, err
}
