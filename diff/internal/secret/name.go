// Package secret tells by names and by forms what must not be shown although nobody marks it: the
// value of an environment variable that is called DB_PASSWORD, a private key, the password inside
// an address.
//
// It owns the words and the forms, knows nothing of where a text stands, and masks nothing itself.
// The packages under diff that read one kind of input ask it. It says no where it cannot know.
package secret

import (
	"strings"
	"unicode"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// words in a name make it that of a secret, unless it ends in one of plainEnds. They are compared
// in lower case, without separators.
var words = []string{
	"password", "passwd", "passphrase", "secret", "token", "apikey", "privatekey", "accesskey", "credential",
	"signingkey", "encryptionkey", "masterkey", "authkey", "connectionstring",
	"accountkey", "sharedkey", "licensekey", "hmackey", "clientkeydata", "unsealkey", "requirepass", "masterauth",
}

// plainEnds are the last words of names that are about a secret and hold none: where it is, how
// long it lives, what it must be like. Each stands for its plural, too.
var plainEnds = wordSet(
	// where a secret is, and what it is called
	`file path dir directory folder name ref reference selector arn id uri url endpoint host hostname
	port address domain server namespace bucket store manager provider backend engine mount volume
	source target destination location region zone project account service controller operator driver
	plugin image repository registry parameter param field attribute column property fromsecret`,
	// how long it lives, and how often it changes
	`ttl expiry expiration expire validity lifetime lifespan age period duration second minute hour day
	week interval schedule timeout window rotation rotate refresh recovery history prevention reuse use
	change update reset sync`,
	// what it must be like, and who may have it
	`policy rule length size min max count limit quota complexity charset alphabet pattern regex regexp
	template format encoding prefix suffix type kind class mode method algorithm alg strategy spec
	expression option scope claim audience issuer role user username owner group permission cidr
	validation verification authentication review reviewer grant exchange flow identity resource header`,
	// what is said of it
	`enabled disabled required optional version status state label annotation tag description comment
	title checksum fingerprint thumbprint`,
	// what only sounds like one
	`tokens tokenizer tokenization tokenized passwordless secretless proxypass`,
	// which page, request or object comes next
	`versiontoken nexttoken pagetoken continuetoken creationtoken idempotencytoken clientrequesttoken
	updatetoken`,
	// a Secret of Kubernetes
	`existingsecret pullsecret varssecret tlssecret certificatesecret certificatessecret certsecret
	certssecret scriptssecret configsecret casecret`,
)

// minEnd is how many bytes an end has at least to be looked for in a name without separators (PASSWORDFILE).
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

// maxName is how many bytes the name of a secret has at most.
const maxName = 256

// Name says that a name is that of a secret. One with a colon is the key of a condition in a policy
// (token.actions.example.com:sub), which says who may do something, and must be read.
func Name(name string) bool {
	if len(name) > maxName || strings.Contains(name, ":") {
		return false
	}
	// The part of an annotation before the slash is whose it is, or what a chart computes of the rest.
	whose, own, found := cutLast(name, '/')
	if found && whose == "checksum" {
		return false
	}
	parts := wordsOf(own)
	if len(parts) == 0 || whose == "vault.hashicorp.com" { // which secrets the agent of Vault is to get, and how
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

// Describes says that a name ends in a word for what is said about something: its id, its address, its version.
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

// isPlainEnd says that the last word of a name, or the last two, are one of plainEnds. Plain are
// its words without separators.
func isPlainEnd(parts []string, plain string) bool {
	last := parts[len(parts)-1]
	if len(parts) > 1 && (ends(parts[len(parts)-2]+last) || ends(last)) || ends(plain) {
		return true
	}
	// A name in one case has no words to tell apart, so that a short end may be a part of one.
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

// wordsOf are the words of a name in small letters: those between separators, and those that begin
// with a capital. A number at the end of it counts something (TOKEN_URL_2).
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

// beginsWord says that the capital before rest begins a word (the S of AWSSecret), and is not the
// last one of a plural (the L of URLs).
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

// Literal says that a text is a value and no reference to one ($(OTHER), ${OTHER}, {{ template }},
// the path or the address of a secret in a store) and no switch.
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

// stores begin the references that tools resolve when they read a manifest.
var stores = []string{
	"@Microsoft.KeyVault(", "ref+", "vault:", "op://", "secret://", "file://", "ssm://", "awssm://",
	"gcpsm://", "projects/", "/subscriptions/", "alias/",
}

// expressions begin what CloudFormation, Ansible and Terraform put a value in the place of.
var expressions = []string{
	"!GetAtt", "!Ref", "!Sub", "!ImportValue", "var.", "local.", "module.", "data.", "random_password.",
}

// isReference says that a text is the name of something that holds a secret, or the place for one, by its form.
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
	if name, ok := strings.CutPrefix(text, "$"); ok { // $DB_PASSWORD of a shell, $oidc.clientSecret of Argo CD
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

// holders are the words with which the names end that hold a secret, or the name of an object, or
// of a key in one, that does.
var holders = wordSet("secret credential secretkey passwordkey tokenkey credentialkey credentialskey")

// owners before "secret" say that it is the secret itself.
var owners = wordSet("client jwt cookie shared webhook session app api oauth consumer token hmac csrf signing oidc")

// namesObject says that a text under a name is the name of an object, or of a key in one: a few
// words in small letters, under a name that may have that or the secret. In capitals, as
// environment variables are, it has the secret.
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

// weakNames end names that are those of a secret if the value looks random: psk may be how a client
// logs in, and jwt the name of a filter.
var weakNames = []string{"psk", "jwt", "bearer", "salt", "pepper", "pw", "auth", "creds", "app_key", "appkey"}

// weakName says that the last word of a name is one of weakNames.
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

// jwkParts are the parts of a JSON Web Key that are secret. https://www.rfc-editor.org/rfc/rfc7518#section-6
var jwkParts = map[string]bool{"d": true, "p": true, "q": true, "dp": true, "dq": true, "qi": true, "k": true}

// KeyPart says that the text at a key of an object is the secret part of a JSON Web Key.
func KeyPart(object raw.Value, key string, value raw.Value) bool {
	if !jwkParts[key] || raw.TextAt(object, "kty") == "" {
		return false
	}
	text, ok := raw.Reveal(value).(string)
	return ok && Literal(text)
}

// Text says that a text under a name is a secret.
func Text(name, text string) bool { return Name(name) && isSecretText(name, text) }

func isSecretText(name, text string) bool {
	return Literal(text) && !namesObject(name, text) && !addressWithPassword(text)
}
