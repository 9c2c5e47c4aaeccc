package stackpublish_test

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/stackpublish"
)

// world is a bucket in a simulated cloud, which the control plane may write.
type world struct {
	*testing.T
	cloud  *cloudtest.Cloud
	bucket *cloudtest.Bucket
}

func newWorld(t *testing.T, allows func(action, resource string) bool) *world {
	t.Helper()
	cloud, err := cloudtest.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() })
	role := cloud.AWS.AddRole(cloudtest.Role{Account: "111122223333", Name: "control-plane", Allows: allows})
	for _, variable := range cloud.AWS.NewSession(role, "reconciler", time.Hour).Environ() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	for name, value := range map[string]string{"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "us-east-1"} {
		t.Setenv(name, value)
	}
	return &world{t, cloud, cloud.AWS.AddBucket("stacks", "eu-central-1")}
}

// open returns a publisher; vendor is a server with templates of the vendor, or nil.
func (w *world) open(bucket string, vendor *httptest.Server) *stackpublish.Publisher {
	w.Helper()
	o := stackpublish.Options{Bucket: bucket, AllowPrivate: true, Client: w.cloud.Client()}
	if vendor != nil {
		o.Roots = x509.NewCertPool()
		o.Roots.AddCert(vendor.Certificate())
	}
	p, err := stackpublish.New(w.Context(), o)
	if err != nil {
		w.Fatal(err)
	}
	return p
}

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// TestPublish publishes a template twice: it is written once, at an address with its digest.
func TestPublish(t *testing.T) {
	w := newWorld(t, nil)
	p := w.open(w.bucket.URL()+"/nuon/", nil)
	const content = `{"Resources": {}}`
	want := w.bucket.URL() + "/nuon/" + digest(content) + "/template.json"
	for range 2 {
		if got, err := p.Publish(t.Context(), "template.json", []byte(content)); err != nil || got != want {
			t.Fatalf("%s, %v", got, err)
		}
	}
	writes := 0
	for _, r := range w.cloud.Requests() {
		if r.Method == http.MethodPut {
			writes++
		}
	}
	key := "nuon/" + digest(content) + "/template.json"
	if got := w.bucket.Objects(); writes != 1 || len(got) != 1 || got[key] != content {
		t.Errorf("%d writes, objects %v", writes, got)
	}
}

