// Package aws stores secrets in AWS Secrets Manager, with the runner's identity in the account. A secret is named
// <install id>/<name>, as install stacks name it.
package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/aws/smithy-go"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore"
)

// maxAttempts bounds the attempts of one call while AWS throttles.
const maxAttempts = 6

// recoveryDays is how long a deleted secret can be restored.
const recoveryDays = 7

// Store is Secrets Manager in one region.
type Store struct {
	client *secretsmanager.Client
	region string
}

// Open returns the store in a region; an empty region is that of the environment.
func Open(ctx context.Context, region string) (*Store, error) {
	options := []func(*config.LoadOptions) error{config.WithRetryer(func() aws.Retryer {
		return retry.AddWithMaxAttempts(retry.NewStandard(), maxAttempts)
	})}
	if region != "" {
		options = append(options, config.WithRegion(region))
	}
	loaded, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("find the runner's identity in AWS: %w", err)
	}
	if loaded.Region == "" {
		return nil,
			errors.New("the region of Secrets Manager is not known; write region under [secrets] in the runner file")
	}
	return &Store{client: secretsmanager.NewFromConfig(loaded), region: loaded.Region}, nil
}

// secretARN matches the address of a secret, and captures its region.
var secretARN = lazyregexp.New(`^arn:aws[a-z-]*:secretsmanager:([a-z0-9-]+):\d{12}:secret:` +
	`[A-Za-z0-9/_+=.@!-]{1,520}$`)

// id returns the id of a secret in requests, and its region.
func (s *Store) id(name secretstore.Name) (id *string, region string, err error) {
	if name.Address == "" {
		return aws.String(name.Install + "/" + name.Secret), s.region, nil
	}
	found := secretARN.FindStringSubmatch(name.Address)
	if found == nil {
		return nil, "", fmt.Errorf("%.120q is no ARN of a secret in Secrets Manager", name.Address)
	}
	return aws.String(name.Address), found[1], nil
}

func inRegion(region string) func(*secretsmanager.Options) {
	return func(o *secretsmanager.Options) { o.Region = region }
}

// Location returns the name or the ARN of a secret.
func (s *Store) Location(name secretstore.Name) string {
	if name.Address != "" {
		return "AWS Secrets Manager " + name.Address
	}
	return "AWS Secrets Manager " + name.Install + "/" + name.Secret + " in " + s.region
}

// Version returns the id of the version that is marked as current.
func (s *Store) Version(ctx context.Context, name secretstore.Name) (string, error) {
	id, region, err := s.id(name)
	if err != nil {
		return "", err
	}
	found, err := s.client.DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: id}, inRegion(region))
	if err != nil {
		return "", explain(err)
	}
	if found.DeletedDate != nil {
		return "", fmt.Errorf("it is scheduled for deletion: %w", secretstore.ErrMissing)
	}
	for version, stages := range found.VersionIdsToStages {
		if slices.Contains(stages, "AWSCURRENT") {
			return version, nil
		}
	}
	return "", fmt.Errorf("it has no value: %w", secretstore.ErrMissing)
}

// Get returns the current value.
func (s *Store) Get(ctx context.Context, name secretstore.Name) (secretstore.Value, error) {
	id, region, err := s.id(name)
	if err != nil {
		return secretstore.Value{}, err
	}
	found, err := s.client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: id}, inRegion(region))
	if err != nil {
		return secretstore.Value{}, explain(err)
	}
	value := found.SecretBinary
	if found.SecretString != nil {
		value = []byte(*found.SecretString)
	}
	return secretstore.Value{Secret: seal.NewSecret(value), Version: aws.ToString(found.VersionId)}, nil
}

// Set stores a value. It restores a secret that is scheduled for deletion.
func (s *Store) Set(ctx context.Context, name secretstore.Name, value seal.Secret) error {
	id, region, err := s.id(name)
	if err != nil {
		return err
	}
	text := aws.String(string(value.Reveal()))
	put := func() error {
		_, err := s.client.PutSecretValue(ctx, &secretsmanager.PutSecretValueInput{SecretId: id, SecretString: text},
			inRegion(region))
		return explain(err)
	}
	_, err = s.Version(ctx, name)
	switch {
	case err == nil:
		return put()
	case !errors.Is(err, secretstore.ErrMissing):
		return err
	}
	_, err = s.client.RestoreSecret(ctx, &secretsmanager.RestoreSecretInput{SecretId: id}, inRegion(region))
	if err == nil {
		return put()
	}
	if !errors.Is(explain(err), secretstore.ErrMissing) {
		return explain(err)
	}
	_, err = s.client.CreateSecret(ctx, &secretsmanager.CreateSecretInput{Name: id, SecretString: text,
		Tags: []types.Tag{{Key: aws.String("install.nuon.co/id"), Value: aws.String(name.Install)}}}, inRegion(region))
	return explain(err)
}

// Delete schedules the deletion of a secret.
func (s *Store) Delete(ctx context.Context, name secretstore.Name) error {
	id, region, err := s.id(name)
	if err != nil {
		return err
	}
	_, err = s.client.DeleteSecret(ctx, &secretsmanager.DeleteSecretInput{SecretId: id,
		RecoveryWindowInDays: aws.Int64(recoveryDays)}, inRegion(region))
	return explain(err)
}

// explain returns what an error of AWS means for the secret.
func explain(err error) error {
	var found smithy.APIError
	if !errors.As(err, &found) {
		return err
	}
	switch found.ErrorCode() {
	case "ResourceNotFoundException":
		return fmt.Errorf("%s: %w", found.ErrorMessage(), secretstore.ErrMissing)
	case "AccessDeniedException", "AccessDenied", "UnauthorizedOperation":
		return fmt.Errorf("%s: %w", found.ErrorMessage(), secretstore.ErrNotPermitted)
	case "InvalidRequestException":
		return fmt.Errorf("%s: %w", found.ErrorMessage(), secretstore.ErrMissing)
	}
	return fmt.Errorf("%s: %s", found.ErrorCode(), found.ErrorMessage())
}
