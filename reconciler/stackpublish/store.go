package stackpublish

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/nuon-toolkit/nuon/pkg/azureidentity"
)

// store is a kind of bucket.
type store interface {
	fmt.Stringer
	// authorize adds what a request needs that writes an object with a digest.
	authorize(ctx context.Context, r *http.Request, digest string) error
	// permission names what the control plane needs.
	permission() string
	// readable says how customers can read the objects.
	readable() string
}

const (
	googleHost  = "storage.googleapis.com"
	azureSuffix = ".blob.core.windows.net"
)

// storeOf returns the kind of bucket that an address is of.
func storeOf(ctx context.Context, at *url.URL, client *http.Client) (store, error) {
	host := strings.ToLower(at.Hostname())
	switch container := strings.Trim(at.Path, "/"); {
	case host == googleHost && container == "":
		return nil, errors.New("add the name of the bucket: https://" + googleHost + "/BUCKET")
	case host == googleHost:
		return googleStore{client}, nil
	case strings.HasSuffix(host, azureSuffix) && container == "":
		return nil, errors.New("add the name of the container: https://" + host + "/CONTAINER")
	case strings.HasSuffix(host, azureSuffix):
		return azureStore{azureidentity.New("https://storage.azure.com")}, nil
	}
	return openS3(ctx, host)
}

// s3 is a bucket of S3, or of a store that speaks its protocol.
type s3 struct {
	region      string
	credentials aws.CredentialsProvider
}

// regionOfHost finds the region in the address of a bucket on AWS.
var regionOfHost = regexp.MustCompile(`(?:^|\.)s3[.-]([a-z]{2}(?:-[a-z]+)+-[0-9])\.amazonaws\.com(?:\.cn)?$`)

func openS3(ctx context.Context, host string) (store, error) {
	loaded, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the configuration of AWS: %w", err)
	}
	bucket := s3{loaded.Region, loaded.Credentials}
	if m := regionOfHost.FindStringSubmatch(host); m != nil {
		bucket.region = m[1]
	}
	if bucket.region == "" {
		return nil, errors.New("set AWS_REGION to the region of the bucket")
	}
	return bucket, nil
}

func (s s3) String() string { return "region " + s.region }

func (s s3) authorize(ctx context.Context, r *http.Request, digest string) error {
	credentials, err := s.credentials.Retrieve(ctx)
	if err != nil {
		return fmt.Errorf("the control plane has no credentials for it: %w", err)
	}
	r.Header.Set("X-Amz-Content-Sha256", digest)
	return v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).
		SignHTTP(ctx, credentials, r, digest, "s3", s.region, time.Now())
}

func (s s3) permission() string { return "s3:PutObject" }

func (s s3) readable() string {
	return "Let everybody read the objects of the bucket (s3:GetObject), but not list them."
}

// googleStore is a bucket of Google Cloud Storage.
type googleStore struct{ client *http.Client }

func (googleStore) String() string { return "Google Cloud Storage" }

func (g googleStore) authorize(ctx context.Context, r *http.Request, _ string) error {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, g.client)
	found, err := google.FindDefaultCredentials(ctx, "https://www.googleapis.com/auth/devstorage.read_write")
	if err != nil {
		return fmt.Errorf("the control plane has no credentials for it: %w", err)
	}
	token, err := found.TokenSource.Token()
	if err != nil {
		return fmt.Errorf("the control plane gets no token for it: %w", err)
	}
	token.SetAuthHeader(r)
	return nil
}

func (googleStore) permission() string { return "storage.objects.create" }

func (googleStore) readable() string {
	return "Grant allUsers the role Storage Legacy Object Reader (roles/storage.legacyObjectReader) on the bucket, " +
		"which reads objects and does not list them."
}

// azureStore is a container of Azure Blob Storage.
type azureStore struct{ identity *azureidentity.Identity }

// blobVersion is the version of the protocol.
const blobVersion = "2021-12-02"

func (azureStore) String() string { return "Azure Blob Storage" }

func (a azureStore) authorize(ctx context.Context, r *http.Request, _ string) error {
	token, err := a.identity.Token(ctx, true)
	if err != nil {
		return fmt.Errorf("the control plane gets no token for it: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("X-Ms-Version", blobVersion)
	r.Header.Set("X-Ms-Blob-Type", "BlockBlob")
	r.Header.Set("X-Ms-Date", time.Now().UTC().Format(http.TimeFormat))
	return nil
}

func (azureStore) permission() string { return "the role Storage Blob Data Contributor" }

func (azureStore) readable() string {
	return "Set the access level of the container to Blob: anonymous requests read blobs and do not list them."
}