// TestPublishFails checks what a person reads who publishes into a bucket that refuses, and that it names no role of
// the control plane.
func TestPublishFails(t *testing.T) {
	for name, c := range map[string]struct {
		allows  func(action, resource string) bool
		prepare func(*world)
		want    string
	}{
		"may not write": {allows: func(string, string) bool { return false },
			want: "403 AccessDenied. The control plane needs s3:PutObject there."},
		"customers may not read": {prepare: func(w *world) { w.bucket.MakePrivate() },
			want: "Forbidden. Let everybody read the objects of the bucket"},
		"clock": {prepare: func(w *world) { w.cloud.MoveClock(10 * time.Minute) }, want: "403 SignatureDoesNotMatch"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.allows)
			if c.prepare != nil {
				c.prepare(w)
			}
			_, err := w.open(w.bucket.URL(), nil).Publish(t.Context(), "template.json", []byte("{}"))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "control-plane") {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// TestBuckets checks which addresses are accepted for a bucket.
func TestBuckets(t *testing.T) {
	w := newWorld(t, nil)
	for _, bad := range []string{"s3://stacks", "http://stacks.s3.amazonaws.com", "https://user@stacks.example.com",
		"https://stacks.example.com/?list-type=2", "https:///stacks"} {
		if _, err := stackpublish.New(t.Context(), stackpublish.Options{Bucket: bad}); err == nil ||
			!strings.Contains(err.Error(), "use the address of a bucket") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	t.Setenv("AWS_REGION", "")
	minio := stackpublish.Options{Bucket: "https://minio.example.com/stacks"}
	if _, err := stackpublish.New(t.Context(), minio); err == nil || !strings.Contains(err.Error(), "set AWS_REGION") {
		t.Errorf("a bucket without a region: %v", err)
	}
	if p := w.open("", nil); p.Bucket() != "" {
		t.Errorf("no bucket is %q", p.Bucket())
	}
}

const nested = `Parameters:
  Size: {Type: String}
  Zone: {Type: String, Default: a}
Resources:
  Bucket: {Type: AWS::S3::Bucket, Properties: {BucketName: !Ref Size}}
`

// TestNested checks the templates of the vendor that a stack pins: one that fits is copied into the bucket, and any
// other is refused before anything is published.
func TestNested(t *testing.T) {
	content := nested
	vendor := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/storage.yaml":
			_, _ = w.Write([]byte(content))
		case "/inside":
			http.Redirect(w, r, "https://169.254.169.254/latest/meta-data/", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(vendor.Close)
	many := "Parameters:\n"
	for i := range 201 {
		many += fmt.Sprintf("  P%d: {Type: String, Default: a}\n", i)
	}
	for name, c := range map[string]struct {
		content, path, digest string
		parameters            []string
		want                  string
	}{
		"fits":       {parameters: []string{"Size"}},
		"not pinned": {digest: "-", path: "/none"},
		"another content": {digest: digest("x"), parameters: []string{"Size"},
			want: "and stack.toml pins sha256:" + digest("x")},
		"unknown parameter":  {parameters: []string{"Size", "Sise"}, want: `has no parameter "Sise"`},
		"missing parameter":  {want: "needs the parameters Size"},
		"not there":          {path: "/none", want: "404 Not Found"},
		"leads inside":       {path: "/inside", want: "read its template"},
		"too large":          {content: strings.Repeat("#", 1_000_001), want: "more than 1000000 bytes"},
		"too many":           {content: many, want: "201 parameters, and CloudFormation allows 200"},
		"no template at all": {content: "<html>: [", want: "neither YAML nor JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			if content = nested; c.content != "" {
				content = c.content
			}
			n := installstack.Nested{Name: "storage", Source: vendor.URL + "/storage.yaml", SHA256: digest(content),
				Parameters: map[string]string{}}
			if c.path != "" {
				n.Source = vendor.URL + c.path
			}
			if c.digest != "" {
				n.SHA256 = strings.Trim(c.digest, "-")
			}
			for _, name := range c.parameters {
				n.Parameters[name] = "x"
			}
			for _, bucket := range []string{"", w.bucket.URL()} {
				err := w.open(bucket, vendor).PublishNested(t.Context(), []installstack.Nested{n})
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("with the bucket %q: %v", bucket, err)
				}
			}
			keys := slices.Collect(maps.Keys(w.bucket.Objects()))
			if name == "fits" {
				if want := digest(nested) + "/nested.yaml"; len(keys) != 1 || keys[0] != want {
					t.Errorf("published %v, not %s", keys, want)
				}
			} else if len(keys) > 0 {
				t.Errorf("published %v", keys)
			}
		})
	}
}

// TestOtherClouds publishes a template in Google Cloud Storage and in Azure Blob Storage.
func TestOtherClouds(t *testing.T) {
	const content = `{"resources": []}`
	for name, c := range map[string]struct {
		bucket  func(*testing.T, *cloudtest.Cloud) *cloudtest.Blobs
		private string
	}{
		"gcp": {func(t *testing.T, c *cloudtest.Cloud) *cloudtest.Blobs {
			environ, _, err := c.GCP.StartMachine(cloudtest.Machine{Project: "vendor", ServiceAccount: "nuon@vendor"})
			if err != nil {
				t.Fatal(err)
			}
			host, value, _ := strings.Cut(environ[0], "=")
			t.Setenv(host, value)
			t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
			t.Setenv("HOME", t.TempDir())
			return c.GCP.AddBucket("stacks")
		}, "Forbidden. Grant allUsers the role Storage Legacy Object Reader"},
		"azure": {func(t *testing.T, c *cloudtest.Cloud) *cloudtest.Blobs {
			address, err := c.Azure.StartMachine(cloudtest.AzureMachine{Tenant: "t-1",
				Resource: "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/nuon"})
			if err != nil {
				t.Fatal(err)
			}
			t.Setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", address)
			return c.Azure.AddContainer("vendor", "stacks")
		}, "Forbidden. Set the access level of the container to Blob"},
	} {
		t.Run(name, func(t *testing.T) {
			cloud, err := cloudtest.Start(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cloud.Close() })
			bucket := c.bucket(t, cloud)
			open := func(address string) (*stackpublish.Publisher, error) {
				return stackpublish.New(t.Context(), stackpublish.Options{Bucket: address, Client: cloud.Client()})
			}
			p, err := open(bucket.URL() + "/nuon")
			if err != nil {
				t.Fatal(err)
			}
			want := bucket.URL() + "/nuon/" + digest(content) + "/template.json"
			for range 2 {
				if got, err := p.Publish(t.Context(), "template.json", []byte(content)); err != nil || got != want {
					t.Fatalf("%s, %v", got, err)
				}
			}
			if got := bucket.Objects()["nuon/"+digest(content)+"/template.json"]; got != content {
				t.Errorf("the bucket has %v", bucket.Objects())
			}
			bucket.MakePrivate()
			if _, err := p.Publish(t.Context(), "other.json", []byte(content)); err == nil ||
				!strings.Contains(err.Error(), c.private) {
				t.Errorf("customers may not read: %v", err)
			}
			if _, err := open(strings.TrimSuffix(bucket.URL(), "/stacks")); err == nil ||
				!strings.Contains(err.Error(), "add the name of the ") {
				t.Errorf("without a name: %v", err)
			}
			if name == "gcp" { // its library repeats the request for a long time
				return
			}
			t.Setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://127.0.0.1:1")
			if p, err = open(bucket.URL()); err != nil {
				t.Fatal(err)
			}
			if _, err := p.Publish(t.Context(), "third.json", []byte(content)); err == nil ||
				!strings.Contains(err.Error(), "the control plane ") {
				t.Errorf("without an identity: %v", err)
			}
		})
	}
}
