// Package secret recognizes, by name and by form, values that must not be
// shown although nothing marks them as sensitive: the value of an environment
// variable named DB_PASSWORD, a private key, the password inside an address.
//
// It owns the word lists and the forms. It never considers where a text is
// from, and masks nothing itself. The packages below diff that read one kind
// of input call it. It returns false in case of doubt.
package secret

import (
	"strings"
	"unicode"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// words in a name make it the name of a secret, unless it ends in one of
// plainEnds. They are compared in lower case, without separators.
var words = []string{
	"password", "passwd", "passphrase", "secret", "token", "apikey", "privatekey", "accesskey", "credential",
	"signingkey", "encryptionkey", "masterkey", "authkey", "connectionstring",
	"accountkey", "sharedkey", "licensekey", "hmackey", "clientkeydata", "unsealkey", "requirepass", "masterauth",
}

// plainEnds are the last words of names that are about a secret but do not hold
// one: where it is, its lifetime, its requirements. Each also covers its plural.
var plainEnds = wordSet(
	// where a secret is, and its name
	`file path dir directory folder name ref reference selector arn id uri url endpoint host hostname
	port address domain server namespace bucket store manager provider backend engine mount volume
	source target destination location region zone project account service controller operator driver
	plugin image repository registry parameter param field attribute column property fromsecret`,
	// its lifetime, and how often it changes
	`ttl expiry expiration expire validity lifetime lifespan age period duration second minute hour day
	week interval schedule timeout window rotation rotate refresh recovery history prevention reuse use
	change update reset sync`,
	// its requirements, and who may have it
	`policy rule length size min max count limit quota complexity charset alphabet pattern regex regexp
	template format encoding prefix suffix type kind class mode method algorithm alg strategy spec
	expression option scope claim audience issuer role user username owner group permission cidr
	validation verification authentication review reviewer grant exchange flow identity resource header`,
	// facts about it
	`enabled disabled required optional version status state label annotation tag description comment
	title checksum fingerprint thumbprint`,
	// words that only resemble one
	`tokens tokenizer tokenization tokenized passwordless secretless proxypass`,
	// tokens for the next page, request or object
	`versiontoken nexttoken pagetoken continuetoken creationtoken idempotencytoken clientrequesttoken
	updatetoken`,
	// Kubernetes Secrets
	`existingsecret pullsecret varssecret tlssecret certificatesecret certificatessecret certsecret
	certssecret scriptssecret configsecret casecret`,
)

// minEnd is the smallest length in bytes of an end that is searched for in a
// name without separators (PASSWORDFILE).
const minEnd = 4

func wordSet(lists ...string) map[string]bool {
	out := map[string]bool{}
	for _, list := range lists {
		for _, word := range strings.Fields(list) {
			out[word] = true
		}
	}
	return out
}

// maxName is the largest length in bytes of the name of a secret.
const maxName = 256

// Name reports whether a name is that of a secret. One with a colon is the
// key of a policy condition (token.actions.example.com:sub), which decides
// who may do something and must be readable.
func Name(name string) bool {
	if len(name) > maxName || strings.Contains(name, ":") {
		return false
	}
	// The part of an annotation before the slash is its owner, or what a
	// chart computes from the rest.
	whose, own, found := cutLast(name, '/')
	if found && whose == "checksum" {
		return false
	}
	parts := wordsOf(own)
	if len(parts) == 0 || whose == "vault.hashicorp.com" { // which secrets Vault's agent gets, and how
		return false
	}
	plain := strings.Join(parts, "")
	if isPlainEnd(parts, plain) {
		return false
	}
	if strings.HasSuffix(plain, "pwd") || parts[len(parts)-1] == "pass" {
		return true
	}
	for _, word := range words {
		if strings.Contains(plain, word) {
			return true
		}
	}
	return false
}

// Describes reports whether a name ends in a word for a fact about something:
// its id, its address, its version.
func Describes(name string) bool {
	_, own, _ := cutLast(name, '/')
	parts := wordsOf(own)
	return len(name) > maxName || len(parts) > 0 && isPlainEnd(parts, strings.Join(parts, ""))
}

func cutLast(name string, at byte) (before, after string, found bool) {
	i := strings.LastIndexByte(name, at)
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}

// isPlainEnd reports whether the last word of a name, or the last two, are
// one of plainEnds. Plain is the name without separators.
func isPlainEnd(parts []string, plain string) bool {
	last := parts[len(parts)-1]
	if len(parts) > 1 && (ends(parts[len(parts)-2]+last) || ends(last)) || ends(plain) {
		return true
	}
	// A name in one case cannot be split into words, so a short end may be a part of one.
	for i := len(last) - minEnd; i > 0; i-- {
		if ends(last[i:]) {
			return true
		}
	}
	return false
}

func ends(word string) bool {
	return plainEnds[word] || plainEnds[strings.TrimSuffix(word, "s")] ||
		strings.HasSuffix(word, "ies") && plainEnds[word[:len(word)-3]+"y"]
}

// wordsOf returns the words of a name in lower case: those between separators, and
// those that start with a capital. It drops a number at the end (TOKEN_URL_2).
func wordsOf(name string) []string {
	var out []string
	start := 0
	cut := func(end int) {
		if end > start {
			out = append(out, strings.ToLower(name[start:end]))
		}
	}
	for i := range len(name) {
		switch c := name[i]; {
		case isSeparator(c):
			cut(i)
			start = i + 1
		case isUpper(c) && i > start && (!isUpper(name[i-1]) || beginsWord(name[i+1:])):
			cut(i)
			start = i
		}
	}
	cut(len(name))
	for len(out) > 1 && strings.Trim(out[len(out)-1], "0123456789") == "" {
		out = out[:len(out)-1]
	}
	return out
}

// beginsWord reports whether the capital before rest starts a word (the S of
// AWSSecret) and is not the last letter before a plural s (the L of URLs).
func beginsWord(rest string) bool {
	isPlural := strings.HasPrefix(rest, "s") && (len(rest) == 1 || !isLower(rest[1]))
	return rest != "" && isLower(rest[0]) && !isPlural
}

func isSeparator(c byte) bool { return c == '_' || c == '-' || c == '.' || c == ' ' }
func isUpper(c byte) bool     { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool     { return c >= 'a' && c <= 'z' }

func separator(r rune) rune {
	if r < unicode.MaxASCII && isSeparator(byte(r)) {
		return -1
	}
	return r
}

// Literal reports whether a text is a value, and neither a switch nor a reference
// ($(OTHER), ${OTHER}, {{ template }}, the path or the address of a secret in a store).
func Literal(text string) bool {
	text = strings.TrimSpace(text)
	switch strings.ToLower(text) {
	case "", "true", "false", "null", "none", "yes", "no", "on", "off", "enabled", "disabled", "required", "optional":
		return false
	}
	for _, open := range []string{"$(", "${", "{{", "`"} {
		if strings.HasPrefix(text, open) {
			return false
		}
	}
	return !isReference(text)
}

// stores are the prefixes of references that tools resolve when they read a manifest.
var stores = []string{
	"@Microsoft.KeyVault(", "ref+", "vault:", "op://", "secret://", "file://", "ssm://", "awssm://",
	"gcpsm://", "projects/", "/subscriptions/", "alias/",
}

// expressions are the prefixes of expressions that CloudFormation, Ansible
// and Terraform replace by a value.
var expressions = []string{
	"!GetAtt", "!Ref", "!Sub", "!ImportValue", "var.", "local.", "module.", "data.", "random_password.",
}

// isReference reports whether a text has the form of a reference to something
// that holds a secret, or of a placeholder.
func isReference(text string) bool {
	for _, store := range stores {
		if strings.HasPrefix(text, store) {
			return !strings.ContainsAny(text, " \t\r\n")
		}
	}
	for _, e := range expressions {
		if rest, ok := strings.CutPrefix(text, e); ok {
			return ofWords(rest, maxSegments)
		}
	}
	if name, ok := strings.CutPrefix(text, "$"); ok { // $DB_PASSWORD in a shell, $oidc.clientSecret in Argo CD
		return strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" ||
			ofWords(name, maxSegments) && (strings.ContainsAny(name, ".:") || Name(name))
	}
	if strings.HasPrefix(text, "<") && strings.HasSuffix(text, ">") { // <OAuth client secret>
		return ofWords(text[1:len(text)-1], maxSegments)
	}
	if strings.Contains(text, "://") {
		return Ordinary(text)
	}
	path := strings.TrimPrefix(strings.TrimPrefix(text, "~"), ".")
	return strings.HasPrefix(path, "/") && strings.Count(path, "/") > 1 && ofWords(path, maxSegments) || ARN(text)
}

// holders are the last words of names whose value is either a secret, or the
// name of an object that holds one or of a key in that object.
var holders = wordSet("secret credential secretkey passwordkey tokenkey credentialkey credentialskey")

// owners before "secret" mean that the value is the secret itself.
var owners = wordSet("client jwt cookie shared webhook session app api oauth consumer token hmac csrf signing oidc")

// namesObject reports whether a text is the name of an object, or of a key in
// one: a few words in lower case, under a name that may hold either that or the
// secret. A name in capitals, as of environment variables, holds the secret.
func namesObject(name, text string) bool {
	_, own, _ := cutLast(name, '/')
	parts := wordsOf(own)
	if len(parts) == 0 || strings.ToUpper(own) == own {
		return false
	}
	n := len(parts)
	end := strings.TrimSuffix(parts[n-1], "s")
	holds := holders[end]
	if n > 1 {
		holds = (holds || holders[parts[n-2]+end]) && !owners[parts[n-2]]
	}
	isName := len(text) <= maxName && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-./") == ""
	return holds && isName && ofWords(text, maxSegments) && (keyNames[text] || strings.ContainsAny(text, "-./"))
}

// keyNames are keys that many Secrets have.
var keyNames = wordSet("password passwd token secret key value credentials username user apikey data")

// weakNames are ends of names that belong to a secret only if the value looks
// random: psk may be a login method, and jwt the name of a filter.
var weakNames = []string{"psk", "jwt", "bearer", "salt", "pepper", "pw", "auth", "creds", "app_key", "appkey"}

// weakName reports whether the last word of a name is one of weakNames.
func weakName(name string) bool {
	for _, weak := range weakNames {
		at := len(name) - len(weak)
		if at < 0 || len(name) > maxName || !strings.EqualFold(name[at:], weak) {
			continue
		}
		if at == 0 || isSeparator(name[at-1]) || isUpper(name[at]) && !isUpper(name[at-1]) {
			return true
		}
	}
	return false
}

// jwkParts are the parts of a JSON Web Key that are secret.
// https://www.rfc-editor.org/rfc/rfc7518#section-6
var jwkParts = map[string]bool{"d": true, "p": true, "q": true, "dp": true, "dq": true, "qi": true, "k": true}

// KeyPart reports whether the text at a key of an object is the secret part of a JSON Web Key.
func KeyPart(object raw.Value, key string, value raw.Value) bool {
	if !jwkParts[key] || raw.TextAt(object, "kty") == "" {
		return false
	}
	text, ok := raw.String(value)
	return ok && Literal(text)
}

// Text reports whether a text under a name is a secret.
func Text(name, text string) bool { return Name(name) && isSecretText(name, text) }

func isSecretText(name, text string) bool {
	return Literal(text) && !namesObject(name, text) && !addressWithPassword(text)
}
