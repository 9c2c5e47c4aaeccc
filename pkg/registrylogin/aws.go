package registrylogin

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/ecr/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// sessionName is the name of the sessions of roles, as the account's log shows it.
const sessionName = "nuon"

// ecrLogin logs in to Amazon ECR.
type ecrLogin struct {
	region   string
	identity Identity
	client   *http.Client
}

// loadAWS finds the program's identity on AWS.
func loadAWS(ctx context.Context, client *http.Client, more ...func(*config.LoadOptions) error) (aws.Config, error) {
	if client != nil {
		more = append(more, config.WithHTTPClient(client))
	}
	return config.LoadDefaultConfig(ctx, more...)
}

// settings finds the program's identity on AWS, or a session of the role that it assumes.
func (e ecrLogin) settings(ctx context.Context) (aws.Config, error) {
	found, err := loadAWS(ctx, e.client, config.WithRegion(e.region))
	if err != nil || e.identity.Role == "" {
		return found, err
	}
	found.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(found), e.identity.Role,
		func(o *stscreds.AssumeRoleOptions) {
			o.RoleSessionName = sessionName
			if e.identity.ExternalID != "" {
				o.ExternalID = aws.String(e.identity.ExternalID)
			}
		}))
	return found, nil
}

func (e ecrLogin) login(ctx context.Context) (login, error) {
	settings, err := e.settings(ctx)
	if err != nil {
		return login{}, err
	}
	answer, err := ecr.NewFromConfig(settings).GetAuthorizationToken(ctx, &ecr.GetAuthorizationTokenInput{})
	if err != nil {
		return login{}, explainAWS(err)
	}
	if len(answer.AuthorizationData) == 0 {
		return login{}, errors.New("ECR returned no token")
	}
	found := answer.AuthorizationData[0]
	decoded, err := base64.StdEncoding.DecodeString(aws.ToString(found.AuthorizationToken))
	username, password, both := strings.Cut(string(decoded), ":")
	if err != nil || !both {
		return login{}, errors.New("ECR returned a token of an unknown form")
	}
	return login{username: username, password: seal.NewSecret([]byte(password)),
		expires: aws.ToTime(found.ExpiresAt)}, nil
}

func (e ecrLogin) create(ctx context.Context, repository string) error {
	settings, err := e.settings(ctx)
	if err != nil {
		return err
	}
	_, err = ecr.NewFromConfig(settings).CreateRepository(ctx,
		&ecr.CreateRepositoryInput{RepositoryName: aws.String(repository)})
	var exists *types.RepositoryAlreadyExistsException
	if err == nil || errors.As(err, &exists) {
		return nil
	}
	return explainAWS(err)
}

// explainAWS returns the message of AWS without the request that it is about.
func explainAWS(err error) error {
	var found smithy.APIError
	if errors.As(err, &found) {
		return errors.New(found.ErrorCode() + ": " + found.ErrorMessage())
	}
	return err
}
