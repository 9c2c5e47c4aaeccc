// Package aws uses the identity that this machine has on AWS. It proves the account to the control plane.
package aws

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/cloudproof"
)

// tokenLife is how long an identity token is valid: as short as AWS allows it.
const tokenLife = 60

// tokenTime is how long AWS has to answer with a token.
const tokenTime = 10 * time.Second

// Prove returns a proof of the account that this machine runs in, for one nonce of the control plane
// at runnerURL: a token where the account issues them, and otherwise a request that only that control
// plane can send. Neither gives anybody access to the account.
func Prove(ctx context.Context, runnerURL, nonce string) (api.CloudIdentity, error) {
	settings, err := config.LoadDefaultConfig(ctx, config.WithEC2IMDSRegion())
	if err != nil {
		return api.CloudIdentity{}, fmt.Errorf("find the identity of this machine on AWS: %w", err)
	}
	if settings.Region == "" {
		return api.CloudIdentity{}, fmt.Errorf("find the identity of this machine on AWS: no region is known; set AWS_REGION")
	}
	if token, err := webIdentityToken(ctx, settings, runnerURL, nonce); err == nil {
		return api.CloudIdentity{Cloud: "aws", Token: token}, nil
	}
	signed, err := signCallerIdentity(ctx, settings, runnerURL, nonce, time.Now())
	return api.CloudIdentity{Cloud: "aws", AwsRequest: signed}, err
}

// webIdentityToken requests an identity token. Most accounts issue none.
func webIdentityToken(ctx context.Context, settings aws.Config, runnerURL, nonce string) (string, error) {
	audience, err := cloudproof.Audience(runnerURL, nonce)
	if err != nil {
		return "", err
	}
	ctx, stop := context.WithTimeout(ctx, tokenTime)
	defer stop()
	client := sts.NewFromConfig(settings, func(o *sts.Options) { o.RetryMaxAttempts = 1 })
	answer, err := client.GetWebIdentityToken(ctx, &sts.GetWebIdentityTokenInput{Audience: []string{audience},
		DurationSeconds: aws.Int32(tokenLife), SigningAlgorithm: aws.String("ES384")})
	if err != nil {
		return "", err
	}
	return aws.ToString(answer.WebIdentityToken), nil
}

// signCallerIdentity signs a sts:GetCallerIdentity request that is bound to a control plane and a nonce.
func signCallerIdentity(ctx context.Context, settings aws.Config, runnerURL, nonce string, at time.Time) (
	api.SignedRequest, error) {
	credentials, err := settings.Credentials.Retrieve(ctx)
	if err != nil {
		return api.SignedRequest{}, fmt.Errorf("find the credentials of this machine on AWS: %w", err)
	}
	host, err := cloudproof.STSHost(settings.Region)
	if err != nil {
		return api.SignedRequest{}, err
	}
	audience, err := cloudproof.Host(runnerURL)
	if err != nil {
		return api.SignedRequest{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+host+"/",
		strings.NewReader(cloudproof.STSBody))
	if err != nil {
		return api.SignedRequest{}, fmt.Errorf("sign a request for AWS: %w", err)
	}
	request.Header.Set("Content-Type", cloudproof.STSContentType)
	request.Header.Set(cloudproof.HeaderAudience, audience)
	request.Header.Set(cloudproof.HeaderNonce, nonce)
	sum := sha256.Sum256([]byte(cloudproof.STSBody))
	err = v4.NewSigner().SignHTTP(ctx, credentials, request, hex.EncodeToString(sum[:]), "sts", settings.Region, at)
	if err != nil {
		return api.SignedRequest{}, fmt.Errorf("sign a request for AWS: %w", err)
	}
	return api.SignedRequest{Authorization: request.Header.Get("Authorization"), Date: request.Header.Get("X-Amz-Date"),
		SessionToken: request.Header.Get("X-Amz-Security-Token")}, nil
}
