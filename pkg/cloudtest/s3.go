package cloudtest

import (
	"encoding/xml"
	"errors"
	"net/http"
	"strings"
	"sync"
)

// Bucket is a bucket of S3, at NAME.s3.REGION.amazonaws.com.
type Bucket struct {
	cloud        *Cloud
	name, region string

	mu      sync.Mutex
	private bool
	objects map[string][]byte // by key
}

// AddBucket adds a bucket that everybody can read and that sessions can write, if their role allows s3:PutObject.
func (a *AWS) AddBucket(name, region string) *Bucket {
	b := &Bucket{cloud: a.cloud, name: name, region: region, objects: map[string][]byte{}}
	a.cloud.Handle(b.host(), b)
	return b
}

func (b *Bucket) host() string { return b.name + ".s3." + b.region + ".amazonaws.com" }

// URL returns the address of the bucket.
func (b *Bucket) URL() string { return "https://" + b.host() }

// MakePrivate refuses requests without a session.
func (b *Bucket) MakePrivate() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.private = true
}

// Objects returns the objects by their keys.
func (b *Bucket) Objects() map[string]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[string]string{}
	for key, content := range b.objects {
		all[key] = string(content)
	}
	return all
}

// ServeHTTP serves the bucket.
func (b *Bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 8<<20)
	key := strings.TrimPrefix(r.URL.Path, "/")
	var err error
	switch r.Method {
	case http.MethodPut:
		err = b.put(r, key)
	case http.MethodGet:
		err = b.get(w, key)
	default:
		err = AWSError{405, "MethodNotAllowed", "The specified method is not allowed against this resource."}
	}
	var refused AWSError
	if errors.As(err, &refused) {
		writeXML(w, refused.Status, struct {
			XMLName       xml.Name `xml:"Error"`
			Code, Message string
		}{Code: refused.Code, Message: refused.Message})
	}
}

func (b *Bucket) put(r *http.Request, key string) error {
	session, body, err := b.cloud.AWS.Authenticate(r, "s3")
	if err != nil {
		return err
	}
	if session.Region != b.region {
		return AWSError{400, "AuthorizationHeaderMalformed", "the region '" + session.Region + "' is wrong; expecting '" +
			b.region + "'"}
	}
	if err := b.cloud.AWS.Authorize(session, "s3:PutObject", "arn:aws:s3:::"+b.name+"/"+key); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.objects[key] = body
	return nil
}

func (b *Bucket) get(w http.ResponseWriter, key string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	content, has := b.objects[key]
	if b.private || !has { // nobody may list the objects, so S3 does not say that there is none
		return AWSError{403, "AccessDenied", "Access Denied"}
	}
	_, err := w.Write(content)
	return err
}
