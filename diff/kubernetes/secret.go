package kubernetes

import (
	"encoding/base64"
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

// secretKind reports whether an object is a Secret of the API itself.
func secretKind(id manifest.ID) bool { return id.Kind == "Secret" && id.Group == "" }

// stored returns a Secret as the API server stores it: stringData is moved to data, in one form of
// base64. So equal bytes are equal in every spelling. A value that is no base64 stays as it is.
// https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/secret-v1/
func stored(whole raw.Value) raw.Value {
	data, _ := whole.Get("data")
	plain, _ := whole.Get("stringData")
	if !data.IsObject() && (!plain.IsObject() || !data.IsNull()) {
		return whole // the API server rejects this, so it is compared as written
	}
	merged := make(map[string]any, len(data.Fields())+len(plain.Fields()))
	for _, f := range data.Fields() {
		merged[f.Key] = f.Value
		if text, ok := raw.String(f.Value); ok {
			if decoded, ok := decode(text); ok {
				merged[f.Key] = base64.StdEncoding.EncodeToString(decoded)
			}
		}
	}
	for _, f := range plain.Fields() {
		merged[f.Key] = f.Value
		if text, ok := raw.String(f.Value); ok {
			merged[f.Key] = base64.StdEncoding.EncodeToString([]byte(text))
		}
	}
	out := whole.With("data", raw.Of(merged))
	if plain.IsObject() {
		out = out.Without("stringData")
	}
	return out
}

// decode decodes base64, which may be wrapped over lines.
func decode(text string) ([]byte, bool) {
	// Most texts are no base64, so that is checked without a copy: its letters come in groups of four.
	letters := 0
	for _, r := range text {
		switch {
		case !inBase64(r):
			return nil, false
		case !blank(r):
			letters++
		}
	}
	if letters%4 != 0 {
		return nil, false
	}
	clean := strings.Map(func(r rune) rune {
		if blank(r) {
			return -1
		}
		return r
	}, text)
	decoded, err := base64.StdEncoding.DecodeString(clean)
	return decoded, err == nil
}

func blank(r rune) bool { return r == ' ' || r == '\t' || r == '\r' || r == '\n' }

// inBase64 reports whether base64 that is wrapped over lines may have a character.
func inBase64(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("+/= \t\r\n", r)
}

// plainPlaces are the fields of a Secret that hold no secret. All others do, also
// those that the API does not define: a misspelled stringData holds secrets too.
var plainPlaces = map[string]bool{"apiVersion": true, "kind": true, "metadata": true, "type": true, "immutable": true}

// secretPlace reports whether a difference of a Secret is in a place for its
// secrets: at one of them, or at any other value without keys.
func secretPlace(d *difference) bool {
	if len(d.path) == 0 || plainPlaces[d.path[0].Key] {
		return false
	}
	return len(d.path) > 1 || !slices.ContainsFunc(d.values(), raw.Value.IsObject) || d.hasBefore && d.hasAfter
}

// secretsOf calls found with each decoded secret of a Secret, and its key.
func secretsOf(object raw.Value, found func(key, value string)) {
	for _, place := range object.Keys() {
		if !plainPlaces[place] {
			v, _ := object.Get(place)
			partsOf(place, place, v, 0, found)
		}
	}
}

// maxMistyped is the largest length of a text in a wrong place that is taken
// for a secret as a whole.
const maxMistyped = 256

// partsOf does the same for the value at a key below a field of the Secret. Outside of data
// the value may or may not be base64, and data may hold a value that is not base64 by mistake.
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

// leaves calls found with the values inside a document that may be a secret: a .dockerconfigjson,
// a file of settings. All of the document is secret, but searching for each word of it would mask
// half of the manifests: a value counts by its name, or if it looks like a password.
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

// partsInside calls found with all texts of a document and their keys.
func partsInside(key string, v raw.Value, depth int, found func(key, value string)) {
	switch text, isText := raw.String(v); {
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

// tellingInside reports whether a value that a Secret sets among others is
// distinctive enough to be masked elsewhere.
func tellingInside(key, value string) bool {
	if secret.Name(key) {
		return telling(key, value)
	}
	return secret.Random(value) && !secret.Describes(key) && !secret.Plain(key) && !plainKey(key)
}

// tellingParts calls found with the parts of a Secret's decoded value at a
// key that are masked elsewhere.
func tellingParts(key, value string, found func(part string)) {
	if telling(key, value) {
		found(value)
	}
	for _, password := range secret.Passwords(value) {
		found(password)
	}
	leaves(value, found)
}

// telling reports whether a secret is distinctive enough to be masked
// elsewhere. A user name, a host, a certificate or the name of a database is
// masked in the Secret that holds it, but masking it everywhere would hide
// half of the manifests: images, addresses and labels consist of such words.
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

// plainToken matches texts that look like names; a secret that looks like a
// name is recognized by its key.
var plainToken = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._:/@-]*[A-Za-z0-9])?$`)
})

// plainKey reports whether a key of a Secret is for a value that is no secret.
func plainKey(key string) bool {
	key = strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(strings.ToLower(key))
	for _, end := range []string{
		"user", "username", "login", "host", "hostname", "address", "port", "db", "database", "dbname", "type", "region",
		"namespace", "name", "url", "uri", "endpoint", "bucket", "email", "schema", "sslmode", "version", "server",
		"domain", "project", "account", "scheme", "path",
	} {
		if strings.HasSuffix(key, end) {
			return true
		}
	}
	return false
}

// plainWord are values that are common in Secrets and elsewhere.
var plainWord = map[string]bool{
	"admin": true, "administrator": true, "root": true, "user": true, "postgres": true, "postgresql": true,
	"mysql": true, "mariadb": true, "redis": true, "mongodb": true, "rabbitmq": true, "default": true, "localhost": true,
	"production": true, "staging": true, "development": true, "test": true, "guest": true, "public": true,
	"elastic": true, "grafana": true, "kubernetes": true, "opaque": true, "require": true,
}
