package kubernetes

import (
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
)

// secretKind says that an object is a Secret of the API itself.
func secretKind(id manifest.ID) bool { return id.Kind == "Secret" && id.Group == "" }

// stored is a Secret as the API server stores it: what stringData says is in data, in base64 of one form. So the same bytes are equal however
// they are written. What is no base64 stays as it is.
// https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/secret-v1/
func stored(whole raw.Value) raw.Value {
	object, ok := raw.Reveal(whole).(map[string]any)
	if !ok {
		return whole
	}
	data, hasData := object["data"].(map[string]any)
	plain, hasPlain := object["stringData"].(map[string]any)
	if !hasData && (!hasPlain || object["data"] != nil) {
		return whole // which the API server refuses, so it is compared as it is written
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

// plainPlaces are the fields of a Secret that hold no secret. All others do, also those that the API does not know: who mistypes stringData
// has written a secret all the same.
var plainPlaces = map[string]bool{"apiVersion": true, "kind": true, "metadata": true, "type": true, "immutable": true}

// secretPlace says that a difference of a Secret lies where its secrets are: at one of them, or at all when what is there has no keys.
func secretPlace(d *difference) bool {
	if len(d.path) == 0 || plainPlaces[d.path[0].Key] {
		return false
	}
	return len(d.path) > 1 || !slices.ContainsFunc(d.values(), raw.Value.IsObject) || d.hasBefore && d.hasAfter
}

// secretsOf calls found with all that a Secret holds, decoded, and its key.
func secretsOf(object raw.Value, found func(key, value string)) {
	for _, place := range object.Keys() {
		if !plainPlaces[place] {
			v, _ := object.Get(place)
			partsOf(place, place, v, 0, found)
		}
	}
}

// maxMistyped is how long a text in a place that is not the right one may be to be taken for the secret as it is.
const maxMistyped = 256

// partsOf does so with what is at a key below a place of the Secret. What is not in data may be base64 or not, and data may hold what is
// none by mistake.
func partsOf(place, key string, v raw.Value, depth int, found func(key, value string)) {
	switch {
	case depth > maxDepth:
	case v.IsObject():
		for _, k := range v.Keys() {
			child, _ := v.Get(k)
			partsOf(place, k, child, depth+1, found)
		}
	case v.IsList():
		for i := range v.Len() {
			partsOf(place, key, v.At(i), depth+1, found)
		}
	default:
		text := tellingPart(v)
		decoded, isBase64 := decode(text)
		isBase64 = isBase64 && place != "stringData"
		if isBase64 {
			found(key, tellingPart(raw.Of(string(decoded))))
		}
		if !isBase64 || len(text) < maxMistyped && (place != "data" || !utf8.Valid(decoded)) {
			found(key, text)
		}
	}
}

// leaves calls found with the values inside of a document that a secret may be: a
// .dockerconfigjson, a file of settings. All of it is secret, but to look for each word of it would
// hide half of the manifests: a value counts by its name, or because it looks like a password.
func leaves(text string, found func(value string)) {
	_, inner, format, ok := tree.Embedded("", text)
	if !ok || format == tree.FormatBase64 {
		secret.Lines(text, func(key, value string) {
			if tellingInside(key, value) {
				found(value)
			}
		})
		return
	}
	names := &names{}
	names.sensitive(nil, false, false, none, inner, func(part string, _ bool) bool {
		found(part)
		return true
	})
	partsInside("", inner, 0, func(key, value string) {
		if tellingInside(key, value) {
			found(value)
		}
		secret.Lines(value, func(key, value string) {
			if tellingInside(key, value) {
				found(value)
			}
		})
	})
}

// partsInside calls found with all texts of a document, and the keys that they have.
func partsInside(key string, v raw.Value, depth int, found func(key, value string)) {
	switch text, isText := raw.Reveal(v).(string); {
	case isText:
		found(key, text)
	case depth > maxDepth:
	case v.IsList():
		for i := range v.Len() {
			partsInside(key, v.At(i), depth+1, found)
		}
	default:
		for _, k := range v.Keys() {
			child, _ := v.Get(k)
			partsInside(k, child, depth+1, found)
		}
	}
}

// tellingInside says that a value that a Secret sets among others is worth looking for elsewhere.
func tellingInside(key, value string) bool {
	if secret.Name(key) {
		return telling(key, value)
	}
	return secret.Random(value) && !secret.Describes(key) && !secret.Plain(key) && !plainKey(key)
}

// tellingParts calls found with what is worth looking for elsewhere of a value that a Secret has, decoded, at a key.
func tellingParts(key, value string, found func(part string)) {
	if telling(key, value) {
		found(value)
	}
	for _, password := range secret.Passwords(value) {
		found(password)
	}
	leaves(value, found)
}

// telling says that a secret is worth looking for elsewhere. A user's name, a host, a certificate or the name of a database is masked in the
// Secret that holds it, but to hide it everywhere would hide half of the manifests: images, addresses and labels are made of such words.
func telling(key, value string) bool {
	value = strings.TrimSpace(value)
	if len(value) < minTelling || strings.HasPrefix(value, "-----BEGIN CERTIFICATE") {
		return false
	}
	if !secret.Literal(value) || plainWord[strings.ToLower(value)] {
		return false
	}
	return !plainToken().MatchString(value) || secret.Name(key) || !plainKey(key)
}

const minTelling = 4

// plainToken is what names look like; a secret that looks so is known by its key.
var plainToken = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._:/@-]*[A-Za-z0-9])?$`)
})

// plainKey says that a key of a Secret names something that is no secret.
func plainKey(key string) bool {
	key = strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(strings.ToLower(key))
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
