package secret

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// tokenForm describes the tokens of one issuer: their prefix and the characters after it.
type tokenForm struct {
	prefix string
	// more are the characters in a token other than letters and digits; least
	// is the smallest number of characters after the prefix.
	more  string
	least int
}

// tokenForms are the forms with a unique prefix.
// https://github.blog/2021-04-05-behind-githubs-new-authentication-token-formats/
// https://docs.gitlab.com/security/tokens/, https://docs.slack.dev/authentication/tokens/
// https://docs.stripe.com/keys, https://c2sp.org/age, https://huggingface.co/docs/hub/security-tokens
// https://docs.databricks.com/dev-tools/auth/pat, https://docs.doppler.com/docs/service-tokens
var tokenForms = []tokenForm{
	{"ghp_", "", 30}, {"gho_", "", 30}, {"ghu_", "", 30}, {"ghs_", "", 30}, {"ghr_", "", 30},
	{"github_pat_", "_", 30},
	{"glpat-", "_-.", 16}, {"gldt-", "_-.", 16}, {"glrt-", "_-.", 16}, {"glptt-", "_-.", 16}, {"glsa_", "_", 32},
	{"xoxb-", "-", 16}, {"xoxp-", "-", 16}, {"xoxa-", "-", 16}, {"xoxr-", "-", 16},
	{"xoxs-", "-", 16}, {"xapp-", "-", 16},
	{"hooks.slack.com/services/", "/", 20}, {"sk_live_", "", 16},
	{"rk_live_", "", 16}, {"sk_test_", "", 16}, {"rk_test_", "", 16},
	{"npm_", "", 30}, {"pypi-", "_-", 32}, {"AIza", "_-", 30}, {"AGE-SECRET-KEY-1", "", 40}, {"hvs.", "_-", 20},
	{"SG.", "_-.", 60}, {"hf_", "", 30}, {"dapi", "", 32}, {"lin_api_", "", 32}, {"NRAK-", "", 24}, {"pul-", "", 40},
	{"dp.pt.", "", 40}, {"dp.ct.", "", 40}, {"dp.sa.", "", 40}, {"dp.st.", "_-.", 40}, {"sntrys_", "_=+/-", 40},
	{"sntryu_", "", 40},
	{"tskey-", "-", 20}, {"fm2_", "_=+/,-", 40}, {"{SHA}", "+/=", 26}, {"{SSHA}", "+/=", 28}, {"{SHA256}", "+/=", 40},
	{"discord.com/api/webhooks/", "/_-", 40}, {"discordapp.com/api/webhooks/", "/_-", 40},
	{"webhook.office.com/webhookb2/", "/@-", 60},
	{"dop_v1_", "", 40}, {"dckr_pat_", "_-", 20}, {"shpat_", "", 32}, {"sk-ant-", "_-", 20}, {"sk-proj-", "_-", 20},
}

// maxSure is the length up to which a token counts only if it has a digit:
// the words of a placeholder have none.
const maxSure = 30

// hints occur, in lower case, in every text with a token of another form.
var hints = []string{"akia", "asia", "eyj", "sig=", "signature=", "-u", "@", ".atlasv1.", ":aa",
	" -p", " -a", " -w"}

// mentionsToken reports whether a text could have a token: a cheap check before an expensive one.
func mentionsToken(text, lower string) bool {
	for _, f := range tokenForms {
		if strings.Contains(text, f.prefix) {
			return true
		}
	}
	for _, h := range hints {
		if strings.Contains(lower, h) {
			return true
		}
	}
	return mentionsPhrase(lower)
}

// tokens finds the secrets in a text that have a recognizable form. Lower is
// the text in lower case.
func tokens(text, lower string) []setting {
	var out []setting
	for _, f := range tokenForms {
		out = append(out, f.find(text)...)
	}
	out = append(out, webTokens(text)...)
	out = append(out, keysOfAWS(text)...)
	out = append(out, infixTokens(text)...)
	out = append(out, programOptions(text, lower)...)
	out = append(out, signatures(text, lower)...)
	out = append(out, userOptions(text, lower)...)
	out = append(out, bareLogins(text)...)
	out = append(out, phrases(text, lower)...)
	return append(out, spokenSettings(text, lower)...)
}

// places calls found with each occurrence of part in text; found returns
// where to continue the search.
func places(text, part string, found func(start, end int) (next int)) {
	for from := 0; from < len(text); {
		i := strings.Index(text[from:], part)
		if i < 0 {
			return
		}
		from = found(from+i, from+i+len(part))
	}
}

