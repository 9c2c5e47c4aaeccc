// Package cloudproof defines what a machine or function in a customer's account sends to prove which
// account it runs in, so that both sides agree on it. The proof is bound to one control plane and to
// one nonce of it, so it is worth nothing anywhere else and only once.
package cloudproof

import (
	"fmt"
	"net/url"
	"strings"
)

// The headers of a signed sts:GetCallerIdentity request that bind it to a control plane and a nonce.
const (
	HeaderAudience = "X-Nuon-Audience"
	HeaderNonce    = "X-Nuon-Nonce"
)

// STSBody is the body of that request, and STSContentType its type.
const (
	STSBody        = "Action=GetCallerIdentity&Version=2011-06-15"
	STSContentType = "application/x-www-form-urlencoded; charset=utf-8"
)

// SignedHeaders are the headers that the signature of that request covers, as Signature Version 4
// lists them.
const SignedHeaders = "content-length;content-type;host;x-amz-date;x-amz-security-token;x-nuon-audience;x-nuon-nonce"

// Host returns the audience of a signed request: the runner API's host, with its port if that is
// not the usual one.
func Host(runnerURL string) (string, error) {
	u, err := url.Parse(runnerURL)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("%q is no address of a runner API", runnerURL)
	}
	host := strings.ToLower(u.Host)
	for scheme, port := range map[string]string{"https": ":443", "http": ":80"} {
		if u.Scheme == scheme {
			host = strings.TrimSuffix(host, port)
		}
	}
	return host, nil
}

// Audience returns the audience of an identity token for a nonce.
func Audience(runnerURL, nonce string) (string, error) {
	host, err := Host(runnerURL)
	return "https://" + host + "/runner/v1/claim/" + nonce, err
}

// STSHost returns the host of the security token service of a region of AWS. The region must be one
// by its form: nothing else gets into the name.
func STSHost(region string) (string, error) {
	parts := strings.Split(region, "-")
	valid := len(parts) >= 3 && len(parts) <= 5 && len(region) <= 24 && len(parts[0]) == 2
	for i, part := range parts {
		letters, digits := strings.Trim(part, "abcdefghijklmnopqrstuvwxyz") == "", strings.Trim(part, "0123456789") == ""
		valid = valid && part != "" && (i < len(parts)-1 && letters || i == len(parts)-1 && digits)
	}
	switch {
	case !valid:
		return "", fmt.Errorf("%.40q is no region of AWS", region)
	case parts[0] == "cn":
		return "sts." + region + ".amazonaws.com.cn", nil
	}
	return "sts." + region + ".amazonaws.com", nil
}
