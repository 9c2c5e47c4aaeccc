package kubernetes

import (
	"encoding/base64"
	"maps"
	"regexp"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
)

// secretKind says that an object is a Secret of the API itself.
func secretKind(id manifest.ID) bool { return id.Kind == "Secret" && id.Group == "" }

// stored is a Secret as the API server stores it: what stringData says is in data, in base64 of one form. So the same bytes are equal however
// they are written. What is no base64 stays as it is.
// https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/secret-v1/
func stored(secret raw.Value) raw.Value {
	object, ok := raw.Reveal(secret).(map[string]any)
	if !ok {
		return secret
	}
	data, hasData := object["data"].(map[string]any)
	plain, hasPlain := object["stringData"].(map[string]any)
	if !hasData && !hasPlain {
		return secret
	}
	merged := make(map[string]any, len(data)+len(plain))
	for k, v := range data {
		merged[k] = v
		if text, ok := v.(string); ok {
			if decoded, ok := decode(text); ok {
				merged[k] = base64.StdEncoding.EncodeToString(decoded)
			}
		}
	}
	for k, v := range plain {
		merged[k] = v
		if text, ok := v.(string); ok {
			merged[k] = base64.StdEncoding.EncodeToString([]byte(text))
		}
	}
	out := maps.Clone(object)
	out["data"] = merged
	if hasPlain {
		delete(out, "stringData")
	}
	return raw.Of(out)
}

// decode reads base64, which may be wrapped over lines.
func decode(text string) ([]byte, bool) {
	clean := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == ' ' || r == '\t' {
			return -1
		}
		return r
	}, text)
	decoded, err := base64.StdEncoding.DecodeString(clean)
	return decoded, err == nil
}

// secretsOf calls found with all that a Secret holds, decoded, and its key.
func secretsOf(secret raw.Value, found func(key, value string)) {
	data, _ := secret.Get("data")
	for _, k := range data.Keys() {
		v, _ := data.Get(k)
		text, ok := raw.Reveal(v).(string)
		if !ok {
			continue
		}
		if decoded, ok := decode(text); ok {
			text = string(decoded)
		}
		found(k, text)
	}
	plain, _ := secret.Get("stringData")
	for _, k := range plain.Keys() {
		v, _ := plain.Get(k)
		if text, ok := raw.Reveal(v).(string); ok {
			found(k, text)
		}
	}
}

// leaves calls found with the values inside of a document that a secret may be: a .dockerconfigjson, a file of settings.
func leaves(text string, found func(value string)) {
	_, inner, format, ok := tree.Embedded("", text)
	if !ok || format == tree.FormatBase64 {
		return
	}
	names := &names{}
	names.sensitive(nil, false, false, inner, func(part string) bool {
		found(part)
		return true
	})
}

// telling says that a secret is worth looking for elsewhere. A user's name, a host, a certificate or the name of a database is masked in the
// Secret that holds it, but to hide it everywhere would hide half of the manifests: images, addresses and labels are made of such words.
func telling(key, value string) bool {
	value = strings.TrimSpace(value)
	if len(value) < minTelling || strings.HasPrefix(value, "-----BEGIN CERTIFICATE") {
		return false
	}
	if !literal(value) || plainWord[strings.ToLower(value)] {
		return false
	}
	return !plainToken.MatchString(value) || secretName(key) || !plainKey(key)
}

const minTelling = 4

// plainToken is what names look like; a secret that looks so is known by its key.
var plainToken = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._:/@-]*[A-Za-z0-9])?$`)

// plainKey says that a key of a Secret names something that is no secret.
func plainKey(key string) bool {
	key = separators.Replace(strings.ToLower(key))
	for _, end := range []string{
		"user", "username", "login", "host", "hostname", "address", "port", "db", "database", "dbname", "type", "region", "namespace", "name",
		"url", "uri", "endpoint", "bucket", "email", "schema", "sslmode", "version", "server", "domain", "project", "account", "scheme", "path",
	} {
		if strings.HasSuffix(key, end) {
			return true
		}
	}
	return false
}

// plainWord are values that occur in many a Secret and in much else.
var plainWord = map[string]bool{
	"admin": true, "administrator": true, "root": true, "user": true, "postgres": true, "postgresql": true, "mysql": true, "mariadb": true,
	"redis": true, "mongodb": true, "rabbitmq": true, "default": true, "localhost": true, "production": true, "staging": true, "development": true,
	"test": true, "guest": true, "public": true, "elastic": true, "grafana": true, "kubernetes": true, "opaque": true, "require": true,
}
