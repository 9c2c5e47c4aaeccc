package cloudtest

import (
	"encoding/xml"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Blobs is a bucket of Google Cloud Storage, or a container of Azure Blob Storage.
type Blobs struct {
	url, path string
	// allows returns the status and the code of a refusal of a request that writes, or 0.
	allows func(r *http.Request, token string) (status int, code string)

	mu      sync.Mutex
	private bool
	objects map[string]string
}

// AddBucket adds a bucket at storage.googleapis.com, which everybody can read and the token of a machine of GCP can
// write.
func (g *GCP) AddBucket(name string) *Blobs {
	b := &Blobs{url: "https://storage.googleapis.com/" + name, path: "/" + name + "/", objects: map[string]string{}}
	b.allows = func(_ *http.Request, token string) (int, string) {
		if g.TokenHolder(token) == "" {
			return http.StatusUnauthorized, "AuthenticationRequired"
		}
		return 0, ""
	}
	g.cloud.Handle("storage.googleapis.com", b)
	return b
}

// AddContainer adds a container of a storage account, which everybody can read and each identity of Azure can write.
func (a *Azure) AddContainer(account, name string) *Blobs {
	host := account + ".blob.core.windows.net"
	b := &Blobs{url: "https://" + host + "/" + name, path: "/" + name + "/", objects: map[string]string{}}
	b.allows = func(r *http.Request, token string) (int, string) {
		var claims struct {
			Audience string `json:"aud"`
		}
		switch err := a.issuer.verify(token, &claims); {
		case r.Header.Get("X-Ms-Version") < "2017-11-09" || r.Header.Get("X-Ms-Date") == "":
			return http.StatusBadRequest, "MissingRequiredHeader"
		case err != nil || claims.Audience != "https://storage.azure.com":
			return http.StatusUnauthorized, "InvalidAuthenticationInfo"
		case r.Header.Get("X-Ms-Blob-Type") != "BlockBlob":
			return http.StatusBadRequest, "InvalidHeaderValue"
		}
		return 0, ""
	}
	a.cloud.Handle(host, b)
	return b
}

// URL returns the address of the bucket.
func (b *Blobs) URL() string { return b.url }

// MakePrivate refuses to read without a token.
func (b *Blobs) MakePrivate() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.private = true
}

// Objects returns the objects by their names.
func (b *Blobs) Objects() map[string]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[string]string{}
	for name, content := range b.objects {
		all[name] = content
	}
	return all
}

// ServeHTTP serves the bucket.
func (b *Blobs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name, inside := strings.CutPrefix(r.URL.Path, b.path)
	content, has := b.objects[name]
	status, code := 0, ""
	switch {
	case !inside || name == "":
		status, code = http.StatusNotFound, "NoSuchBucket"
	case r.Method == http.MethodPut:
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		status, code = b.allows(r, token)
	case r.Method != http.MethodGet:
		status, code = http.StatusMethodNotAllowed, "MethodNotAllowed"
	case b.private:
		status, code = http.StatusForbidden, "AccessDenied"
	case !has:
		status, code = http.StatusNotFound, "NoSuchKey"
	}
	switch {
	case status != 0:
		writeXML(w, status, struct {
			XMLName xml.Name `xml:"Error"`
			Code    string
		}{Code: code})
	case r.Method == http.MethodPut:
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 8<<20))
		if err != nil {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		b.objects[name] = string(body)
		w.WriteHeader(http.StatusCreated)
	default:
		_, _ = io.WriteString(w, content) // a reader that has gone needs none
	}
}
