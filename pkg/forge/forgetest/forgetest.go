// Package forgetest provides webhook deliveries in the format of the forges' documentation to
// tests. It signs them independently of the code under test. Only tests import it.
package forgetest

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"io"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"testing"
	"time"
)

//go:embed deliveries
var files embed.FS

// Page is the URL of the repository's page in every delivery, and DataCenterPage the git URL of
// Bitbucket Data Center without .git. With .git appended, both are git URLs.
const (
	Page           = "https://git.example/acme/shop"
	DataCenterPage = "https://git.example/scm/acme/shop"
)

// Names returns the names of all deliveries: the forge, followed by the event.
func Names(t testing.TB) []string {
	t.Helper()
	entries, err := files.ReadDir("deliveries")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".http"))
	}
	return names
}

// Load returns a delivery without a signature, with texts of its body replaced. replace alternates
// between old and new texts.
func Load(t testing.TB, name string, replace ...string) (http.Header, []byte) {
	t.Helper()
	raw, err := files.ReadFile("deliveries/" + name + ".http")
	if err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(bytes.NewReader(raw))
	header, err := textproto.NewReader(reader).ReadMIMEHeader()
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return http.Header(header), []byte(strings.NewReplacer(replace...).Replace(string(body)))
}

// Sign adds the headers that a forge with the secret adds to a delivery. GitLab sends the token, or
// a signature if the headers contain webhook-id.
func Sign(header http.Header, body []byte, secret string) {
	sum := func(of func() hash.Hash, key string, text []byte) []byte {
		mac := hmac.New(of, []byte(key))
		mac.Write(text)
		return mac.Sum(nil)
	}
	sha := hex.EncodeToString(sum(sha256.New, secret, body))
	old := hex.EncodeToString(sum(sha1.New, secret, body))
	switch {
	case header.Get("Webhook-Id") != "":
		key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if header.Get("Webhook-Timestamp") == "" {
			header.Set("Webhook-Timestamp", strconv.FormatInt(time.Now().Unix(), 10))
		}
		signed := append([]byte(header.Get("Webhook-Id")+"."+header.Get("Webhook-Timestamp")+"."), body...)
		header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(sum(sha256.New, string(key), signed)))
	case header.Get("X-Gitlab-Event") != "":
		header.Set("X-Gitlab-Token", secret)
	case header.Get("X-Event-Key") != "":
		header.Set("X-Hub-Signature", "sha256="+sha)
	case header.Get("X-Gitea-Event") != "":
		if header.Get("X-Forgejo-Event") != "" {
			header.Set("X-Forgejo-Signature", sha)
		}
		header.Set("X-Gitea-Signature", sha)
		header.Set("X-Gogs-Signature", sha)
		fallthrough
	default:
		header.Set("X-Hub-Signature", "sha1="+old)
		header.Set("X-Hub-Signature-256", "sha256="+sha)
	}
}

// Signed is Load followed by Sign.
func Signed(t testing.TB, name, secret string, replace ...string) (http.Header, []byte) {
	t.Helper()
	header, body := Load(t, name, replace...)
	Sign(header, body, secret)
	return header, body
}