// span returns the end of the run of letters, digits and the characters in
// more that starts at byte p.
func span(text string, p int, more string) int {
	for p < len(text) && (alphanumeric(text[p]) || strings.IndexByte(more, text[p]) >= 0) {
		p++
	}
	return p
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// startsWord reports whether byte p is the first one of a word.
func startsWord(text string, p int) bool { return p == 0 || !alphanumeric(text[p-1]) }

func (f tokenForm) find(text string) []setting {
	var out []setting
	places(text, f.prefix, func(start, end int) int {
		stop := span(text, end, f.more)
		for stop > end && text[stop-1] == '.' { // the end of a sentence
			stop--
		}
		token := text[end:stop]
		if startsWord(text, start) && len(token) >= f.least && (len(token) >= maxSure || hasDigit(token)) {
			out = append(out, setting{name: f.prefix, start: start, end: stop})
		}
		return stop
	})
	return out
}

func hasDigit(text string) bool { return strings.ContainsAny(text, "0123456789") }

// webTokens finds JSON Web Tokens: three parts in base64, of which the first
// is an object that names an algorithm.
// https://www.rfc-editor.org/rfc/rfc7519
func webTokens(text string) []setting {
	var out []setting
	places(text, "eyJ", func(start, _ int) int {
		end := span(text, start, "_-.")
		parts := strings.Split(strings.TrimRight(text[start:end], "."), ".")
		if !startsWord(text, start) || len(parts) < 2 || len(parts[0]) > maxHeader {
			return end
		}
		header, err := base64.RawURLEncoding.DecodeString(parts[0])
		var named struct {
			Alg string `json:"alg"`
		}
		if err == nil && json.Unmarshal(header, &named) == nil && named.Alg != "" {
			out = append(out, setting{name: "jwt", start: start, end: end})
		}
		return end
	})
	return out
}

// maxHeader is the largest length of the first part of a JSON Web Token.
const maxHeader = 4096

// Lengths of an AWS secret key and of its id, and the distance from the id
// within which a key is searched.
const (
	lengthOfKey = 40
	lengthOfID  = 20
	aroundID    = 1024
)

// keysOfAWS finds the secret keys that are near an id.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html
func keysOfAWS(text string) []setting {
	var out []setting
	done := 0
	for _, prefix := range []string{"AKIA", "ASIA"} {
		done = 0
		places(text, prefix, func(start, _ int) int {
			end := span(text, start, "")
			if end-start != lengthOfID || !startsWord(text, start) {
				return end
			}
			limit := min(len(text), end+aroundID)
			for p := max(done, start-aroundID); p < limit; p++ {
				stop := span(text, p, "/+")
				if stop-p == lengthOfKey && isRandom(text[p:stop]) && (p == 0 || text[p-1] != '/' && text[p-1] != '+') {
					out = append(out, setting{name: prefix, start: p, end: stop})
				}
				p = stop
				done = stop
			}
			return end
		})
	}
	return out
}

// isRandom reports whether a text has lower case letters, upper case letters and digits.
func isRandom(text string) bool {
	return hasDigit(text) && strings.ToLower(text) != text && strings.ToUpper(text) != text
}

// signatures finds the signatures that grant access to an address to anyone
// who has it, and the keys of an Azure storage account.
// https://learn.microsoft.com/rest/api/storageservices/create-service-sas
func signatures(text, lower string) []setting {
	var out []setting
	for _, name := range []string{"sig=", "accountkey=", "x-amz-signature=", "x-goog-signature="} {
		places(lower, name, func(start, end int) int {
			stop := span(text, end, "%+/=_-")
			before := lower[max(0, start-maxQuery):start]
			after := lower[stop:min(len(lower), stop+maxQuery)]
			if stop-end < minSignature || !startsWord(text, start) || name == "sig=" && !isSAS(before) && !isSAS(after) {
				return stop
			}
			out = append(out, setting{name: name, start: end, end: stop})
			return stop
		})
	}
	return out
}

// minSignature is the smallest length of a signature, and maxQuery the
// distance within which the other parameters of its address are.
const (
	minSignature = 16
	maxQuery     = 512
)

// isSAS reports whether a text has the version or the expiry of a shared access signature.
func isSAS(lower string) bool {
	for _, p := range []string{"sv=", "se=", "sr="} {
		if i := strings.Index(lower, p); i == 0 || i > 0 && (lower[i-1] == '&' || lower[i-1] == '?' || lower[i-1] == ' ') {
			return true
		}
	}
	return false
}

// userOptions finds the password in "-u USER:PASSWORD" and "--user USER:PASSWORD".
// The same options also set the user and the group of a container.
func userOptions(text, lower string) []setting {
	var out []setting
	for _, option := range []string{"-u", "--user", "--proxy-user"} {
		places(text, option, func(start, end int) int {
			p := skip(text, end, "= \t\"'", 3)
			first := start == 0 || strings.ContainsRune(" \t\n;&|(\"'", rune(text[start-1]))
			if p == end && option != "-u" || !first {
				return end
			}
			from, stop, ok := login(text, p)
			if !ok {
				return max(end, stop)
			}
			line := lower[max(0, start-maxQuery):start]
			line = line[strings.LastIndexByte(line, '\n')+1:]
			if strong(text[from:stop]) || strings.Contains(line, "curl") || strings.Contains(line, "wget") {
				out = append(out, setting{name: option, start: from, end: stop})
			}
			return stop
		})
	}
	return out
}

// maxLogin is the largest length of a user name, and of a password.
const maxLogin = 256

// login reads USER:PASSWORD from byte p up to a blank or a quote.
func login(text string, p int) (from, to int, ok bool) {
	end := span(text[:min(len(text), p+maxLogin)], p, "_.@+%-\\")
	if end == p || end >= len(text) || text[end] != ':' {
		return end, end, false
	}
	from = end + 1
	to = from
	for to < len(text) && to < from+maxLogin && !strings.ContainsRune(" \t\r\n\"'`|;<>", rune(text[to])) {
		to++
	}
	user, password := text[p:end], text[from:to]
	ids := isNumber(user) || isNumber(password) || user == password
	return from, to, password != "" && isLiteral(password) && !ids
}

// isLiteral reports whether a password is neither a reference to a variable nor a placeholder.
func isLiteral(password string) bool {
	return !strings.ContainsRune("$({<*%", rune(password[0]))
}

// minStrong is the smallest length of a password that is recognized by its characters.
const minStrong = 6

// strong reports whether a text is more than a word: it has a digit among
// letters, or a character that does not occur in names.
func strong(password string) bool {
	if len(password) < minStrong || Ordinary(password) {
		return false
	}
	return hasDigit(password) || strings.ContainsAny(password, "!#%^&*?~+=")
}

// notUsers are words before a colon and an address that is no login: URIs,
// and the members of a policy.
// https://cloud.google.com/iam/docs/principal-identifiers
var notUsers = map[string]bool{
	"mailto": true, "sip": true, "sips": true, "acct": true, "xmpp": true, "npm": true, "pkg": true, "git": true,
	"ssh": true, "email": true,
	"mail": true, "user": true, "group": true, "serviceaccount": true, "contact": true, "owner": true,
	"maintainer": true, "author": true,
	"from": true, "to": true, "deleted": true, "principal": true, "domain": true, "file": true, "workspace": true,
}

// bareLogins finds the password in USER:PASSWORD@HOST without a scheme, and
// in USER:PASSWORD@tcp(HOST). An image has a digest in that position.
func bareLogins(text string) []setting {
	var out []setting
	done := 0
	places(text, "@", func(at, end int) int {
		from := at
		first := max(done, at-maxLogin)
		for from > first && !strings.ContainsRune(" \t\r\n\"'`/,;<>()[]{}=\\@", rune(text[from-1])) {
			from--
		}
		done = end
		if from > 0 && (text[from-1] == '/' || text[from-1] == '@') {
			return end
		}
		user, password, found := strings.Cut(text[from:at], ":")
		if !found || user == "" || password == "" || strings.Contains(password, ":") ||
			notUsers[strings.ToLower(user)] || !isLiteral(password) {
			return end
		}
		rest := text[end:min(len(text), end+maxLogin)]
		socket := strings.HasPrefix(rest, "tcp(") || strings.HasPrefix(rest, "unix(")
		if socket || strong(password) && hostFollows(rest) {
			out = append(out, setting{name: user + "@", start: at - len(password), end: at})
		}
		return end
	})
	return out
}

// hostFollows reports whether a text starts with a host name, and not with a digest or a version.
func hostFollows(text string) bool {
	end := span(text, 0, ".-_")
	host := text[:end]
	digest := strings.HasPrefix(host, "sha256") || strings.HasPrefix(host, "sha512")
	if host == "" || digest || isNumber(host) && strings.Count(host, ".") != 3 {
		return false
	}
	return end == len(text) || strings.ContainsRune(":/ \t\r\n\"',;?)", rune(text[end]))
}

// spoken are settings in which a blank separates the name and the value. If
// around is not empty, they count only in a netrc entry with that word.
// https://www.gnu.org/software/inetutils/manual/html_node/The-_002enetrc-file.html
// https://redis.io/docs/latest/operate/oss_and_stack/management/config/
var spoken = []struct{ name, around string }{{"password", "login"}, {"requirepass", ""}, {"masterauth", ""}}

// spokenSettings finds the values of spoken settings.
func spokenSettings(text, lower string) []setting {
	var out []setting
	for _, s := range spoken {
		places(lower, s.name, func(start, end int) int {
			p := skip(text, end, " \t", maxAround)
			if p == end || !startsWord(text, start) {
				return end
			}
			stop := p
			for stop < min(len(text), p+maxLogin) && !strings.ContainsRune(" \t\r\n\"'", rune(text[stop])) {
				stop++
			}
			before := lower[max(0, start-maxQuery):start]
			switch {
			case stop-p < minValue, !Literal(text[p:stop]):
				return end
			case s.around != "" && (!strings.Contains(before, s.around+" ") || !strings.Contains(before, "machine ")):
				return end
			case s.around == "" && strings.TrimSpace(before[strings.LastIndexByte(before, '\n')+1:]) != "":
				return end
			case s.around == "" && ofWords(text[p:stop], maxSegments): // a placeholder, which a script replaces
				return end
			}
			out = append(out, setting{name: s.name, start: p, end: stop})
			return stop
		})
	}
	return out
}
